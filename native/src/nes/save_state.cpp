#include "nes/save_state.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <string>

#include "nes/checksum.h"

namespace mario::nes {
namespace {

static_assert(std::endian::native == std::endian::little, "a save-state is the struct's own bytes, little-endian");

struct Header {
    std::array<char, 8> magic;
    std::uint32_t version;
    std::uint32_t payload_bytes;
    std::uint64_t board_hash;
    std::uint64_t checksum;
};
static_assert(sizeof(Header) == save_state_header_bytes);

constexpr std::array<char, 8> magic{'M', 'A', 'R', 'I', 'O', 'N', 'E', 'S'};

void expect(bool holds, const std::string& complaint) {
    if (!holds) throw SaveStateError(complaint);
}

bool is_flag(std::uint8_t value) { return value <= 1; }

bool is_possible(const PpuRegisters& r) { return r.v <= 0x7FFF && r.t <= 0x7FFF && r.fine_x <= 7 && is_flag(r.is_second); }

bool is_possible_line0(std::uint32_t dot) { return dot == line0_dot || dot == line0_dot - 1; }

bool is_possible(const LoggedAccess& access) {
    return access.dot >= prerender_dot && access.dot < full_frame_dots &&
           (access.address < 0x4000 || (access.address & ~7u) == register_access);
}

/// A console stands at the end of a frame, a few instructions and at most one DMA into vertical blank, or behind some resets.
bool is_possible(const PpuState& ppu, std::uint64_t cycle) {
    const std::uint64_t now = cycle * 3 - 1;
    const auto log_end = ppu.log.begin() + std::min(ppu.num_logged, max_logged);
    return ppu.frame_start <= now && now - ppu.frame_start < full_frame_dots && ppu.position <= now - ppu.frame_start &&
           ppu.position < prerender_dot && is_possible_line0(ppu.line0) && is_possible_line0(ppu.drawn_line0) &&
           ppu.sprite0_dot == 0 && ppu.overflow_dot == 0 && ppu.num_logged <= max_logged && is_possible(ppu.registers) &&
           is_possible(ppu.first_registers) && (ppu.status & 0x1F) == 0 && is_flag(ppu.is_odd_frame) &&
           is_flag(ppu.has_rendered) && ppu.has_frame_ended == 0 && is_flag(ppu.suppresses_vblank) &&
           (ppu.nmi_cycle == never || ppu.nmi_cycle <= cycle) &&
           std::all_of(ppu.latch_ages.begin(), ppu.latch_ages.end(), [](auto age) { return age <= latch_frames; }) &&
           std::all_of(ppu.palette.begin(), ppu.palette.end(), [](auto colour) { return colour <= 0x3F; }) &&
           std::all_of(ppu.log.begin(), log_end, [](const auto& access) { return is_possible(access); });
}

bool is_possible(const ApuState& apu, std::uint64_t cycle) {
    constexpr std::uint64_t longest_sequence = 37282, longest_sample_byte = 8 * 428;
    const auto all_flags = [](const auto& values) { return std::all_of(values.begin(), values.end(), is_flag); };
    return apu.sequence_start + longest_sequence >= cycle && apu.sequence_start <= cycle + 4 &&
           (apu.irq_cycle == never || apu.irq_cycle <= cycle) &&
           (apu.dmc_cycle == never ||
            (apu.dmc_cycle + longest_sample_byte >= cycle && apu.dmc_cycle <= cycle + longest_sample_byte)) &&
           apu.dmc_remaining <= 255 * 16 + 1 && apu.step <= (apu.is_five_step ? 3 : 4) && is_flag(apu.is_five_step) &&
           is_flag(apu.inhibits_irq) && is_flag(apu.has_frame_irq) && is_flag(apu.has_dmc_irq) && apu.enabled <= 0x1F &&
           all_flags(apu.halts_length);
}

bool is_possible(const CpuState& cpu) {
    return is_flag(cpu.is_jammed) && (is_flag(cpu.sampled_early) || cpu.sampled_early == brk_sampled_early) && (cpu.p & (flag_unused | flag_break)) == flag_unused &&
           (cpu.sampled_flag == no_sampled_flag || cpu.sampled_flag == 0 || cpu.sampled_flag == flag_interrupt);
}

bool is_possible(const Console& console) {
    constexpr std::uint64_t longest_life = std::uint64_t{1} << 60;  // 20,000 years; three times it still fits
    return console.cycle > 0 && console.cycle < longest_life && is_possible(console.cpu) &&
           is_flag(console.controller.is_strobed) && is_flag(console.controller.was_read) && console.dma_stall <= 514 &&
           is_possible(console.apu, console.cycle) && is_possible(console.ppu, console.cycle);
}

Header make_header(const Board& board, std::span<const std::uint8_t> payload) {
    return Header{.magic = magic,
                  .version = save_state_version,
                  .payload_bytes = static_cast<std::uint32_t>(payload.size()),
                  .board_hash = board.hash,
                  .checksum = checksum(payload)};
}

}  // namespace

void write_save_state(const Console& console, const Board& board, std::span<std::uint8_t, save_state_bytes> out) noexcept {
    std::uint8_t* const payload = out.data() + save_state_header_bytes;
    std::memcpy(payload, &console, sizeof console);
    constexpr std::size_t log_at = offsetof(Console, ppu) + offsetof(PpuState, log);
    const std::uint32_t used = std::min(console.ppu.num_logged, max_logged);
    std::memset(payload + log_at + used * sizeof(LoggedAccess), 0, (max_logged - used) * sizeof(LoggedAccess));
    seal_save_state(board, out);
}

void seal_save_state(const Board& board, std::span<std::uint8_t, save_state_bytes> bytes) noexcept {
    const Header header = make_header(board, bytes.subspan(save_state_header_bytes));
    std::memcpy(bytes.data(), &header, sizeof header);
}

void read_save_state(Console& console, const Board& board, std::span<const std::uint8_t> bytes) {
    expect(bytes.size() >= save_state_header_bytes,
           "a save-state has at least " + std::to_string(save_state_header_bytes) + " bytes, this has " + std::to_string(bytes.size()));
    Header header;
    std::memcpy(&header, bytes.data(), sizeof header);
    expect(header.magic == magic, "this is not a save-state of this console: it does not begin with MARIONES");
    expect(header.version == save_state_version, "the save-state has version " + std::to_string(header.version) +
                                                     ", this console reads version " + std::to_string(save_state_version));
    const auto payload = bytes.subspan(save_state_header_bytes);
    expect(payload.size() == sizeof(Console) && header.payload_bytes == sizeof(Console),
           "a save-state has " + std::to_string(save_state_bytes) + " bytes, this has " + std::to_string(bytes.size()));
    expect(header.board_hash == board.hash, "the save-state was made with another cartridge");
    expect(header.checksum == checksum(payload), "the save-state is damaged: its checksum does not fit");

    Console read;
    std::memcpy(static_cast<void*>(&read), payload.data(), sizeof read);
    expect(is_possible(read), "the save-state holds values that no console can have");
    console = read;
}

}  // namespace mario::nes
