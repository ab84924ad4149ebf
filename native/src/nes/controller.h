// The two controller ports at $4016 and $4017: shift registers that a program strobes and reads bit by bit.
#pragma once

#include <array>
#include <cstdint>

namespace mario::nes {

/// One bit per button, in the order in which the controller shifts them out.
using Buttons = std::uint8_t;
inline constexpr Buttons button_a = 0x01, button_b = 0x02, button_select = 0x04, button_start = 0x08, button_up = 0x10,
                         button_down = 0x20, button_left = 0x40, button_right = 0x80;

struct ControllerState {
    std::array<Buttons, 2> held;        ///< what the player holds down during this frame; the second player never plays
    std::array<std::uint8_t, 2> shift;  ///< what is still to be read
    std::uint8_t is_strobed;
    std::uint8_t was_read;  ///< a program asked during this frame; a frame without is a lag frame

    void write_strobe(std::uint8_t value) {
        if ((is_strobed | value) & 1) shift = held;
        is_strobed = value & 1;
    }

    /// The bit in D0; the caller adds what floats on the other lines.
    std::uint8_t read(unsigned port) {
        was_read = 1;
        if (is_strobed) return held[port] & 1;
        const std::uint8_t bit = shift[port] & 1;
        shift[port] = static_cast<std::uint8_t>((shift[port] >> 1) | 0x80);
        return bit;
    }
};

}  // namespace mario::nes
