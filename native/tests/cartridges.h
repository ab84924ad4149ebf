// Cartridges made by hand: a few bytes of program, tiles, and where the vectors point.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "nes/board.h"
#include "nes/console.h"
#include "nes/save_state.h"

namespace cartridges {

inline constexpr std::uint16_t reset_at = 0x8000, nmi_at = 0x9000, irq_at = 0xA000;

class Maker {
public:
    /// NMI and IRQ return at once unless code is put there.
    explicit Maker(unsigned chr_units = 1) : file_(16 + 0x8000 + chr_units * 0x2000) {
        const std::array<std::uint8_t, 8> header{'N', 'E', 'S', 0x1A, 2, static_cast<std::uint8_t>(chr_units), 1, 0};
        std::copy(header.begin(), header.end(), file_.begin());
        code(nmi_at, {0x40});
        code(irq_at, {0x40});
        code(0xFFFA, {nmi_at & 0xFF, nmi_at >> 8, reset_at & 0xFF, reset_at >> 8, irq_at & 0xFF, irq_at >> 8});
    }
    Maker& code(std::uint16_t address, std::initializer_list<unsigned> bytes) {
        std::size_t at = 16u + (address & 0x7FFFu);
        for (const unsigned byte : bytes) file_[at++] = static_cast<std::uint8_t>(byte);
        return *this;
    }
    Maker& chr(unsigned address, std::uint8_t value) {
        file_[16 + 0x8000 + address] = value;
        return *this;
    }
    /// All eight rows of a tile in colour 1, 2 or 3.
    Maker& solid_tile(unsigned tile, unsigned colour) {
        for (unsigned row = 0; row < 8; ++row) {
            chr(tile * 16 + row, colour & 1 ? 0xFF : 0);
            chr(tile * 16 + 8 + row, colour & 2 ? 0xFF : 0);
        }
        return *this;
    }
    Maker& mirroring(mario::nes::Mirroring mirroring) {
        file_[6] = mirroring == mario::nes::Mirroring::vertical ? 1 : 0;
        return *this;
    }
    [[nodiscard]] const std::vector<std::uint8_t>& file() const { return file_; }
    [[nodiscard]] mario::nes::Board board() const { return make_board(mario::nes::read_cartridge(file_)); }

private:
    std::vector<std::uint8_t> file_;
};

inline mario::nes::Console powered_on(const mario::nes::Board& board, std::uint8_t ram_fill = 0) {
    mario::nes::Console console;
    console.power_on(board, ram_fill);
    return console;
}

inline void run_frames(mario::nes::Console& console, const mario::nes::Board& board, unsigned num_frames,
                       mario::nes::Buttons buttons = 0) {
    for (unsigned frame = 0; frame < num_frames; ++frame) console.run_frame(board, buttons);
}

inline std::vector<std::uint8_t> saved(const mario::nes::Console& console, const mario::nes::Board& board) {
    std::vector<std::uint8_t> bytes(mario::nes::save_state_bytes);
    write_save_state(console, board, std::span<std::uint8_t, mario::nes::save_state_bytes>(bytes));
    return bytes;
}

/// Switches the picture on, waits for NMIs for ever, and in each one scrolls, splits the screen at sprite 0 and counts.
inline Maker busy_program() {
    Maker maker;
    maker.solid_tile(1, 3).solid_tile(2, 1).solid_tile(3, 2);
    maker.code(reset_at, {
        0x78, 0xD8, 0xA2, 0xFF, 0x9A,              // SEI CLD LDX #FF TXS
        0xAD, 0x02, 0x20, 0x10, 0xFB,              // wait for vertical blank
        0xA9, 0x3F, 0x8D, 0x06, 0x20, 0xA9, 0x00, 0x8D, 0x06, 0x20,  // $3F00
        0xA2, 0x00, 0x8A, 0x8D, 0x07, 0x20, 0xE8, 0xE0, 0x20, 0xD0, 0xF7,  // 32 colours
        0xA9, 0x20, 0x8D, 0x06, 0x20, 0xA9, 0x00, 0x8D, 0x06, 0x20,  // $2000
        0xA2, 0x00, 0xA0, 0x04,                                       // 4 pages:
        0x8A, 0x29, 0x03, 0x8D, 0x07, 0x20, 0xE8, 0xD0, 0xF7, 0x88, 0xD0, 0xF4,  // tiles 0-3
        0xA9, 0x27, 0x8D, 0x00, 0x02, 0xA9, 0x01, 0x8D, 0x01, 0x02, 0xA9, 0x28, 0x8D, 0x03, 0x02,  // sprite 0 at 40, 39
        0xA9, 0x1E, 0x8D, 0x01, 0x20, 0xA9, 0x80, 0x8D, 0x00, 0x20,   // picture and NMI on
    });
    const std::uint16_t idle = reset_at + 82;
    maker.code(idle, {0x4C, idle & 0xFF, idle >> 8});
    maker.code(nmi_at, {
        0xA9, 0x02, 0x8D, 0x14, 0x40,                          // OAM
        0xE6, 0x10, 0xA9, 0x00, 0x8D, 0x05, 0x20, 0x8D, 0x05, 0x20,  // frames, scroll 0
        0xA9, 0x01, 0x8D, 0x16, 0x40, 0x4A, 0x8D, 0x16, 0x40, 0xAD, 0x16, 0x40, 0x85, 0x11,  // controller
        0xAD, 0x02, 0x20, 0x29, 0x40, 0xD0, 0xF9,              // wait until sprite 0 is clear
        0x2C, 0x02, 0x20, 0x50, 0xFB,                          // wait until it is set
        0xA5, 0x10, 0x8D, 0x05, 0x20, 0xA9, 0x00, 0x8D, 0x05, 0x20,  // scroll the rest
        0xA5, 0x11, 0x4A, 0x90, 0x02, 0xE6, 0x12,              // count A
        0x40,
    });
    return maker;
}

}  // namespace cartridges
