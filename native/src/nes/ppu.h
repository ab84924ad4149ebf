// The picture chip as programs see it: registers, memories, flags and their times.
//
// Nothing is drawn here. The chip is caught up when somebody touches it, registers that change while the picture is being drawn are
// logged with their time, and the picture is made from that log when somebody looks (raster.h, picture/).
//
// Time is counted in dots (a third of a CPU cycle) from the moment at which the vertical-blank flag is set (line 241, dot 1).
// A CPU access in cycle n falls on dot 3n + 2: one of the alignments a machine may wake up with, always the same here.
//
// Left out: the decay of the chip's open bus; what $2004 shows while sprites are looked up; OAM that decays. OAM that is changed
// while the picture is being drawn shows in the whole of that picture (the flags are exact: they follow the change).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "nes/board.h"

namespace mario::nes {

inline constexpr std::uint32_t dots_per_line = 341;
inline constexpr std::uint32_t num_lines = 240;
/// Line -1 (the pre-render line) begins: the flags are cleared and the log starts. Dot 1 of that line.
inline constexpr std::uint32_t prerender_dot = 20 * dots_per_line;
/// Line 0, dot 0, where no dot is skipped.
inline constexpr std::uint32_t line0_dot = prerender_dot + dots_per_line - 1;
/// From line 0, dot 0 to the next vertical blank.
inline constexpr std::uint32_t picture_dots = 241 * dots_per_line + 1;
/// A frame in which no dot is skipped.
inline constexpr std::uint32_t full_frame_dots = line0_dot + picture_dots;

inline constexpr std::uint8_t ctrl_increment_32 = 0x04, ctrl_sprite_table = 0x08, ctrl_background_table = 0x10,
                              ctrl_tall_sprites = 0x20, ctrl_nmi = 0x80;
inline constexpr std::uint8_t mask_grey = 0x01, mask_left_background = 0x02, mask_left_sprites = 0x04, mask_background = 0x08,
                              mask_sprites = 0x10;
inline constexpr std::uint8_t mask_rendering = mask_background | mask_sprites;
inline constexpr std::uint8_t status_overflow = 0x20, status_sprite0 = 0x40, status_vblank = 0x80;

/// The registers that decide what the background looks like.
struct PpuRegisters {
    std::uint16_t v;         ///< the address in use: 15 bits, while drawing the scroll position
    std::uint16_t t;         ///< the address being prepared
    std::uint8_t fine_x;     ///< 0-7
    std::uint8_t is_second;  ///< the next write to $2005 or $2006 is the second of its pair
    std::uint8_t ctrl, mask;

    [[nodiscard]] bool is_rendering() const { return (mask & mask_rendering) != 0; }
};

/// One change while the picture was being drawn. `address` is $2000-$2007 plus register_access, or a PPU address.
struct LoggedAccess {
    std::uint32_t dot;
    std::uint16_t address;
    std::uint8_t value, previous;  ///< for memory: what was there is what the picture above needs
};
inline constexpr std::uint16_t register_access = 0x8000;
/// More changes than this in one frame are not drawn, nor seen by a sprite 0 that is hit after them.
inline constexpr std::uint32_t max_logged = 512;
/// A bit that floats on the data lines is gone after this many frames: 0.6 s, as measured on consoles.
inline constexpr std::uint8_t latch_frames = 36;

struct PpuState {
    std::uint64_t frame_start;   ///< the dot, counted from power-on, at which this frame began
    std::uint64_t nmi_cycle;     ///< the CPU cycle since which an NMI waits; never when none does
    std::uint32_t position;      ///< every dot of this frame up to this one is done
    std::uint32_t line0;         ///< line 0, dot 0 of this frame, if rendering stays as it is
    std::uint32_t drawn_line0;   ///< the same of the picture that the log describes
    std::uint32_t sprite0_dot;   ///< when the flag will be set if nothing is written; 0: not worked out, ~0: never
    std::uint32_t overflow_dot;  ///< the same
    std::uint32_t num_logged;
    PpuRegisters registers;
    PpuRegisters first_registers;  ///< as they were when the log started
    std::uint8_t status;           ///< the upper three bits of $2002
    std::uint8_t latch;            ///< what floats on the chip's data lines
    std::uint8_t read_buffer;
    std::uint8_t oam_address;
    std::uint8_t is_odd_frame;
    std::uint8_t has_rendered;      ///< rendering was on at some time since the log started
    std::uint8_t has_frame_ended;   ///< a vertical blank began since the console last looked
    std::uint8_t suppresses_vblank; ///< $2002 was read one dot before the flag would be set
    std::array<std::uint8_t, 8> latch_ages;  ///< frames since each bit of the latch was last driven
    std::array<std::uint8_t, 32> palette;
    std::array<std::uint8_t, 256> oam;
    std::array<std::uint8_t, 2048> name_tables;
    std::array<LoggedAccess, max_logged> log;
    std::array<std::uint8_t, 8192> chr_ram;  ///< unused where the board has CHR ROM; last, so that copies can leave it out

    [[nodiscard]] std::uint32_t frame_dots() const { return line0 + picture_dots; }
};

/// The dot on which a CPU access falls.
constexpr std::uint64_t dot_of(std::uint64_t cycle) { return cycle * 3 + 2; }

/// A view of one chip and its cartridge. Accesses must come in order of time.
class Ppu {
public:
    Ppu(PpuState& state, const Board& board) : s_(state), board_(board) {}

    /// As switched on, at the beginning of a vertical blank whose flag is not set.
    void power_on();
    void reset();

    [[nodiscard]] std::uint8_t read(unsigned number, std::uint64_t cycle);
    /// Inline, for who knows the number beforehand.
    [[gnu::always_inline]] void write(unsigned number, std::uint8_t value, std::uint64_t cycle) {
        catch_up(dot_of(cycle));
        s_.latch = value;
        s_.latch_ages = {};
        switch (number) {
            case 0: write_ctrl(value, cycle); break;
            case 1: write_mask(value); break;
            case 3: s_.oam_address = value; break;
            case 4: write_oam(value); break;
            case 5: write_scroll(value); break;
            case 6: write_address(value); break;
            case 7: write_data(value); break;
            default: break;
        }
    }
    /// Fills OAM from its current address on.
    void write_oam_page(const std::array<std::uint8_t, 256>& page, std::uint64_t cycle);

    /// Does everything up to and including this dot, counted from power-on.
    void catch_up(std::uint64_t dot) {
        const std::uint64_t to = dot - s_.frame_start;
        // Programs do most of their work in vertical blank, in which nothing happens by itself.
        if (to < prerender_dot) s_.position = std::max(s_.position, static_cast<std::uint32_t>(to));
        else catch_up_with_picture(dot);
    }
    /// Only as far as frames and their interrupts go: what lies inside a picture is left for who looks at it.
    void catch_up_with_frame(std::uint64_t dot) {
        const std::uint64_t to = dot - s_.frame_start;
        if (to < prerender_dot || to >= s_.frame_dots()) catch_up(dot);
    }
    /// A dot, counted from power-on, before which $2002 keeps its upper bits and reading it again changes nothing.
    [[nodiscard]] std::uint64_t next_status_change();

    /// The first boundary between instructions at which the frame is over.
    [[nodiscard]] std::uint64_t frame_end_cycle() const { return (s_.frame_start + s_.frame_dots()) / 3 + 1; }

private:
    void catch_up_with_picture(std::uint64_t dot);
    void advance(std::uint32_t to);
    void start_picture();
    void begin_vblank();
    void update_flags(std::uint32_t to);
    void catch_up_with_status(std::uint64_t dot);
    void update_line0();
    void forget_predictions() { s_.sprite0_dot = s_.overflow_dot = 0; }
    [[nodiscard]] std::uint32_t predict_sprite0() const;
    [[nodiscard]] std::uint32_t predict_overflow() const;
    [[nodiscard]] bool is_drawing() const;

    std::uint8_t drive_latch(std::uint8_t value, std::uint8_t driven_bits);
    void age_latch();
    std::uint8_t read_status(std::uint64_t dot);
    std::uint8_t read_data();
    void write_data(std::uint8_t value);
    void write_memory(std::uint16_t address, std::uint8_t value);
    void write_oam(std::uint8_t value);
    void write_ctrl(std::uint8_t value, std::uint64_t cycle);
    void write_mask(std::uint8_t value);
    void write_scroll(std::uint8_t value);
    void write_address(std::uint8_t value);
    void change_register(unsigned number, std::uint8_t value);
    void log(std::uint16_t address, std::uint8_t value, std::uint8_t previous);
    [[nodiscard]] std::uint8_t* cell(std::uint16_t address);

    PpuState& s_;
    const Board& board_;
};

/// Where a palette address lies among the 32 entries: the backgrounds of the sprite palettes are those of the background's.
[[nodiscard]] inline unsigned palette_index(unsigned address) { return (address & 3u) == 0 ? address & 0x0Fu : address & 0x1Fu; }

}  // namespace mario::nes
