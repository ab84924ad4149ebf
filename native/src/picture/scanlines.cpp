#include "picture/scanlines.h"

#include <algorithm>
#include <cstring>
#include <span>

namespace mario::picture {
namespace {

using namespace nes;

constexpr std::uint64_t every_byte = 0x0101010101010101u;

std::span<const LoggedAccess> log_of(const PpuState& ppu) { return {ppu.log.data(), std::min(ppu.num_logged, max_logged)}; }

bool is_memory(const LoggedAccess& access) { return (access.address & register_access) == 0; }

std::uint64_t load(const std::uint8_t* bytes) {
    std::uint64_t value;
    std::memcpy(&value, bytes, 8);
    return value;
}

/// 0xFF in every byte whose lower two bits are not both zero.
std::uint64_t opaque(std::uint64_t pixels) { return ((pixels | pixels >> 1u) & every_byte) * 0xFF; }

}  // namespace

Scanlines::Scanlines(const Console& console, const Board& board)
    : ppu_(console.ppu), board_(board), palette_(console.ppu.palette),
      memory_(picture_memory(console.ppu, board)),
      raster_(console.ppu.first_registers, log_of(console.ppu), console.ppu.drawn_line0, memory_) {
    const auto log = log_of(ppu_);
    if (std::any_of(log.begin(), log.end(), is_memory)) undo_writes();
    else num_redone_ = log.size();
}

/// Memory is as the frame left it: goes back to how it was when the picture began.
void Scanlines::undo_writes() {
    name_tables_ = ppu_.name_tables;
    memory_.name_tables = name_tables_.data();
    if (board_.has_chr_ram) {
        chr_ = ppu_.chr_ram;
        memory_.chr = chr_.data();
    }
    const auto log = log_of(ppu_);
    for (auto access = log.rbegin(); access != log.rend(); ++access) {
        if (is_memory(*access)) write_memory(access->address, access->previous);
    }
}

void Scanlines::redo_writes(std::uint32_t dot) {
    const auto log = log_of(ppu_);
    for (; num_redone_ < log.size() && log[num_redone_].dot <= dot; ++num_redone_) {
        if (is_memory(log[num_redone_])) write_memory(log[num_redone_].address, log[num_redone_].value);
    }
}

void Scanlines::write_memory(unsigned address, std::uint8_t value) {
    address &= 0x3FFF;
    if (address >= 0x3F00) palette_[palette_index(address)] = value & 0x3F;
    else if (address >= 0x2000) name_tables_[name_table_index(board_.mirroring, address)] = value;
    else if (board_.has_chr_ram) chr_[address] = value;
}

Band Scanlines::draw(unsigned line, unsigned max_lines) {
    redo_writes(ppu_.drawn_line0 + line * dots_per_line);
    (void)raster_.begin_line(line);
    raster_.draw(background_, max_lines);
    if (background_.has_sprites) draw_sprites(line);
    return {background_.num_lines, &background_, &palette_, background_.mask};
}

/// The first eight of each line, in their order in OAM.
void Scanlines::list_sprites(unsigned height) {
    listed_height_ = height;
    num_sprites_.fill(0);
    for (unsigned sprite = 0; sprite < 64; ++sprite) {
        const unsigned y = ppu_.oam[4 * sprite];
        for (unsigned line = y + 1; line < std::min(y + 1 + height, num_lines); ++line) {
            if (num_sprites_[line] < max_sprites_per_line) sprites_[line][num_sprites_[line]++] = static_cast<std::uint8_t>(sprite);
        }
    }
}

void Scanlines::draw_sprites(unsigned line) {
    if (background_.has_steady_mask && !(background_.mask & mask_sprites)) return;
    const unsigned height = sprite_height(background_.ctrl);
    if (height != listed_height_) list_sprites(height);
    for (unsigned i = 0; i < background_.num_lines; ++i) {
        if (num_sprites_[line + i] > 0) draw_sprites(line + i, &background_.pixels[i][background_.first]);
    }
}

/// Of two sprites the one that comes first in OAM has the pixel, even where it then hides behind the background.
void Scanlines::draw_sprites(unsigned line, std::uint8_t* pixels) {
    std::array<std::uint8_t, 256 + 8> taken{};
    if (!background_.has_steady_mask) {
        for (unsigned x = 0; x < 256; ++x) {
            const std::uint8_t mask = background_.masks[x];
            const bool shows = (mask & mask_sprites) && (x >= 8 || (mask & mask_left_sprites));
            taken[x] = shows ? 0 : 0xFF;
        }
    } else if (!(background_.mask & mask_left_sprites)) {
        std::fill_n(taken.begin(), 8, std::uint8_t{0xFF});
    }
    for (unsigned i = 0; i < num_sprites_[line]; ++i) {
        const std::uint8_t* const entry = &ppu_.oam[4u * sprites_[line][i]];
        const unsigned x = entry[3];
        const std::uint64_t row = sprite_row(entry, line - entry[0] - 1u, background_.ctrl, memory_);
        const std::uint64_t wins = opaque(row) & ~load(&taken[x]);
        const std::uint64_t taken_now = load(&taken[x]) | wins;
        std::memcpy(&taken[x], &taken_now, 8);
        const std::uint64_t behind = load(&pixels[x]);
        const std::uint64_t shown = entry[2] & 0x20 ? wins & ~opaque(behind) : wins;
        const std::uint64_t sprite_pixels = row | every_byte * (16u + 4u * (entry[2] & 3u));
        const std::uint64_t mixed = (behind & ~shown) | (sprite_pixels & shown);
        std::memcpy(&pixels[x], &mixed, 8);
    }
}

}  // namespace mario::picture
