#include "picture/kernels.h"

#include <algorithm>

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

[[gnu::always_inline]] inline void reduce_body(const std::uint16_t* sums, const AreaWeights& w, unsigned row_total, std::uint8_t* out) {
    const Divider divider(w.total * row_total);
    for (unsigned i = 0; i < w.num_outputs; ++i) {
        const std::uint16_t* const taps = sums + w.first[i];
        const unsigned last = w.last[i] - unsigned{w.first[i]};
        std::uint32_t inner = 0;
        for (unsigned tap = 1; tap < last; ++tap) inner += taps[tap];
        out[i] = divider.rounded(taps[0] * std::uint32_t{w.first_weight[i]} + inner * w.inner_weight +
                                 taps[last] * std::uint32_t{w.last_weight[i]});
    }
}

void look_up_portable(const std::uint8_t* pixels, const std::uint8_t* table, std::uint8_t* out, unsigned count) {
    look_up_body(pixels, table, out, count);
}
void accumulate_portable(std::uint16_t* sums, const std::uint8_t* line, unsigned weight, unsigned count) {
    accumulate_body(sums, line, weight, count);
}
void maximum_portable(std::uint8_t* line, const std::uint8_t* other, unsigned count) { maximum_body(line, other, count); }
void reduce_portable(const std::uint16_t* sums, const AreaWeights& weights, unsigned row_total, std::uint8_t* out) {
    reduce_body(sums, weights, row_total, out);
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
MARIO_AVX2 void reduce_avx2(const std::uint16_t* sums, const AreaWeights& weights, unsigned row_total, std::uint8_t* out) {
    reduce_body(sums, weights, row_total, out);
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
