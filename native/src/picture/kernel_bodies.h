// The plain loops, inlined into a function per extension so that the compiler makes vectors as wide as that one has.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "picture/kernels.h"

namespace mario::picture {

[[gnu::always_inline]] inline void look_up_body(const std::uint8_t* pixels, const std::uint8_t* table, std::uint8_t* out, unsigned count) {
    for (unsigned i = 0; i < count; ++i) out[i] = table[pixels[i] & 31u];
}

[[gnu::always_inline]] inline void accumulate_body(std::uint16_t* __restrict sums, const std::uint8_t* __restrict line, unsigned weight,
                                                   unsigned count) {
    for (unsigned i = 0; i < count; ++i) sums[i] = static_cast<std::uint16_t>(sums[i] + weight * line[i]);
}

[[gnu::always_inline]] inline void weigh_body(std::uint16_t* __restrict sums, const std::array<const std::uint8_t*, 4>& lines,
                                              const std::array<std::uint8_t, 4>& weights, unsigned first, unsigned count) {
    for (unsigned i = first; i < count; ++i) {
        unsigned sum = 0;
        for (unsigned line = 0; line < 4; ++line) sum += weights[line] * lines[line][i];
        sums[i] = static_cast<std::uint16_t>(sum);
    }
}

[[gnu::always_inline]] inline void maximum_body(std::uint8_t* __restrict line, const std::uint8_t* __restrict other, unsigned count) {
    for (unsigned i = 0; i < count; ++i) line[i] = std::max(line[i], other[i]);
}

/// Division by a number known per call: exact for sums up to 255 * divisor with divisors up to 61,440.
struct Divider {
    std::uint64_t reciprocal;
    unsigned half;
    explicit Divider(unsigned divisor) : reciprocal(((std::uint64_t{1} << 44u) + divisor - 1) / divisor), half(divisor / 2) {}
    [[gnu::always_inline]] std::uint8_t rounded(std::uint32_t sum) const {
        return static_cast<std::uint8_t>((sum + half) * reciprocal >> 44u);
    }
};

/// The area left of each edge, from running totals: no loop per output, and nothing overflows (255 * 240 * 256 * 255 < 2^32).
[[gnu::always_inline]] inline void reduce_body(const std::uint16_t* sums, const AreaEdges& columns, unsigned row_width, std::uint8_t* out) {
    std::array<std::uint32_t, AreaEdges::max_outputs + 1> total_before;
    std::uint32_t total = 0;
    for (unsigned i = 0; i < columns.num_inputs; ++i) total_before[i] = total, total += sums[i];
    total_before[columns.num_inputs] = total;
    const Divider divider(columns.output_width * row_width);
    std::uint32_t left = 0;
    for (unsigned i = 1; i <= columns.num_outputs; ++i) {
        // Behind the last input nothing is taken: the last edge lies 0 units inside it.
        const unsigned at = columns.at[i];
        const std::uint32_t right = total_before[at] * columns.input_width + (columns.into[i] ? sums[at] * std::uint32_t{columns.into[i]} : 0);
        out[i - 1] = divider.rounded(right - left);
        left = right;
    }
}

}  // namespace mario::picture
