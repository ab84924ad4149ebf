#include "envs/progress_map.h"

#include <algorithm>
#include <stdexcept>

namespace mario::envs {
namespace {

constexpr std::uint32_t cell_pixels = 16, max_columns = 4096;

std::uint64_t key_of(unsigned level, unsigned room, unsigned maze_passes, unsigned maze_correct) {
    return std::uint64_t{level} << 32 | std::uint64_t{room} << 16 | maze_passes << 8 | maze_correct;
}

}  // namespace

ProgressMap::ProgressMap(std::span<const mario_map_area> areas, std::span<const std::uint32_t> remaining_frames)
    : remaining_frames_(remaining_frames.begin(), remaining_frames.end()) {
    for (const auto& area : areas) {
        const bool has_size = area.num_columns >= 1 && area.num_columns <= max_columns;
        if (!has_size || area.first > remaining_frames.size() ||
            std::size_t{area.num_columns} * num_rows > remaining_frames.size() - area.first) {
            throw std::invalid_argument("an area of the map does not lie inside its numbers");
        }
        areas_.push_back({key_of(area.level, area.room, area.maze_passes, area.maze_correct), area.num_columns, area.first});
    }
    std::sort(areas_.begin(), areas_.end(), [](const Area& one, const Area& other) { return one.key < other.key; });
    const auto same = [](const Area& one, const Area& other) { return one.key == other.key; };
    if (std::adjacent_find(areas_.begin(), areas_.end(), same) != areas_.end()) {
        throw std::invalid_argument("an area is in the map twice");
    }
}

std::uint32_t ProgressMap::remaining_frames(const mario_game& game) const noexcept {
    const std::uint64_t key = key_of(game.level, game.room, game.maze_passes, game.maze_correct);
    const auto found = std::lower_bound(areas_.begin(), areas_.end(), key,
                                        [](const Area& area, std::uint64_t wanted) { return area.key < wanted; });
    if (found == areas_.end() || found->key != key) return unknown;
    // Left of the room x is about 65,000, a small negative number.
    const std::uint32_t x = game.x < 0x8000 ? game.x : 0;
    const std::uint32_t column = std::min(x / cell_pixels, found->num_columns - 1);
    const std::uint32_t row = std::min((game.y_screen * 256u + game.y_on_screen) / cell_pixels, num_rows - 1);
    return remaining_frames_[found->first + row * found->num_columns + column];
}

}  // namespace mario::envs
