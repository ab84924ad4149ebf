// The cartridge as the console sees it while it runs: read-only, shared by any number of consoles and threads.
#pragma once

#include <array>
#include <cstdint>

#include "nes/cartridge.h"

namespace mario::nes {

/// Owns its bytes. Nothing changes after make_board(), so every thread may read it.
struct Board {
    std::array<std::uint8_t, 0x8000> prg_rom;  ///< $8000-$FFFF; 16 KB of program lie here twice
    std::array<std::uint8_t, 0x2000> chr_rom;  ///< unused where has_chr_ram
    /// chr_rom once more, for whoever draws: a row of a tile as eight bytes with the colours 0-3, the leftmost lowest.
    std::array<std::uint64_t, 512 * 8> tile_rows;
    bool has_chr_ram;
    bool has_prg_ram;
    Mirroring mirroring;
    std::uint64_t hash;  ///< of everything above: tells save-states of other games
};

/// The colours of eight pixels from the two bytes that hold their lower and upper bits.
[[nodiscard]] std::uint64_t spread_tile_row(std::uint8_t low, std::uint8_t high);

[[nodiscard]] Board make_board(const Cartridge& cartridge);

/// Which of the console's 2,048 bytes of name tables a PPU address from $2000 to $3EFF means.
[[nodiscard]] inline unsigned name_table_index(Mirroring mirroring, unsigned address) {
    return mirroring == Mirroring::vertical ? address & 0x7FFu : (address & 0x3FFu) | ((address >> 1u) & 0x400u);
}

}  // namespace mario::nes
