#include "nes/raster.h"

#include <algorithm>
#include <cstring>

#include "nes/scroll.h"

namespace mario::nes {
namespace {

constexpr std::uint64_t every_byte = 0x0101010101010101u;
/// 4 * palette in every byte.
constexpr std::array<std::uint64_t, 4> spread_palettes{0, every_byte * 4, every_byte * 8, every_byte * 12};

using TwoRows [[gnu::vector_size(16)]] = std::uint64_t;

std::uint8_t tile_at(std::uint16_t v, const PictureMemory& memory) {
    return memory.name_tables[name_table_index(memory.mirroring, v & 0x0FFFu)];
}

std::uint64_t palette_at(std::uint16_t v, const PictureMemory& memory) {
    const unsigned address = 0x03C0u | (v & 0x0C00u) | (v >> 4u & 0x38u) | (v >> 2u & 0x07u);
    const std::uint8_t attributes = memory.name_tables[name_table_index(memory.mirroring, address)];
    return spread_palettes[attributes >> ((v >> 4u & 4u) | (v & 2u)) & 3u];
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

PictureMemory picture_memory(const PpuState& ppu, const Board& board) {
    if (board.has_chr_ram) return {ppu.name_tables.data(), ppu.chr_ram.data(), nullptr, board.mirroring};
    return {ppu.name_tables.data(), board.chr_rom.data(), board.tile_rows.data(), board.mirroring};
}

std::uint64_t background_tile(const PpuRegisters& registers, std::uint16_t v, const PictureMemory& memory) {
    return tile_row(first_row(registers, v) + 8u * tile_at(v, memory), memory) | palette_at(v, memory);
}

std::uint64_t sprite_row(const std::uint8_t* oam_entry, unsigned row, std::uint8_t ctrl, const PictureMemory& memory) {
    const unsigned height = sprite_height(ctrl);
    const std::uint8_t attributes = oam_entry[2];
    if (attributes & 0x80) row = height - 1 - row;
    unsigned tile = oam_entry[1];
    if (height == 16) tile = (tile & 1u) * 256u + (tile & 0xFEu) + (row >> 3u & 1u);
    else tile += ctrl & ctrl_sprite_table ? 256u : 0u;
    const std::uint64_t pixels = tile_row(8u * tile + (row & 7u), memory);
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
    const unsigned lines = line - line_;
    if (line_ > 0 && position_ == start - lines * dots_per_line && next_access() > start && registers_.is_rendering()) {
        // Whole lines of nothing but drawing: the same dot, further down.
        registers_.v = moved_down(registers_.v, lines);
        copy_horizontal(registers_);
        position_ = start;
    } else if (position_ == prerender_dot && next_access() > start && registers_.is_rendering()) {
        // Nobody touched anything so far: the line before the first took over all of t.
        registers_.v = moved_down(registers_.t, line);
        position_ = start;
    } else {
        run_to(start);
    }
    line_ = line;
    return is_steady_ = next_access() > line0_ + line * dots_per_line + 256;
}

void Raster::draw(BackgroundBand& out, unsigned max_lines) {
    out.ctrl = registers_.ctrl;
    out.mask = registers_.mask;
    out.has_sprites = registers_.is_rendering();
    out.has_steady_mask = is_steady_;
    out.num_lines = is_steady_ ? num_steady_lines(max_lines) : 1;
    if (is_steady_) draw_steady(out);
    else draw_changing(out);
}

/// Until the tiles end, or the line before the one that an access falls into.
unsigned Raster::num_steady_lines(unsigned max_lines) const {
    // Written since the end of the line before: it counts from the next line on.
    if ((registers_.v ^ registers_.t) & horizontal_bits) return 1;
    const unsigned of_tiles = 8u - (registers_.v >> 12u & 7u);
    unsigned lines = 1;
    while (lines < std::min(max_lines, of_tiles) && next_access() > line0_ + (line_ + lines) * dots_per_line + 256) ++lines;
    return lines;
}

void Raster::draw_steady(BackgroundBand& out) {
    const bool is_shown = registers_.mask & mask_background;
    out.first = is_shown ? registers_.fine_x : 0;
    if (is_shown) draw_tiles(out);
    const unsigned num_cleared = !is_shown ? 256 : registers_.mask & mask_left_background ? 0 : 8;
    for (unsigned line = 0; line < out.num_lines; ++line) std::fill_n(&out.pixels[line][out.first], num_cleared, std::uint8_t{0});
}

/// What the name tables say about the row of tiles that v points into.
Raster::TileRow Raster::look_up_tiles() const {
    TileRow row;
    const unsigned first = first_row(registers_, registers_.v);
    std::uint16_t v = registers_.v;
    // One name table after the other: within one, tiles lie side by side, and two and two of them share a palette.
    for (unsigned i = 0; i < tiles_per_line;) {
        const unsigned x = v & coarse_x_mask, end = std::min(tiles_per_line, i + 32u - x);
        const std::uint8_t* const tiles = &memory_.name_tables[name_table_index(memory_.mirroring, v & 0x0FE0u)];
        const unsigned attributes_at = 0x03C0u | (v & 0x0C00u) | (v >> 4u & 0x38u);
        const std::uint8_t* const attributes = &memory_.name_tables[name_table_index(memory_.mirroring, attributes_at)];
        const unsigned shift = v >> 4u & 4u;
        for (unsigned column = x; i < end; ++i, ++column) {
            row.first_rows[i] = static_cast<std::uint16_t>(first + 8u * tiles[column]);
            row.palettes[i] = spread_palettes[attributes[column / 4] >> (shift | (column & 2u)) & 3u];
        }
        v = static_cast<std::uint16_t>((v ^ name_table_x) & ~coarse_x_mask);
    }
    return row;
}

void Raster::draw_tiles(BackgroundBand& out) const {
    const TileRow row = look_up_tiles();
    if (memory_.tile_rows && out.num_lines == 8) return draw_whole_tiles(row, memory_.tile_rows, out.pixels[0].data());
    for (unsigned i = 0; i < tiles_per_line; ++i) {
        for (unsigned line = 0; line < out.num_lines; ++line) {
            const std::uint64_t pixels = tile_row(row.first_rows[i] + line, memory_) | row.palettes[i];
            std::memcpy(&out.pixels[line][8 * i], &pixels, 8);
        }
    }
}

/// All eight lines; most bands are such.
void Raster::draw_whole_tiles(const TileRow& row, const std::uint64_t* tile_rows, std::uint8_t* out) {
    constexpr std::size_t line_bytes = sizeof(BackgroundBand::pixels[0]);
    for (unsigned i = 0; i < tiles_per_line; ++i, out += 8) {
        const std::uint64_t* const rows = tile_rows + row.first_rows[i];
        const std::uint64_t palette = row.palettes[i];
#pragma GCC unroll 4
        for (unsigned line = 0; line < 8; line += 2) {
            TwoRows two;
            std::memcpy(&two, rows + line, sizeof two);
            two |= palette;
            const std::uint64_t upper = two[0], lower = two[1];
            std::memcpy(out + line * line_bytes, &upper, 8);
            std::memcpy(out + (line + 1) * line_bytes, &lower, 8);
        }
    }
}

void Raster::draw_changing(BackgroundBand& out) {
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
    const auto show = [&](unsigned x, unsigned count) {
        const std::uint8_t mask = registers_.mask;
        const bool shows = (mask & mask_background) && (x >= 8 || (mask & mask_left_background));
        std::fill_n(&out.masks[x], count, mask);
        if (shows) std::copy_n(&fetched[x + registers_.fine_x], count, &out.pixels[0][x]);
        else std::fill_n(&out.pixels[0][x], count, std::uint8_t{0});
    };
    for (unsigned tile = 0; tile < 32; ++tile) {
        const unsigned begin = 8 * tile, end = begin + 8;
        run_to(line_dot + begin + 1);
        fetch(tile + 2);
        // Between two fetches only an access changes anything.
        if (next_access() > line_dot + end) {
            show(begin, 8);
            continue;
        }
        for (unsigned x = begin; x < end; ++x) run_to(line_dot + x + 1), show(x, 1);
    }
}

}  // namespace mario::nes
