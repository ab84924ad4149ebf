// How far an episode has come: by position, or by the map of remaining time.
#pragma once

#include <array>
#include <cstdint>

#include "envs/progress_map.h"
#include "mario_native.h"

namespace mario::envs {

/// Part of an environment's state: trivially copyable, without padding.
struct Progress {
    static constexpr std::size_t max_rooms = 16;

    std::uint32_t remaining;        ///< frames, by the map, as far as they were paid for; ProgressMap::unknown before any is known
    std::uint32_t least_remaining;  ///< the least that was left so far
    float share;                    ///< of the stage's time that is done, by the map: 0 at its start, 1 at its end
    std::uint32_t is_new_ground;    ///< 1: never was the episode so far as after the last call
    std::uint32_t stage_frames;     ///< left at the start of the stage, by the map; 0 before any is known
    std::int32_t last_x;
    std::uint16_t last_room;
    std::uint16_t num_rooms;                         ///< met so far; the oldest is forgotten when there are too many
    std::array<std::uint16_t, max_rooms> rooms;
    std::array<std::int16_t, max_rooms> furthest_x;  ///< in each of them

    /// An episode begins here.
    void begin(const mario_game& game, const ProgressMap& map) noexcept;

    /// Pixels gained since the last call. To be called whenever the player has control. `num_frames` have passed since the last call,
    /// `num_idle` of them without control.
    ///
    /// By position: only ground to the right of all that was reached in this room counts. What is jumped over, by a pipe, by the
    /// maze or by entering another room, counts neither forward nor back.
    /// By the map: what is less to go than before, and negative where it is more: all ways to a place earn the same, and a loop
    /// nothing. A leap, forward or back, is paid over several steps.
    [[nodiscard]] float advance(const mario_game& game, const ProgressMap& map, std::uint32_t num_frames,
                                std::uint32_t num_idle) noexcept;
    /// Pixels that are paid for by the map, counted from the start of the stage, wherever the episode began.
    [[nodiscard]] float potential() const noexcept;
    [[nodiscard]] bool has_potential() const noexcept { return remaining != ProgressMap::unknown; }
    /// The stage has ended: nothing is left.
    void arrive() noexcept { share = 1.0F; }

private:
    [[nodiscard]] std::int16_t& furthest_in(std::uint16_t room, std::int16_t x) noexcept;
    [[nodiscard]] float advance_by_position(const mario_game& game, std::uint32_t num_frames) noexcept;
    [[nodiscard]] float advance_by_map(const ProgressMap::Remaining& now, std::uint32_t num_frames) noexcept;
};

}  // namespace mario::envs
