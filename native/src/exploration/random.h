// Numbers that look random and are the same again for the same seed, on every machine.
#pragma once

#include <cstdint>

namespace mario::exploration {

/// SplitMix64 (Steele, Lea, Flood 2014). Streams of one seed are far apart: each begins at a hash of seed and stream.
class Random {
public:
    Random(std::uint64_t seed, std::uint64_t stream) noexcept : state_(mix(mix(seed) + stream)) {}

    std::uint64_t next() noexcept { return mix(state_ += 0x9E3779B97F4A7C15u); }

    /// Below a limit of at most 2^32; the bias is below limit / 2^32.
    std::uint32_t below(std::uint32_t limit) noexcept { return static_cast<std::uint32_t>((next() >> 32u) * limit >> 32u); }

private:
    static std::uint64_t mix(std::uint64_t value) noexcept {
        value = (value ^ value >> 30u) * 0xBF58476D1CE4E5B9u;
        value = (value ^ value >> 27u) * 0x94D049BB133111EBu;
        return value ^ value >> 31u;
    }

    std::uint64_t state_;
};

}  // namespace mario::exploration
