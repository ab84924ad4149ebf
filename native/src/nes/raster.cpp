#include "nes/raster.h"

#include <algorithm>
#include <cstring>

namespace mario::nes {
namespace {

// v and t: 0yyy NNYY YYYX XXXX, fine y, name table, coarse Y, coarse X.
constexpr unsigned coarse_x_mask = 0x001F, coarse_y_mask = 0x03E0, name_table_x = 0x0400, name_table_y = 0x0800;
constexpr unsigned horizontal_bits = coarse_x_mask | name_table_x;
constexpr unsigned vertical_bits = 0x7FFF & ~horizontal_bits;

std::uint16_t moved_down(std::uint16_t v, unsigned lines = 1) {
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

void copy_horizontal(PpuRegisters& r) {
    r.v = static_cast<std::uint16_t>((r.v & ~horizontal_bits) | (r.t & horizontal_bits));
}

void copy_vertical(PpuRegisters& r) { r.v = static_cast<std::uint16_t>((r.v & ~vertical_bits) | (r.t & vertical_bits)); }

/// How many multiples of eight lie in (from, to].
unsigned tiles_between(unsigned from, unsigned to) { return (to >> 3u) - (from >> 3u); }

/// Dots (from, to] of one line; from and to are dots of that line.
void advance_in_line(PpuRegisters& r, bool is_prerender, unsigned from, unsigned to) {
    if (from < 256) r.v = moved_right(r.v, tiles_between(from, std::min(to, 256u)));
    if (from < 256 && to >= 256) r.v = moved_down(r.v);
    if (from < 257 && to >= 257) copy_horizontal(r);
    if (is_prerender && from < 304 && to >= 280) copy_vertical(r);
    if (from < 336 && to >= 328) r.v = moved_right(r.v, tiles_between(std::max(from, 320u), std::min(to, 336u)));
}

constexpr std::uint64_t every_byte = 0x0101010101010101u;

std::uint8_t tile_at(std::uint16_t v, const PictureMemory& memory) {
    return memory.name_tables[name_table_index(memory.mirroring, v & 0x0FFFu)];
}

/// 4 * palette in every byte.
std::uint64_t palette_at(std::uint16_t v, const PictureMemory& memory) {
    const unsigned address = 0x03C0u | (v & 0x0C00u) | (v >> 4u & 0x38u) | (v >> 2u & 0x07u);
    const std::uint8_t attributes = memory.name_tables[name_table_index(memory.mirroring, address)];
    return (attributes >> ((v >> 4u & 4u) | (v & 2u)) & 3u) * (every_byte * 4);
}

/// Where the row of colours that v's fine y points at is found: rows[tile] for the tile's number times eight.
unsigned first_row(const PpuRegisters& registers, std::uint16_t v) {
    return (registers.ctrl & ctrl_background_table ? 256u * 8u : 0u) + (v >> 12u & 7u);
}

std::uint64_t tile_row(unsigned row, const PictureMemory& memory) {
    if (memory.tile_rows) return memory.tile_rows[row];
    const std::uint8_t* const bytes = memory.chr + row / 8 * 16 + row % 8;
    return spread_tile_row(bytes[0], bytes[8]);
}

}  // namespace

std::uint16_t moved_right(std::uint16_t v, unsigned tiles) {
    const unsigned x = (v & coarse_x_mask) + tiles;
    const unsigned other_table = (x >> 5u & 1u) * name_table_x;
    return static_cast<std::uint16_t>(((v & ~coarse_x_mask) ^ other_table) | (x & coarse_x_mask));
}

void advance_scroll(PpuRegisters& registers, std::uint32_t line0, std::uint32_t from, std::uint32_t to) {
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

void apply_access(PpuRegisters& r, unsigned number, std::uint8_t value, bool is_drawing) {
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

PictureMemory picture_memory(const PpuState& ppu, const Board& board) {
    if (board.has_chr_ram) return {ppu.name_tables.data(), ppu.chr_ram.data(), nullptr, board.mirroring};
    return {ppu.name_tables.data(), board.chr_rom.data(), board.tile_rows.data(), board.mirroring};
}

std::uint64_t background_tile(const PpuRegisters& registers, std::uint16_t v, const PictureMemory& memory) {
    return tile_row(first_row(registers, v) + 8u * tile_at(v, memory), memory) | palette_at(v, memory);
}

std::uint64_t sprite_row(const std::uint8_t* oam_entry, unsigned row, std::uint8_t ctrl, const std::uint8_t* chr) {
    const unsigned height = sprite_height(ctrl);
    const std::uint8_t attributes = oam_entry[2];
    if (attributes & 0x80) row = height - 1 - row;
    unsigned tile = oam_entry[1] * 16u;
    if (height == 16) tile = (oam_entry[1] & 1u) * 0x1000u + (oam_entry[1] & 0xFEu) * 16u + (row & 8u) * 2u;
    else tile += ctrl & ctrl_sprite_table ? 0x1000u : 0u;
    const unsigned pattern = tile + (row & 7u);
    const std::uint64_t pixels = spread_tile_row(chr[pattern], chr[pattern + 8]);
    return attributes & 0x40 ? __builtin_bswap64(pixels) : pixels;
}

void Raster::run_to(std::uint32_t dot) {
    while (next_access() <= dot) {
        const LoggedAccess& access = log_[at_++];
        const std::uint32_t here = std::max(access.dot, position_);
        if (registers_.is_rendering()) advance_scroll(registers_, line0_, position_, here);
        position_ = here;
        const bool is_drawing = registers_.is_rendering() && here < line0_ + num_lines * dots_per_line;
        if (access.address & register_access) apply_access(registers_, access.address & 7u, access.value, is_drawing);
    }
    if (dot <= position_) return;
    if (registers_.is_rendering()) advance_scroll(registers_, line0_, position_, dot);
    position_ = dot;
}

bool Raster::begin_line(unsigned line) {
    // Line -1 is shorter by the skipped dot, which lies behind dot 320.
    const std::uint32_t start = line == 0 ? prerender_dot - 1 + 320 : line0_ + (line - 1) * dots_per_line + 320;
    if (line > 1 && line == line_ + 1 && position_ == start - dots_per_line && next_access() > start && registers_.is_rendering()) {
        // A whole line of nothing but drawing: the same dot, one line down.
        registers_.v = moved_down(registers_.v);
        copy_horizontal(registers_);
        position_ = start;
    } else {
        run_to(start);
    }
    line_ = line;
    return is_steady_ = next_access() > line0_ + line * dots_per_line + 256;
}

void Raster::draw(BackgroundLine& out) {
    out.ctrl = registers_.ctrl;
    out.mask = registers_.mask;
    out.has_sprites = registers_.is_rendering() && line_ > 0;
    out.has_steady_mask = is_steady_;
    if (is_steady_) draw_steady(out);
    else draw_changing(out);
}

void Raster::look_up_row() {
    row_v_ = registers_.v & 0x0FFFu;
    const unsigned first_x = registers_.v & coarse_x_mask;
    std::uint16_t v = registers_.v;
    // One name table after the other: within one, tiles lie side by side.
    for (unsigned i = 0; i < tiles_per_line;) {
        const unsigned x = (first_x + i) % 32u, end = std::min(tiles_per_line, i + 32u - x);
        const std::uint8_t* const tiles = &memory_.name_tables[name_table_index(memory_.mirroring, v & 0x0FE0u)];
        const unsigned attributes_at = 0x03C0u | (v & 0x0C00u) | (v >> 4u & 0x38u);
        const std::uint8_t* const attributes = &memory_.name_tables[name_table_index(memory_.mirroring, attributes_at)];
        const unsigned shift = v >> 4u & 4u;
        for (unsigned column = x; i < end; ++i, ++column) {
            row_tiles_[i] = static_cast<std::uint16_t>(8u * tiles[column]);
            row_palettes_[i] = (attributes[column / 4] >> (shift | (column & 2u)) & 3u) * (every_byte * 4);
        }
        v = static_cast<std::uint16_t>(v ^ name_table_x);
    }
}

void Raster::draw_steady(BackgroundLine& out) {
    out.first = 0;
    if (!(registers_.mask & mask_background)) {
        out.pixels.fill(0);
        return;
    }
    if (row_v_ != (registers_.v & 0x0FFFu)) look_up_row();
    const unsigned first = first_row(registers_, registers_.v);
    const auto put = [&](unsigned tile, std::uint64_t colours) {
        const std::uint64_t pixels = colours | row_palettes_[tile];
        std::memcpy(&out.pixels[8 * tile], &pixels, 8);
    };
    if (memory_.tile_rows) {
        const std::uint64_t* const rows = memory_.tile_rows + first;
#pragma GCC unroll 11
        for (unsigned i = 0; i < tiles_per_line; ++i) put(i, rows[row_tiles_[i]]);
    } else {
        for (unsigned i = 0; i < tiles_per_line; ++i) put(i, tile_row(first + row_tiles_[i], memory_));
    }
    out.first = registers_.fine_x;
    if (!(registers_.mask & mask_left_background)) std::fill_n(&out.pixels[out.first], 8, std::uint8_t{0});
}

void Raster::draw_changing(BackgroundLine& out) {
    const std::uint32_t line_dot = line0_ + line_ * dots_per_line;
    std::array<std::uint8_t, 256 + 24> fetched{};
    const auto fetch = [&](unsigned tile) {
        const std::uint64_t pixels = background_tile(registers_, registers_.v, memory_);
        std::memcpy(&fetched[8 * tile], &pixels, 8);
    };
    // The first two tiles are fetched at the end of the line before.
    fetch(0);
    run_to(position_ + 8);
    fetch(1);
    out.first = 0;
    for (unsigned x = 0; x < 256; ++x) {
        // Between two fetches only an access changes anything.
        if (x % 8 == 0 || next_access() <= line_dot + x + 1) run_to(line_dot + x + 1);
        if (x % 8 == 0) fetch(x / 8 + 2);
        const std::uint8_t mask = out.masks[x] = registers_.mask;
        const bool shows = (mask & mask_background) && (x >= 8 || (mask & mask_left_background));
        out.pixels[x] = shows ? fetched[x + registers_.fine_x] : 0;
    }
}

}  // namespace mario::nes
