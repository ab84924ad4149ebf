// How the PPU's scroll registers move: by what is written to them, and by themselves while a picture is drawn.
//
// In a header because a program's every access to the chip comes through here.
#pragma once

#include <algorithm>
#include <cstdint>

#include "nes/ppu.h"

namespace mario::nes {

// v and t: 0yyy NNYY YYYX XXXX, fine y, name table, coarse Y, coarse X.
inline constexpr unsigned coarse_x_mask = 0x001F, coarse_y_mask = 0x03E0, name_table_x = 0x0400, name_table_y = 0x0800;
inline constexpr unsigned horizontal_bits = coarse_x_mask | name_table_x;
inline constexpr unsigned vertical_bits = 0x7FFF & ~horizontal_bits;

inline std::uint16_t moved_down(std::uint16_t v, unsigned lines = 1) {
    constexpr unsigned lines_per_table = 240;
    unsigned y = (v & coarse_y_mask) >> 2u | v >> 12u;
    unsigned tables = v & (name_table_x | name_table_y);
    // Rows 30 and 31 are attributes read as tiles; behind them the same table begins again.
    if (y >= lines_per_table) {
        const unsigned left = std::min(lines, 256 - y);
        y = (y + left) & 0xFFu;
        lines -= left;
    }
    if (y < lines_per_table) {
        y += lines;
        if (y / lines_per_table & 1u) tables ^= name_table_y;
        y %= lines_per_table;
    }
    return static_cast<std::uint16_t>((v & coarse_x_mask) | tables | (y & 0xF8u) << 2u | (y & 7u) << 12u);
}

/// v moved right by some tiles.
inline std::uint16_t moved_right(std::uint16_t v, unsigned tiles) {
    const unsigned x = (v & coarse_x_mask) + tiles;
    const unsigned other_table = (x >> 5u & 1u) * name_table_x;
    return static_cast<std::uint16_t>(((v & ~coarse_x_mask) ^ other_table) | (x & coarse_x_mask));
}

inline void copy_horizontal(PpuRegisters& r) {
    r.v = static_cast<std::uint16_t>((r.v & ~horizontal_bits) | (r.t & horizontal_bits));
}

inline void copy_vertical(PpuRegisters& r) { r.v = static_cast<std::uint16_t>((r.v & ~vertical_bits) | (r.t & vertical_bits)); }

/// How many multiples of eight lie in (from, to].
inline unsigned tiles_between(unsigned from, unsigned to) { return (to >> 3u) - (from >> 3u); }

/// Dots (from, to] of one line; from and to are dots of that line.
inline void advance_in_line(PpuRegisters& r, bool is_prerender, unsigned from, unsigned to) {
    if (from < 256) r.v = moved_right(r.v, tiles_between(from, std::min(to, 256u)));
    if (from < 256 && to >= 256) r.v = moved_down(r.v);
    if (from < 257 && to >= 257) copy_horizontal(r);
    if (is_prerender && from < 304 && to >= 280) copy_vertical(r);
    if (from < 336 && to >= 328) r.v = moved_right(r.v, tiles_between(std::max(from, 320u), std::min(to, 336u)));
}

/// Moves v over the dots (from, to] of a frame with rendering on.
inline void advance_scroll(PpuRegisters& registers, std::uint32_t line0, std::uint32_t from, std::uint32_t to) {
    // The pre-render line's dot 1 is prerender_dot; a skipped dot is its last one.
    if (from < line0) {
        const std::uint32_t before_line = prerender_dot - 1;
        const std::uint32_t last = std::min(to, line0 - 1);
        advance_in_line(registers, true, from < before_line ? 0 : from - before_line, last < before_line ? 0 : last - before_line);
        from = line0;
    }
    if (to <= from) return;
    std::uint32_t line = (from - line0) / dots_per_line;
    const std::uint32_t dot = (from - line0) % dots_per_line;
    std::uint32_t left = to - from;
    if (line >= num_lines) return;
    const std::uint32_t to_line_end = std::min(left, dots_per_line - 1 - dot);
    advance_in_line(registers, false, dot, dot + to_line_end);
    if (left == to_line_end) return;
    left -= to_line_end + 1;  // now at dot 0 of the next line
    ++line;
    // Of whole lines only the last one's horizontal moves remain.
    if (const std::uint32_t whole = std::min(left / dots_per_line, num_lines - line); whole > 0) {
        registers.v = moved_down(registers.v, whole);
        copy_horizontal(registers);
        registers.v = moved_right(registers.v, 2);
        line += whole;
        left -= whole * dots_per_line;
    }
    if (line < num_lines) advance_in_line(registers, false, 0, left);
}

/// What an access to a register does to the scroll registers. `is_drawing`: rendering is on, on a line that is drawn.
inline void apply_access(PpuRegisters& r, unsigned number, std::uint8_t value, bool is_drawing) {
    switch (number) {
        case 0:
            r.ctrl = value;
            r.t = static_cast<std::uint16_t>((r.t & ~0x0C00u) | ((value & 3u) << 10u));
            break;
        case 1: r.mask = value; break;
        case 2: r.is_second = 0; break;
        case 5:
            if (!r.is_second) {
                r.fine_x = value & 7;
                r.t = static_cast<std::uint16_t>((r.t & ~coarse_x_mask) | (value >> 3u));
            } else {
                r.t = static_cast<std::uint16_t>((r.t & ~0x73E0u) | ((value & 7u) << 12u) | ((value & 0xF8u) << 2u));
            }
            r.is_second ^= 1;
            break;
        case 6:
            if (!r.is_second) {
                r.t = static_cast<std::uint16_t>((r.t & 0x00FFu) | ((value & 0x3Fu) << 8u));
            } else {
                r.v = r.t = static_cast<std::uint16_t>((r.t & 0xFF00u) | value);
            }
            r.is_second ^= 1;
            break;
        case 7:
            // While drawing, v is a scroll position, and the chip moves it in both directions at once.
            if (is_drawing) r.v = moved_down(moved_right(r.v, 1));
            else r.v = static_cast<std::uint16_t>((r.v + (r.ctrl & ctrl_increment_32 ? 32 : 1)) & 0x7FFF);
            break;
        default: break;
    }
}

}  // namespace mario::nes
