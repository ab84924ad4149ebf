#include "envs/progress_map.h"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

namespace mario::envs {
namespace {

constexpr std::uint32_t cell_pixels = 16, max_columns = 4096;
// Frames between two squares beside each other. Where it is more there is a wall between them, or the way goes round.
constexpr std::int64_t max_step = 32;

constexpr unsigned state_bits = 32;  // maze and pipe, below level and room

std::uint64_t key_of(const auto& area) {
    const std::uint64_t room = std::uint64_t{area.level} << 16 | area.room;
    const std::uint32_t state = std::uint32_t{area.maze_passes} << 24 | std::uint32_t{area.maze_correct} << 16 |
                                std::uint32_t{area.next_area} << 8 | area.next_page;
    return room << state_bits | state;
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
        areas_.push_back({key_of(area), area.num_columns, area.first, std::max(1u, area.stage_frames)});
    }
    std::sort(areas_.begin(), areas_.end(), [](const Area& one, const Area& other) { return one.key < other.key; });
    const auto same = [](const Area& one, const Area& other) { return one.key == other.key; };
    if (std::adjacent_find(areas_.begin(), areas_.end(), same) != areas_.end()) {
        throw std::invalid_argument("an area is in the map twice");
    }
}

ProgressMap::Remaining ProgressMap::remaining(const mario_game& game) const noexcept {
    const std::uint64_t key = key_of(game), room = key >> state_bits;
    const auto by_key = [](const Area& area, std::uint64_t wanted) { return area.key < wanted; };
    const auto found = std::lower_bound(areas_.begin(), areas_.end(), key, by_key);
    if (found != areas_.end() && found->key == key) return {frames_in(*found, game), found->stage_frames};
    Remaining most;
    for (auto area = std::lower_bound(areas_.begin(), areas_.end(), room << state_bits, by_key);
         area != areas_.end() && area->key >> state_bits == room; ++area) {
        const std::uint32_t frames = frames_in(*area, game);
        if (frames != unknown && (most.frames == unknown || frames > most.frames)) most = {frames, area->stage_frames};
    }
    return most;
}

std::uint32_t ProgressMap::frames_in(const Area& area, const mario_game& game) const noexcept {
    // Left of the room x is about 65,000, a small negative number.
    const std::uint32_t x = game.x < 0x8000 ? game.x : 0;
    const std::uint32_t column = std::min(x / cell_pixels, area.num_columns - 1);
    const std::uint32_t row = std::min((game.y_screen * 256u + game.y_on_screen) / cell_pixels, num_rows - 1);
    const std::uint32_t* const frames = &remaining_frames_[area.first + row * area.num_columns];
    const std::uint32_t here = frames[column];
    // From the middle of a square to the middle of the next the time falls evenly: running pays the same at every step.
    const std::int64_t from_middle = std::int64_t{x} - column * cell_pixels - cell_pixels / 2;
    const std::int64_t next = std::int64_t{column} + (from_middle < 0 ? -1 : 1);
    if (here == unknown || next < 0 || next >= area.num_columns || frames[next] == unknown) return here;
    const std::int64_t step = std::int64_t{frames[next]} - here;
    if (std::abs(step) > max_step) return here;
    return static_cast<std::uint32_t>(here + step * std::abs(from_middle) / std::int64_t{cell_pixels});
}

}  // namespace mario::envs
