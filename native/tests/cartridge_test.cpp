#include "nes/cartridge.h"

#include <cstdint>
#include <vector>

#include "check.h"

using mario::nes::CartridgeError;
using mario::nes::Mirroring;
using mario::nes::read_cartridge;

namespace {

using File = std::vector<std::uint8_t>;

/// A cartridge of zeros: 16-byte header, then the promised bytes.
File make_file(unsigned prg_units = 2, unsigned chr_units = 1) {
    File file(16 + prg_units * 16384 + chr_units * 8192);
    file[0] = 'N', file[1] = 'E', file[2] = 'S', file[3] = 0x1A;
    file[4] = static_cast<std::uint8_t>(prg_units);
    file[5] = static_cast<std::uint8_t>(chr_units);
    return file;
}

std::string complaint_about(const File& file) {
    return check::message_of<CartridgeError>([&] { (void)read_cartridge(file); });
}

std::string complaint_about_header_byte(std::size_t index, std::uint8_t value) {
    File file = make_file();
    file[index] = value;
    return complaint_about(file);
}

TEST(nrom_256_is_read) {
    File file = make_file();
    file[6] = 0x01;
    file[16] = 0xAB;
    file[16 + 32768] = 0xCD;
    const auto cartridge = read_cartridge(file);
    CHECK(cartridge.prg_rom.size() == 32768 && cartridge.prg_rom[0] == 0xAB);
    CHECK(cartridge.chr_rom.size() == 8192 && cartridge.chr_rom[0] == 0xCD);
    CHECK(cartridge.mirroring == Mirroring::vertical);
    CHECK(cartridge.prg_ram_bytes == 8192);
}

TEST(nrom_128_with_chr_ram_is_read) {
    const auto file = make_file(1, 0);
    const auto cartridge = read_cartridge(file);
    CHECK(cartridge.prg_rom.size() == 16384);
    CHECK(cartridge.chr_rom.empty());
    CHECK(cartridge.mirroring == Mirroring::horizontal);
}

TEST(nes2_header_says_whether_there_is_ram) {
    File file = make_file();
    file[7] = 0x08;
    CHECK(read_cartridge(file).prg_ram_bytes == 0);
    file[10] = 0x07;
    CHECK(read_cartridge(file).prg_ram_bytes == 8192);
    file[9] = 0x01;
    CHECK_CONTAINS(complaint_about(file), "more ROM than NROM");
}

TEST(a_name_written_over_the_header_does_not_change_the_mapper) {
    File file = make_file();
    const std::string noise = "DiskDude!";
    for (std::size_t i = 0; i < noise.size(); ++i) file[7 + i] = static_cast<std::uint8_t>(noise[i]);
    CHECK(complaint_about(file).empty());
}

TEST(every_length_but_the_right_one_is_refused) {
    const auto whole = make_file();
    for (std::size_t length : {0u, 1u, 15u, 16u, 17u, 4096u, 40975u}) {
        CHECK(!complaint_about(File(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length))).empty());
    }
    CHECK_CONTAINS(complaint_about(File(whole.begin(), whole.end() - 1)), "cut short");
    File longer = whole;
    longer.push_back(0);
    CHECK_CONTAINS(complaint_about(longer), "something was added");
    CHECK_CONTAINS(complaint_about(File(mario::nes::max_file_bytes + 1)), "more than any cartridge");
}

TEST(other_files_and_other_boards_are_refused) {
    CHECK_CONTAINS(complaint_about_header_byte(0, 'P'), "not an iNES ROM");
    CHECK_CONTAINS(complaint_about_header_byte(6, 0x40), "mapper 4");
    CHECK_CONTAINS(complaint_about_header_byte(7, 0x40), "mapper 64");
    CHECK_CONTAINS(complaint_about_header_byte(6, 0x04), "trainer");
    CHECK_CONTAINS(complaint_about_header_byte(6, 0x08), "four name tables");
    CHECK_CONTAINS(complaint_about_header_byte(4, 0), "0 KB of program");
    CHECK_CONTAINS(complaint_about_header_byte(4, 3), "48 KB of program");
    CHECK_CONTAINS(complaint_about_header_byte(5, 2), "16 KB of tiles");
}

TEST(any_header_byte_is_read_or_refused_but_never_trusted) {
    for (std::size_t index = 0; index < 16; ++index) {
        for (unsigned value = 0; value < 256; ++value) {
            File file = make_file();
            file[index] = static_cast<std::uint8_t>(value);
            try {
                const auto cartridge = read_cartridge(file);
                const std::size_t described = 16 + cartridge.prg_rom.size() + cartridge.chr_rom.size();
                CHECK(described == file.size());
            } catch (const CartridgeError&) {
            }
        }
    }
}

}  // namespace

int main() { return check::run_all(); }
