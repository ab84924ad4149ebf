#if defined(__x86_64__)

#include <immintrin.h>

#include <cstring>

#include "picture/kernel_bodies.h"

#define MARIO_AVX2 __attribute__((target("avx2")))

namespace mario::picture {
namespace {

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
MARIO_AVX2 inline __m256i load_32(const std::uint8_t* bytes) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes)); }

MARIO_AVX2 void weigh_avx2(std::uint16_t* sums, const std::array<const std::uint8_t*, 4>& lines,
                           const std::array<std::uint8_t, 4>& weights, unsigned count) {
    const __m256i first_two = _mm256_set1_epi16(static_cast<short>(weights[0] | weights[1] << 8));
    const __m256i last_two = _mm256_set1_epi16(static_cast<short>(weights[2] | weights[3] << 8));
    unsigned i = 0;
    for (; i + 32 <= count; i += 32) {
        const __m256i a = load_32(lines[0] + i), b = load_32(lines[1] + i), c = load_32(lines[2] + i), d = load_32(lines[3] + i);
        const __m256i low = _mm256_add_epi16(_mm256_maddubs_epi16(_mm256_unpacklo_epi8(a, b), first_two),
                                             _mm256_maddubs_epi16(_mm256_unpacklo_epi8(c, d), last_two));
        const __m256i high = _mm256_add_epi16(_mm256_maddubs_epi16(_mm256_unpackhi_epi8(a, b), first_two),
                                              _mm256_maddubs_epi16(_mm256_unpackhi_epi8(c, d), last_two));
        // Unpacking keeps to halves of the register: pixels 0-7 and 16-23 are low, 8-15 and 24-31 high.
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(sums + i), _mm256_permute2x128_si256(low, high, 0x20));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(sums + i + 16), _mm256_permute2x128_si256(low, high, 0x31));
    }
    weigh_body(sums, lines, weights, i, count);
}
MARIO_AVX2 void maximum_avx2(std::uint8_t* line, const std::uint8_t* other, unsigned count) { maximum_body(line, other, count); }

/// Four periods side by side: outputs i, i + n, i + 2n and i + 3n take the same shares of inputs that lie equally far apart.
class FourPeriods {
public:
    static bool suits(const AreaEdges& columns, unsigned row_width) {
        // Sums and shares are 16 bits, and float division is exact up to here.
        return columns.has_taps && columns.num_periods() == 4 && columns.num_inputs % 32 == 0 && row_width <= 128 &&
               columns.output_width * row_width <= 4096;
    }

    MARIO_AVX2 static void reduce(const std::uint16_t* sums, const AreaEdges& columns, unsigned row_width, std::uint8_t* out) {
        const unsigned inputs = columns.num_inputs / 4, outputs = columns.num_outputs / 4;
        alignas(16) std::array<std::uint64_t, 64 + 8> across;  // across[i]: input i of each period
        interleave(sums, inputs, across.data());
        const unsigned divisor = columns.output_width * row_width;
        const Divide divide{_mm_set1_ps(static_cast<float>(divisor / 2) + 0.5f), _mm_set1_ps(1.0f / static_cast<float>(divisor))};
        unsigned i = 0;
        const __m128i by_period = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
        for (; i + 4 <= outputs; i += 4) {
            const Taps* const taps = &columns.taps[i];
            const __m128i words = _mm_packs_epi32(output(across.data(), taps[0], divide), output(across.data(), taps[1], divide));
            const __m128i more = _mm_packs_epi32(output(across.data(), taps[2], divide), output(across.data(), taps[3], divide));
            const __m128i bytes = _mm_shuffle_epi8(_mm_packus_epi16(words, more), by_period);
            alignas(16) std::array<std::uint32_t, 4> fours;
            _mm_store_si128(reinterpret_cast<__m128i*>(fours.data()), bytes);
            for (unsigned period = 0; period < 4; ++period) std::memcpy(out + i + period * outputs, &fours[period], 4);
        }
        for (; i < outputs; ++i) {
            alignas(16) std::array<std::uint32_t, 4> one;
            _mm_store_si128(reinterpret_cast<__m128i*>(one.data()), output(across.data(), columns.taps[i], divide));
            for (unsigned period = 0; period < 4; ++period) out[i + period * outputs] = static_cast<std::uint8_t>(one[period]);
        }
    }

private:
    struct Divide {
        __m128 half, reciprocal;
    };

    /// An input and the next one of each period, side by side for the multiply-and-add.
    [[gnu::always_inline]] MARIO_AVX2 static inline __m128i neighbours(const std::uint64_t* across) {
        return _mm_unpacklo_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(across)),
                                  _mm_loadl_epi64(reinterpret_cast<const __m128i*>(across + 1)));
    }

    /// One output of each period.
    [[gnu::always_inline]] MARIO_AVX2 static inline __m128i output(const std::uint64_t* across, const Taps& taps, const Divide& divide) {
        const std::uint64_t* const from = across + taps.first;
        const __m128i area = _mm_add_epi32(_mm_madd_epi16(neighbours(from), _mm_set1_epi32(taps.pairs[0])),
                                           _mm_madd_epi16(neighbours(from + 2), _mm_set1_epi32(taps.pairs[1])));
        return _mm_cvttps_epi32(_mm_mul_ps(_mm_add_ps(_mm_cvtepi32_ps(area), divide.half), divide.reciprocal));
    }

    MARIO_AVX2 static inline __m128i load_8(const std::uint16_t* sums) {
        return _mm_loadu_si128(reinterpret_cast<const __m128i*>(sums));
    }

    MARIO_AVX2 static void interleave(const std::uint16_t* sums, unsigned inputs, std::uint64_t* across) {
        for (unsigned i = 0; i < inputs; i += 8) {
            const __m128i a = load_8(sums + i), b = load_8(sums + inputs + i);
            const __m128i c = load_8(sums + 2 * inputs + i), d = load_8(sums + 3 * inputs + i);
            const __m128i ac_low = _mm_unpacklo_epi16(a, c), ac_high = _mm_unpackhi_epi16(a, c);
            const __m128i bd_low = _mm_unpacklo_epi16(b, d), bd_high = _mm_unpackhi_epi16(b, d);
            __m128i* const to = reinterpret_cast<__m128i*>(across + i);
            _mm_storeu_si128(to, _mm_unpacklo_epi16(ac_low, bd_low));
            _mm_storeu_si128(to + 1, _mm_unpackhi_epi16(ac_low, bd_low));
            _mm_storeu_si128(to + 2, _mm_unpacklo_epi16(ac_high, bd_high));
            _mm_storeu_si128(to + 3, _mm_unpackhi_epi16(ac_high, bd_high));
        }
        std::fill_n(across + inputs, 8, 0);  // taps that take nothing look here
    }
};

MARIO_AVX2 void reduce_avx2(const std::uint16_t* sums, const AreaEdges& columns, unsigned row_width, std::uint8_t* out) {
    if (FourPeriods::suits(columns, row_width)) FourPeriods::reduce(sums, columns, row_width, out);
    else reduce_body(sums, columns, row_width, out);
}

}  // namespace

const Kernels* avx2_kernels() {
    static constexpr Kernels kernels{look_up_avx2,    portable_look_up_rgb, accumulate_avx2, weigh_avx2,
                                     maximum_avx2, reduce_avx2};
    return __builtin_cpu_supports("avx2") ? &kernels : nullptr;
}

}  // namespace mario::picture

#else

#include "picture/kernels.h"

const mario::picture::Kernels* mario::picture::avx2_kernels() { return nullptr; }

#endif
