#include "envs/augmentation.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace mario::envs {
namespace {

/// In [-most, most].
std::int32_t draw_offset(const Draw& draw, Purpose purpose, std::uint32_t most, std::size_t word) {
    return static_cast<std::int32_t>(draw.below(purpose, 2 * most + 1, word)) - static_cast<std::int32_t>(most);
}

/// Moves in place: rows in the order in which none is overwritten before it was read.
void shift(std::span<std::uint8_t> picture, unsigned width, std::int32_t right, std::int32_t down) noexcept {
    const std::int32_t columns = static_cast<std::int32_t>(width), rows = static_cast<std::int32_t>(picture.size() / width);
    const std::int32_t by = std::clamp(right, -columns, columns);
    const std::size_t stays = static_cast<std::size_t>(columns - std::abs(by));
    const auto row_at = [&](std::int32_t row) { return picture.data() + static_cast<std::ptrdiff_t>(row) * columns; };
    for (std::int32_t step = 0; step < rows; ++step) {
        const std::int32_t row = down > 0 ? rows - 1 - step : step;
        std::uint8_t* const to = row_at(row);
        const std::uint8_t* const from = row_at(std::clamp(row - down, 0, rows - 1));
        if (by >= 0) {
            const std::uint8_t edge = from[0];
            std::memmove(to + by, from, stays);
            std::memset(to, edge, static_cast<std::size_t>(by));
        } else {
            const std::uint8_t edge = from[columns - 1];
            std::memmove(to, from - by, stays);
            std::memset(to + stays, edge, static_cast<std::size_t>(-by));
        }
    }
}

std::uint8_t clipped(std::int32_t value) { return static_cast<std::uint8_t>(std::clamp(value, 0, 255)); }

}  // namespace

Distortion draw_distortion(const mario_env_rules& rules, const Draw& draw) noexcept {
    return {draw_offset(draw, Purpose::shift, rules.augment_shift, 0), draw_offset(draw, Purpose::shift, rules.augment_shift, 1),
            draw_offset(draw, Purpose::brightness, rules.augment_brightness, 0)};
}

void distort(std::span<std::uint8_t> picture, unsigned width, const Distortion& distortion, unsigned noise, const Draw& draw) noexcept {
    if (distortion.shift_x != 0 || distortion.shift_y != 0) shift(picture, width, distortion.shift_x, distortion.shift_y);
    if (distortion.brightness != 0) {
        for (auto& pixel : picture) pixel = clipped(pixel + distortion.brightness);
    }
    if (noise == 0) return;
    const std::int32_t most = static_cast<std::int32_t>(noise);
    for (std::size_t first = 0; first < picture.size(); first += sizeof(Block)) {
        const Block block = draw.block(Purpose::noise, static_cast<std::uint32_t>(first / sizeof(Block)));
        for (std::size_t i = 0; i < std::min(sizeof(Block), picture.size() - first); ++i) {
            const std::int32_t byte = static_cast<std::int32_t>(block[i / 4] >> (i % 4 * 8) & 0xFF);
            picture[first + i] = clipped(picture[first + i] + (byte * (2 * most + 1) >> 8) - most);
        }
    }
}

}  // namespace mario::envs
