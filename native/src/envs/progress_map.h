// The map of remaining time: how many frames are left from each place of a stage, as exploration has found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mario_native.h"

namespace mario::envs {

/// One grid per area, every square filled. Immutable once made: any number of threads may look things up.
class ProgressMap {
public:
    static constexpr std::uint32_t unknown = 0xFFFFFFFF, num_rows = 48;

    ProgressMap() = default;
    /// Copies. A grid that does not lie inside `remaining_frames`, or an area that is given twice, throws std::invalid_argument.
    ProgressMap(std::span<const mario_map_area> areas, std::span<const std::uint32_t> remaining_frames);

    [[nodiscard]] bool is_empty() const { return areas_.empty(); }
    /// `unknown` in an area that is not in the map.
    [[nodiscard]] std::uint32_t remaining_frames(const mario_game& game) const noexcept;

private:
    struct Area {
        std::uint64_t key;
        std::uint32_t num_columns, first;
    };

    std::vector<Area> areas_;  ///< sorted by key
    std::vector<std::uint32_t> remaining_frames_;
};

}  // namespace mario::envs
