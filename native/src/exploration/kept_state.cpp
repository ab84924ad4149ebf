#include "exploration/kept_state.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace mario::exploration {
namespace {

constexpr std::size_t prg_ram_at = offsetof(nes::Console, prg_ram), ppu_at = offsetof(nes::Console, ppu),
                      log_at = ppu_at + offsetof(nes::PpuState, log), chr_ram_at = ppu_at + offsetof(nes::PpuState, chr_ram);
constexpr std::size_t prg_ram_bytes = sizeof(nes::Console::prg_ram), chr_ram_bytes = sizeof(nes::PpuState::chr_ram);
static_assert(prg_ram_at + prg_ram_bytes == ppu_at, "nothing lies between the cartridge's RAM and the PPU");
static_assert(chr_ram_at + chr_ram_bytes == sizeof(nes::Console), "nothing lies behind the cartridge's CHR RAM");

std::size_t log_bytes(const nes::Console& console) {
    return std::min(console.ppu.num_logged, nes::max_logged) * sizeof(nes::LoggedAccess);
}

}  // namespace

void KeptState::keep(const nes::Console& console, const nes::Console& start) {
    has_prg_ram_ = console.prg_ram != start.prg_ram;
    has_chr_ram_ = console.ppu.chr_ram != start.ppu.chr_ram;
    const std::size_t ppu_bytes = log_at - ppu_at + log_bytes(console);
    bytes_.resize(prg_ram_at + ppu_bytes + has_prg_ram_ * prg_ram_bytes + has_chr_ram_ * chr_ram_bytes);
    const auto* const from = reinterpret_cast<const std::uint8_t*>(&console);
    std::uint8_t* to = std::copy_n(from, prg_ram_at, bytes_.data());
    to = std::copy_n(from + ppu_at, ppu_bytes, to);
    if (has_prg_ram_) to = std::copy_n(console.prg_ram.data(), prg_ram_bytes, to);
    if (has_chr_ram_) std::copy_n(console.ppu.chr_ram.data(), chr_ram_bytes, to);
}

void KeptState::restore(nes::Console& console, const nes::Console& start) const noexcept {
    auto* const to = reinterpret_cast<std::uint8_t*>(&console);
    const std::uint8_t* from = bytes_.data();
    std::memcpy(to, from, prg_ram_at);
    std::memcpy(to + ppu_at, from + prg_ram_at, log_at - ppu_at);  // the length of the log is in it
    from += prg_ram_at + (log_at - ppu_at);
    std::memcpy(to + log_at, from, log_bytes(console));
    from += log_bytes(console);
    std::memcpy(console.prg_ram.data(), has_prg_ram_ ? from : start.prg_ram.data(), prg_ram_bytes);
    if (has_prg_ram_) from += prg_ram_bytes;
    std::memcpy(console.ppu.chr_ram.data(), has_chr_ram_ ? from : start.ppu.chr_ram.data(), chr_ram_bytes);
}

}  // namespace mario::exploration
