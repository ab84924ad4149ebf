#include "nes/cartridge.h"

#include <algorithm>
#include <array>
#include <string>

namespace mario::nes {
namespace {

constexpr std::size_t header_bytes = 16;
constexpr std::size_t prg_unit_bytes = 16 * 1024;
constexpr std::size_t chr_unit_bytes = 8 * 1024;
constexpr std::uint32_t prg_ram_unit_bytes = 8 * 1024;
constexpr std::array<std::uint8_t, 4> magic{'N', 'E', 'S', 0x1A};

// Byte 6.
constexpr unsigned flag_vertical_mirroring = 0x01;
constexpr unsigned flag_trainer = 0x04;
constexpr unsigned flag_four_screens = 0x08;

using Header = std::span<const std::uint8_t, header_bytes>;

void expect(bool holds, const std::string& complaint) {
    if (!holds) throw CartridgeError(complaint);
}

bool is_nes2(Header header) { return (header[7] & 0x0Cu) == 0x08u; }

/// Old dumping tools wrote their name over bytes 7 to 15; the upper half of the mapper number is then noise.
bool has_noise_in_tail(Header header) {
    return !is_nes2(header) && std::any_of(header.begin() + 12, header.end(), [](auto byte) { return byte != 0; });
}

unsigned mapper(Header header) {
    unsigned number = header[6] >> 4u;
    if (!has_noise_in_tail(header)) number |= header[7] & 0xF0u;
    if (is_nes2(header)) number |= (header[8] & 0x0Fu) << 8u;
    return number;
}

/// iNES cannot say "no RAM": 0 stands for 8 KB, as test programs that report at $6000 expect.
std::uint32_t prg_ram_bytes(Header header) {
    if (!is_nes2(header)) return prg_ram_unit_bytes;
    return header[10] != 0 ? prg_ram_unit_bytes : 0;
}

}  // namespace

Cartridge read_cartridge(std::span<const std::uint8_t> file) {
    expect(file.size() <= max_file_bytes, "the file has " + std::to_string(file.size()) +
                                              " bytes, more than any cartridge (" + std::to_string(max_file_bytes) + ")");
    expect(file.size() >= header_bytes,
           "the file has " + std::to_string(file.size()) + " bytes, too few for the 16-byte iNES header");
    const Header header = file.first<header_bytes>();
    expect(std::equal(magic.begin(), magic.end(), header.begin()),
           "the file does not begin with 'NES' and 1A (hex), so it is not an iNES ROM");
    expect(mapper(header) == 0,
           "the cartridge uses mapper " + std::to_string(mapper(header)) + "; this console has mapper 0 (NROM) alone");
    expect((header[6] & flag_trainer) == 0, "the file carries a 512-byte trainer, which NROM games do not have");
    expect((header[6] & flag_four_screens) == 0, "the cartridge brings four name tables of its own, which NROM does not");
    expect(!is_nes2(header) || header[9] == 0, "the header promises more ROM than NROM can address");
    const unsigned prg_units = header[4];
    const unsigned chr_units = header[5];
    expect(prg_units == 1 || prg_units == 2,
           "the header promises " + std::to_string(prg_units * 16) + " KB of program; NROM has 16 or 32");
    expect(chr_units <= 1, "the header promises " + std::to_string(chr_units * 8) + " KB of tiles; NROM has 8, or RAM");

    const std::size_t prg = prg_units * prg_unit_bytes;
    const std::size_t chr = chr_units * chr_unit_bytes;
    const std::size_t expected = header_bytes + prg + chr;
    expect(file.size() == expected, "the header promises " + std::to_string(expected) + " bytes, the file has " +
                                        std::to_string(file.size()) +
                                        (file.size() < expected ? ": it is cut short" : ": something was added to it"));
    return Cartridge{
        .prg_rom = file.subspan(header_bytes, prg),
        .chr_rom = file.subspan(header_bytes + prg, chr),
        .prg_ram_bytes = prg_ram_bytes(header),
        .mirroring = (header[6] & flag_vertical_mirroring) != 0 ? Mirroring::vertical : Mirroring::horizontal,
    };
}

}  // namespace mario::nes
