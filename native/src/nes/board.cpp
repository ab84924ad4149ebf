#include "nes/board.h"

#include <algorithm>

#include "nes/checksum.h"

namespace mario::nes {

namespace {

/// Each bit of a byte as a byte, the highest bit in the lowest byte.
constexpr std::array<std::uint64_t, 256> spread = [] {
    std::array<std::uint64_t, 256> table{};
    for (unsigned value = 0; value < 256; ++value) {
        for (unsigned bit = 0; bit < 8; ++bit) table[value] |= static_cast<std::uint64_t>(value >> bit & 1u) << (8 * (7 - bit));
    }
    return table;
}();

}  // namespace

std::uint64_t spread_tile_row(std::uint8_t low, std::uint8_t high) { return spread[low] | spread[high] << 1u; }

Board make_board(const Cartridge& cartridge) {
    Board board{};
    for (std::size_t at = 0; at < board.prg_rom.size(); at += cartridge.prg_rom.size()) {
        std::copy(cartridge.prg_rom.begin(), cartridge.prg_rom.end(), board.prg_rom.begin() + static_cast<std::ptrdiff_t>(at));
    }
    std::copy(cartridge.chr_rom.begin(), cartridge.chr_rom.end(), board.chr_rom.begin());
    for (unsigned row = 0; row < board.tile_rows.size(); ++row) {
        const std::uint8_t* const bytes = &board.chr_rom[row / 8 * 16 + row % 8];
        board.tile_rows[row] = spread_tile_row(bytes[0], bytes[8]);
    }
    board.has_chr_ram = cartridge.chr_rom.empty();
    board.has_prg_ram = cartridge.prg_ram_bytes != 0;
    board.mirroring = cartridge.mirroring;
    const std::array<std::uint8_t, 3> wiring{board.has_chr_ram, board.has_prg_ram, board.mirroring == Mirroring::vertical};
    board.hash = checksum(wiring, checksum(board.chr_rom, checksum(board.prg_rom)));
    return board;
}

}  // namespace mario::nes
