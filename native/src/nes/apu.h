// The sound chip as far as programs can see it: length counters, the frame counter and its interrupt, and how long a DMC sample
// still plays. Nothing is heard.
//
// Kept simple on purpose: the DMC takes its first byte three cycles after it is enabled and one more every eight of its periods,
// each for four cycles of the CPU; on the machine the first waits up to one period longer.
#pragma once

#include <array>
#include <cstdint>

namespace mario::nes {

inline constexpr std::uint64_t never = ~std::uint64_t{0};
/// The frame counter's first step after its beginning; one that a program asks for, step 0, comes at once.
inline constexpr std::uint32_t first_step_cycle = 14913;

struct ApuState {
    std::uint64_t sequence_start;  ///< the CPU cycle from which the frame counter's steps are counted
    std::uint64_t irq_cycle;       ///< since when the IRQ line is held; never when it is not
    std::uint64_t dmc_cycle;       ///< when the DMC takes its next byte; never when it is silent
    std::uint16_t dmc_remaining;   ///< bytes of the sample
    std::uint8_t step;             ///< of the frame counter, the next one to come
    std::uint8_t is_five_step;
    std::uint8_t inhibits_irq;
    std::uint8_t has_frame_irq;
    std::uint8_t has_dmc_irq;
    std::uint8_t enabled;                     ///< $4015 as written
    std::array<std::uint8_t, 4> length;       ///< pulse 1, pulse 2, triangle, noise
    std::array<std::uint8_t, 4> halts_length;
    std::array<std::uint8_t, 4> dmc;          ///< $4010-$4013 as written
    std::array<std::uint8_t, 4> unused;

    /// As switched on, in the given cycle.
    void power_on(std::uint64_t cycle);
    /// The reset button silences everything; the frame counter starts again in the same mode.
    void reset(std::uint64_t cycle);

    /// Registers $4000-$4013, $4015 and $4017.
    void write(std::uint16_t address, std::uint8_t value, std::uint64_t cycle);
    /// $4015; takes back the frame interrupt.
    [[nodiscard]] std::uint8_t read_status(std::uint64_t cycle);

    /// Does everything due up to and including the given cycle.
    void catch_up(std::uint64_t cycle) {
        if (cycle >= sequence_start + first_step_cycle || step == 0) take_steps(cycle);
    }
    /// When the IRQ line will be held at the earliest, or is held since.
    [[nodiscard]] std::uint64_t next_irq() const;
    /// The DMC takes a byte.
    void fetch_sample();

private:
    void take_steps(std::uint64_t cycle);
    void reset_frame_counter(std::uint8_t value, std::uint64_t cycle);
    void clock_lengths();
    void enable(std::uint8_t channels, std::uint64_t cycle);
    void update_irq(std::uint64_t cycle);
    [[nodiscard]] std::uint64_t next_step_cycle() const;
    [[nodiscard]] std::uint64_t dmc_byte_cycles() const;
};

}  // namespace mario::nes
