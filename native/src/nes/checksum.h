// FNV-1a over 64 bits: finds damage and mix-ups, not forgery.
#pragma once

#include <cstdint>
#include <span>

namespace mario::nes {

inline constexpr std::uint64_t checksum_seed = 0xCBF29CE484222325u;

[[nodiscard]] constexpr std::uint64_t checksum(std::span<const std::uint8_t> bytes, std::uint64_t value = checksum_seed) {
    for (const std::uint8_t byte : bytes) value = (value ^ byte) * 0x100000001B3u;
    return value;
}

}  // namespace mario::nes
