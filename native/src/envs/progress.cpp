#include "envs/progress.h"

#include <algorithm>
#include <cstdlib>

namespace mario::envs {
namespace {

// Nobody walks further in a frame (the European game runs 3 pixels); what is longer is a jump of the game's own.
constexpr int max_walk_per_frame = 4, walk_slack = 16;
// Time left falls by a frame per frame on the best way known. Where it falls or grows faster (a maze throws back, or the map is
// coarse) it is paid over several steps, so that rewards keep their scale.
constexpr std::int64_t max_gain_per_frame = 4;
constexpr float pixels_per_frame = 2.5F;

float share_of(const ProgressMap::Remaining& now) {
    if (now.frames == ProgressMap::unknown) return 0.0F;
    return std::clamp(1.0F - static_cast<float>(now.frames) / static_cast<float>(now.stage_frames), 0.0F, 1.0F);
}

std::int16_t x_of(const mario_game& game) { return static_cast<std::int16_t>(game.x); }

}  // namespace

void Progress::begin(const mario_game& game, const ProgressMap& map) noexcept {
    *this = {};
    const ProgressMap::Remaining now = map.remaining(game);
    remaining = least_remaining = now.frames;
    stage_frames = now.stage_frames;
    share = share_of(now);
    last_room = game.room;
    last_x = x_of(game);
    (void)furthest_in(game.room, x_of(game));
}

float Progress::advance(const mario_game& game, const ProgressMap& map, std::uint32_t num_frames, std::uint32_t num_idle) noexcept {
    const float by_position = advance_by_position(game, num_frames - num_idle);  // also with a map: one may be set later
    is_new_ground = by_position > 0.0F;
    return map.is_empty() ? by_position : advance_by_map(map.remaining(game), num_frames - num_idle);
}

float Progress::advance_by_position(const mario_game& game, std::uint32_t num_frames) noexcept {
    const std::int16_t x = x_of(game);
    const int max_walk = walk_slack + max_walk_per_frame * static_cast<int>(num_frames);
    const bool has_walked = game.room == last_room && std::abs(x - last_x) <= max_walk;
    last_room = game.room;
    last_x = x;
    std::int16_t& furthest = furthest_in(game.room, x);
    const int gain = std::max(0, x - furthest);
    furthest = std::max(furthest, x);
    return has_walked ? static_cast<float>(gain) : 0.0F;
}

float Progress::advance_by_map(const ProgressMap::Remaining& now, std::uint32_t num_frames) noexcept {
    is_new_ground = now.frames < least_remaining;
    if (now.frames == ProgressMap::unknown) return 0.0F;
    share = share_of(now);
    stage_frames = now.stage_frames;
    least_remaining = std::min(least_remaining, now.frames);
    if (remaining == ProgressMap::unknown) remaining = now.frames;
    const std::int64_t most = max_gain_per_frame * num_frames;
    const std::int64_t gain = std::clamp(std::int64_t{remaining} - now.frames, -most, most);
    remaining = static_cast<std::uint32_t>(remaining - gain);
    return static_cast<float>(gain) * pixels_per_frame;
}

float Progress::potential() const noexcept {
    if (!has_potential()) return 0.0F;
    return static_cast<float>(std::int64_t{stage_frames} - std::int64_t{remaining}) * pixels_per_frame;
}

std::int16_t& Progress::furthest_in(std::uint16_t room, std::int16_t x) noexcept {
    const std::size_t met = std::min<std::size_t>(num_rooms, max_rooms);
    const auto found = std::find(rooms.begin(), rooms.begin() + static_cast<std::ptrdiff_t>(met), room);
    const std::size_t at = static_cast<std::size_t>(found - rooms.begin());
    if (at < met) return furthest_x[at];
    const std::size_t next = num_rooms % max_rooms;
    ++num_rooms;
    rooms[next] = room;
    furthest_x[next] = x;
    return furthest_x[next];
}

}  // namespace mario::envs
