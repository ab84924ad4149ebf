#include "nes/board.h"

#include <algorithm>

#include "nes/checksum.h"

namespace mario::nes {

Board make_board(const Cartridge& cartridge) {
    Board board{};
    for (std::size_t at = 0; at < board.prg_rom.size(); at += cartridge.prg_rom.size()) {
        std::copy(cartridge.prg_rom.begin(), cartridge.prg_rom.end(), board.prg_rom.begin() + static_cast<std::ptrdiff_t>(at));
    }
    std::copy(cartridge.chr_rom.begin(), cartridge.chr_rom.end(), board.chr_rom.begin());
    board.has_chr_ram = cartridge.chr_rom.empty();
    board.has_prg_ram = cartridge.prg_ram_bytes != 0;
    board.mirroring = cartridge.mirroring;
    const std::array<std::uint8_t, 3> wiring{board.has_chr_ram, board.has_prg_ram, board.mirroring == Mirroring::vertical};
    board.hash = checksum(wiring, checksum(board.chr_rom, checksum(board.prg_rom)));
    return board;
}

}  // namespace mario::nes
