#include "nes/apu.h"

namespace mario::nes {
namespace {

constexpr std::array<std::uint8_t, 32> length_table{10, 254, 20, 2,  40, 4,  80, 6,  160, 8,  60, 10, 14, 12, 26, 14,
                                                    12, 16,  24, 18, 48, 20, 96, 22, 192, 24, 72, 26, 16, 28, 32, 30};

constexpr std::array<std::uint16_t, 16> dmc_periods{428, 380, 340, 320, 286, 254, 226, 214,
                                                    190, 160, 142, 128, 106, 84,  72,  54};

/// What the frame counter does so many CPU cycles after it began. Steps that move envelopes alone are left out.
struct FrameStep {
    std::uint32_t cycle;
    bool clocks_lengths, raises_irq;
};
// The first step happens only where a write to $4017 asks for it, in the five-step mode.
constexpr std::array<FrameStep, 5> four_steps{
    {{0, false, false}, {first_step_cycle, true, false}, {29828, false, true}, {29829, true, true}, {29830, false, true}}};
constexpr std::array<FrameStep, 4> five_steps{
    {{0, true, false}, {first_step_cycle, true, false}, {37281, true, false}, {37282, false, false}}};

const FrameStep& step_of(bool is_five_step, std::uint8_t step) { return is_five_step ? five_steps[step & 3u] : four_steps[step % 5u]; }
unsigned last_step(bool is_five_step) { return is_five_step ? five_steps.size() - 1 : four_steps.size() - 1; }

}  // namespace

void ApuState::power_on(std::uint64_t cycle) {
    *this = ApuState{};
    irq_cycle = dmc_cycle = never;
    sequence_start = cycle;
    step = 1;
}

void ApuState::reset(std::uint64_t cycle) {
    catch_up(cycle);
    enable(0, cycle);
    has_frame_irq = 0;
    reset_frame_counter(static_cast<std::uint8_t>((is_five_step << 7) | (inhibits_irq << 6)), cycle);
}

void ApuState::write(std::uint16_t address, std::uint8_t value, std::uint64_t cycle) {
    catch_up(cycle);
    if (address < 0x4010) {
        const unsigned channel = (address >> 2u) & 3u;
        if ((address & 3u) == 0) halts_length[channel] = (value & (channel == 2 ? 0x80 : 0x20)) != 0;
        if ((address & 3u) == 3 && (enabled >> channel & 1)) length[channel] = length_table[value >> 3u];
    } else if (address < 0x4014) {
        dmc[address & 3u] = value;
        if (address == 0x4010 && !(value & 0x80)) has_dmc_irq = 0;
    } else if (address == 0x4015) {
        enable(value, cycle);
    } else if (address == 0x4017) {
        reset_frame_counter(value, cycle);
    }
    update_irq(cycle);
}

std::uint8_t ApuState::read_status(std::uint64_t cycle) {
    catch_up(cycle);
    unsigned status = (dmc_remaining > 0) << 4 | has_frame_irq << 6 | has_dmc_irq << 7;
    for (unsigned channel = 0; channel < 4; ++channel) status |= static_cast<unsigned>(length[channel] > 0) << channel;
    has_frame_irq = 0;
    update_irq(cycle);
    return static_cast<std::uint8_t>(status);
}

void ApuState::take_steps(std::uint64_t cycle) {
    while (next_step_cycle() <= cycle) {
        const FrameStep& due = step_of(is_five_step, step);
        const std::uint64_t due_cycle = sequence_start + due.cycle;
        if (due.clocks_lengths) clock_lengths();
        if (due.raises_irq && !inhibits_irq) has_frame_irq = 1, update_irq(due_cycle);
        if (step == last_step(is_five_step)) sequence_start = due_cycle, step = 1;
        else ++step;
    }
}

std::uint64_t ApuState::next_irq() const {
    if (irq_cycle != never) return irq_cycle;
    if (is_five_step || inhibits_irq) return never;
    // Any step may come first; its cycle is early enough to look again.
    return next_step_cycle();
}

void ApuState::fetch_sample() {
    const std::uint64_t now = dmc_cycle;
    if (dmc_remaining > 0) --dmc_remaining;
    dmc_cycle = now + dmc_byte_cycles();
    if (dmc_remaining > 0) return;
    if (dmc[0] & 0x40) {
        dmc_remaining = static_cast<std::uint16_t>(dmc[3] * 16 + 1);
        return;
    }
    dmc_cycle = never;
    if (dmc[0] & 0x80) has_dmc_irq = 1, update_irq(now);
}

void ApuState::reset_frame_counter(std::uint8_t value, std::uint64_t cycle) {
    is_five_step = value >> 7;
    inhibits_irq = (value >> 6) & 1;
    if (inhibits_irq) has_frame_irq = 0;
    sequence_start = cycle + 3 + (cycle & 1);
    step = is_five_step ? 0 : 1;
}

void ApuState::clock_lengths() {
    for (unsigned channel = 0; channel < 4; ++channel) {
        if (length[channel] > 0 && !halts_length[channel]) --length[channel];
    }
}

void ApuState::enable(std::uint8_t channels, std::uint64_t cycle) {
    enabled = channels & 0x1F;
    for (unsigned channel = 0; channel < 4; ++channel) {
        if (!(enabled >> channel & 1)) length[channel] = 0;
    }
    has_dmc_irq = 0;
    if (!(enabled & 0x10)) {
        dmc_remaining = 0, dmc_cycle = never;
    } else if (dmc_remaining == 0) {
        dmc_remaining = static_cast<std::uint16_t>(dmc[3] * 16 + 1);
        dmc_cycle = cycle + 3;
    }
}

void ApuState::update_irq(std::uint64_t cycle) {
    if (!has_frame_irq && !has_dmc_irq) irq_cycle = never;
    else if (irq_cycle == never) irq_cycle = cycle;
}

std::uint64_t ApuState::next_step_cycle() const { return sequence_start + step_of(is_five_step, step).cycle; }

std::uint64_t ApuState::dmc_byte_cycles() const { return 8u * dmc_periods[dmc[0] & 15u]; }

}  // namespace mario::nes
