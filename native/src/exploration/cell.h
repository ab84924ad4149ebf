// How the search tells places apart: states of one cell count as the same place.
#pragma once

#include <cstdint>

#include "mario_native.h"

namespace mario::exploration {

/// The side of a cell in pixels.
inline constexpr unsigned cell_pixels = 16;

/// A cell in one word, never 0. Beside the position it holds what the way to the goal depends on and the position does not show:
/// the area, the checks passed in a maze, where the next pipe leads, and whether the player stands, flies or climbs: a hidden block is
/// found by jumping through its place and then standing on it. Bits from above: 1, area 16, x 12, y 6, maze 4 + 4, pipe 8 + 8, hold 2.
using CellKey = std::uint64_t;

/// What is under the player.
enum Hold : std::uint8_t { on_ground = 0, in_air = 1, on_vine = 2 };
inline constexpr unsigned hold_bits = 2;

/// The same for all cells that differ only in this: for who asks where the player is, not what can be done from there.
[[nodiscard]] inline CellKey place_of(CellKey key) noexcept { return key >> hold_bits; }

/// The same for all cells that differ only in position and hold: an area as far as its mazes and pipes are the same.
[[nodiscard]] inline CellKey region_of(CellKey key) noexcept {
    constexpr unsigned hidden_bits = 24, position_bits = 18;  // maze and pipe; x and y
    key = place_of(key);
    return key >> (hidden_bits + position_bits) << hidden_bits | (key & ((1u << hidden_bits) - 1));
}

[[nodiscard]] inline Hold hold_of(const mario_game& game) noexcept {
    constexpr std::uint8_t stands = 0, climbs = 3;  // of motion, as in mario_native.h
    return game.motion == stands ? on_ground : game.motion == climbs ? on_vine : in_air;
}

[[nodiscard]] inline CellKey cell_of(const mario_game& game) noexcept {
    CellKey key = 1;
    const auto append = [&key](std::uint64_t value, unsigned bits) { key = key << bits | (value & ((1u << bits) - 1)); };
    append(game.room, 16);
    append(game.x / cell_pixels, 12);
    append(game.y_screen, 2);
    append(game.y_on_screen / cell_pixels, 4);
    append(game.maze_passes, 4);
    append(game.maze_correct, 4);
    append(game.next_area, 8);
    append(game.next_page, 8);
    append(hold_of(game), hold_bits);
    return key;
}

/// The cell's part of the record; the rest is left as it is.
inline void read_cell(CellKey key, mario_cell& cell) noexcept {
    const auto take = [&key](unsigned bits) {
        const std::uint64_t value = key & ((1u << bits) - 1);
        key >>= bits;
        return value;
    };
    cell.hold = static_cast<std::uint8_t>(take(hold_bits));
    cell.next_page = static_cast<std::uint8_t>(take(8));
    cell.next_area = static_cast<std::uint8_t>(take(8));
    cell.maze_correct = static_cast<std::uint8_t>(take(4));
    cell.maze_passes = static_cast<std::uint8_t>(take(4));
    cell.y = static_cast<std::uint16_t>(take(6));
    cell.x = static_cast<std::uint16_t>(take(12));
    cell.room = static_cast<std::uint16_t>(take(16));
}

}  // namespace mario::exploration
