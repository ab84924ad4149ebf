// Random numbers without a state: each is a function of who asks, when, and what for.
#pragma once

#include <array>
#include <cstdint>

namespace mario::envs {

using Block = std::array<std::uint32_t, 4>;

/// Philox4x32-10 (Salmon et al. 2011): equal keys and counters give equal blocks, all others unrelated ones.
constexpr Block philox(std::uint64_t key, Block counter) noexcept {
    std::uint32_t low = static_cast<std::uint32_t>(key), high = static_cast<std::uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t one = std::uint64_t{0xD2511F53} * counter[0], other = std::uint64_t{0xCD9E8D57} * counter[2];
        counter = {static_cast<std::uint32_t>(other >> 32) ^ counter[1] ^ low, static_cast<std::uint32_t>(other),
                   static_cast<std::uint32_t>(one >> 32) ^ counter[3] ^ high, static_cast<std::uint32_t>(one)};
        low += 0x9E3779B9;
        high += 0xBB67AE85;
    }
    return counter;
}

/// What a number is drawn for; a purpose never sees the numbers of another.
enum class Purpose : std::uint32_t { start = 0, idle_frames = 1, sticky = 2, shift = 3, brightness = 4, noise = 5 };

/// An environment's numbers at one step of one of its episodes.
struct Draw {
    std::uint64_t seed;
    std::uint32_t episode, step;

    [[nodiscard]] constexpr Block block(Purpose purpose, std::uint32_t number = 0) const noexcept {
        return philox(seed, {episode, step, static_cast<std::uint32_t>(purpose), number});
    }
    /// In [0, 1), with 53 bits.
    [[nodiscard]] constexpr double uniform(Purpose purpose) const noexcept {
        const Block bits = block(purpose);
        return static_cast<double>((std::uint64_t{bits[0]} << 21) ^ (bits[1] >> 11)) * 0x1p-53;
    }
    /// In [0, limit); limit is small, so that the bias of a multiplication (limit / 2^32) does not matter.
    [[nodiscard]] constexpr std::uint32_t below(Purpose purpose, std::uint32_t limit, std::size_t word = 0) const noexcept {
        return static_cast<std::uint32_t>((std::uint64_t{block(purpose)[word]} * limit) >> 32);
    }
};

}  // namespace mario::envs
