#include "picture/kernels.h"

#include <algorithm>
#include <array>

#if defined(__x86_64__)
#include <immintrin.h>
#define MARIO_AVX2 __attribute__((target("avx2")))
#endif

namespace mario::picture {
namespace {

// Bodies, inlined into a function per extension so that the compiler makes vectors as wide as that one has.

[[gnu::always_inline]] inline void look_up_body(const std::uint8_t* pixels, const std::uint8_t* table, std::uint8_t* out, unsigned count) {
    for (unsigned i = 0; i < count; ++i) out[i] = table[pixels[i] & 31u];
}

[[gnu::always_inline]] inline void accumulate_body(std::uint16_t* __restrict sums, const std::uint8_t* __restrict line, unsigned weight,
                                                   unsigned count) {
    for (unsigned i = 0; i < count; ++i) sums[i] = static_cast<std::uint16_t>(sums[i] + weight * line[i]);
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

void look_up_portable(const std::uint8_t* pixels, const std::uint8_t* table, std::uint8_t* out, unsigned count) {
    look_up_body(pixels, table, out, count);
}
void accumulate_portable(std::uint16_t* sums, const std::uint8_t* line, unsigned weight, unsigned count) {
    accumulate_body(sums, line, weight, count);
}
void maximum_portable(std::uint8_t* line, const std::uint8_t* other, unsigned count) { maximum_body(line, other, count); }
void reduce_portable(const std::uint16_t* sums, const AreaEdges& columns, unsigned row_width, std::uint8_t* out) {
    reduce_body(sums, columns, row_width, out);
}

#if defined(__x86_64__)

MARIO_AVX2 void look_up_avx2(const std::uint8_t* pixels, const std::uint8_t* table, std::uint8_t* out, unsigned count) {
    const __m256i low = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table)));
    const __m256i high = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table + 16)));
    unsigned i = 0;
    for (; i + 32 <= count; i += 32) {
        const __m256i at = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(pixels + i));
        // Bit 4 moved to bit 7 chooses between the halves.
        const __m256i choice = _mm256_slli_epi16(at, 3);
        const __m256i value = _mm256_blendv_epi8(_mm256_shuffle_epi8(low, at), _mm256_shuffle_epi8(high, at), choice);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), value);
    }
    look_up_body(pixels + i, table, out + i, count - i);
}
MARIO_AVX2 void accumulate_avx2(std::uint16_t* sums, const std::uint8_t* line, unsigned weight, unsigned count) {
    accumulate_body(sums, line, weight, count);
}
MARIO_AVX2 void maximum_avx2(std::uint8_t* line, const std::uint8_t* other, unsigned count) { maximum_body(line, other, count); }
MARIO_AVX2 void reduce_avx2(const std::uint16_t* sums, const AreaEdges& columns, unsigned row_width, std::uint8_t* out) {
    reduce_body(sums, columns, row_width, out);
}

#endif

}  // namespace

const Kernels& portable_kernels() {
    static constexpr Kernels kernels{look_up_portable, accumulate_portable, maximum_portable, reduce_portable};
    return kernels;
}

const Kernels& best_kernels() {
#if defined(__x86_64__)
    static constexpr Kernels avx2{look_up_avx2, accumulate_avx2, maximum_avx2, reduce_avx2};
    if (__builtin_cpu_supports("avx2")) return avx2;
#endif
    return portable_kernels();
}

}  // namespace mario::picture
