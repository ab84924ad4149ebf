// FNV-1a over 64-bit words, in four lanes that a CPU works on at once: finds damage and mix-ups, not forgery.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace mario::nes {

inline constexpr std::uint64_t checksum_seed = 0xCBF29CE484222325u;

/// Every change of a single word changes the result: each step is a bijection of the words before it.
[[nodiscard]] inline std::uint64_t checksum(std::span<const std::uint8_t> bytes, std::uint64_t value = checksum_seed) {
    constexpr std::uint64_t prime = 0x100000001B3u;
    std::array<std::uint64_t, 4> lanes{value, value + 1, value + 2, value + 3};
    std::size_t at = 0;
    for (; at + sizeof lanes <= bytes.size(); at += sizeof lanes) {
        std::array<std::uint64_t, 4> words;
        std::memcpy(words.data(), bytes.data() + at, sizeof words);
        for (std::size_t lane = 0; lane < lanes.size(); ++lane) lanes[lane] = (lanes[lane] ^ words[lane]) * prime;
    }
    for (const std::uint64_t lane : lanes) value = (value ^ lane) * prime;
    for (; at < bytes.size(); ++at) value = (value ^ bytes[at]) * prime;
    return value;
}

}  // namespace mario::nes
