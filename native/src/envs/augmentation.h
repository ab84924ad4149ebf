// Changes to a picture that an agent should not mind.
#pragma once

#include <cstdint>
#include <span>

#include "envs/counter_rng.h"
#include "mario_native.h"

namespace mario::envs {

/// How one episode's pictures differ. Shift and brightness hold for the episode, so that stacked frames fit together.
struct Distortion {
    std::int32_t shift_x, shift_y, brightness;
};

[[nodiscard]] Distortion draw_distortion(const mario_env_rules& rules, const Draw& draw) noexcept;

/// In place, [height, width] grey. Pixels from outside are those of the edge. Noise is drawn anew for each step.
void distort(std::span<std::uint8_t> picture, unsigned width, const Distortion& distortion, unsigned noise, const Draw& draw) noexcept;

}  // namespace mario::envs
