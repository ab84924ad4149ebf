// A cartridge: the iNES file format and the NROM board (mapper 0), the only one this console has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>

namespace mario::nes {

/// How the two name tables inside the console are seen by the PPU: wired on the cartridge's board.
enum class Mirroring : std::uint8_t { horizontal, vertical };

/// A file that is not a cartridge this console can run; what() says why, for people.
struct CartridgeError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A checked view of a .nes file. The spans point into the file, which must outlive it.
struct Cartridge {
    std::span<const std::uint8_t> prg_rom;  ///< 16 or 32 KB, seen at $8000 (16 KB twice)
    std::span<const std::uint8_t> chr_rom;  ///< 8 KB of tiles; empty where the board has CHR RAM
    std::uint32_t prg_ram_bytes;            ///< at $6000: 8 KB or none
    Mirroring mirroring;
};

/// Larger than any cartridge ever sold; whatever is above it is refused before it is looked at.
inline constexpr std::size_t max_file_bytes = 4u << 20;

/// Reads an iNES or NES 2.0 file. The file is untrusted: its length must be exactly what its header promises.
/// Throws CartridgeError.
[[nodiscard]] Cartridge read_cartridge(std::span<const std::uint8_t> file);

}  // namespace mario::nes
