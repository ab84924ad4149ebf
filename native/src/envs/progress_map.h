// The map of remaining time: how many frames are left from each place of a stage, as exploration has found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mario_native.h"

namespace mario::envs {

/// One grid per area; squares may be unknown. Immutable once made: any number of threads may look things up.
class ProgressMap {
public:
    static constexpr std::uint32_t unknown = 0xFFFFFFFF, num_rows = 48;

    ProgressMap() = default;
    /// Copies. A grid that does not lie inside `remaining_frames`, or an area that is given twice, throws std::invalid_argument.
    ProgressMap(std::span<const mario_map_area> areas, std::span<const std::uint32_t> remaining_frames);

    [[nodiscard]] bool is_empty() const { return areas_.empty(); }
    struct Remaining {
        std::uint32_t frames = unknown, stage_frames = 1;
    };
    /// How much is left, evened between the middles of two squares beside each other, and how much there was at the start of the
    /// stage. In an area that is not in the map (a maze or a pipe in a state that exploration did not meet) as in the one of the same
    /// room where most is left; `unknown` in a square or a room that is not in the map.
    [[nodiscard]] Remaining remaining(const mario_game& game) const noexcept;

private:
    struct Area {
        std::uint64_t key;
        std::uint32_t num_columns, first, stage_frames;
    };
    [[nodiscard]] std::uint32_t frames_in(const Area& area, const mario_game& game) const noexcept;

    std::vector<Area> areas_;  ///< sorted by key
    std::vector<std::uint32_t> remaining_frames_;
};

}  // namespace mario::envs
