#if defined(__x86_64__)

#include <immintrin.h>

#include "picture/kernel_bodies.h"

// GCC's own header makes undefined registers from uninitialised variables (bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#define MARIO_AVX512 __attribute__((target("avx512f,avx512bw,avx512vbmi")))

namespace mario::picture {
namespace {

MARIO_AVX512 inline __mmask64 first_lanes(unsigned count) { return count >= 64 ? ~__mmask64{0} : (__mmask64{1} << count) - 1; }

MARIO_AVX512 void look_up_avx512(const std::uint8_t* pixels, const std::uint8_t* table, std::uint8_t* out, unsigned count) {
    // Twice the same 32 entries: the instruction looks at six bits of an index.
    const __m512i entries = _mm512_broadcast_i64x4(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(table)));
    for (unsigned i = 0; i < count; i += 64) {
        const __mmask64 lanes = first_lanes(count - i);
        _mm512_mask_storeu_epi8(out + i, lanes, _mm512_permutexvar_epi8(_mm512_maskz_loadu_epi8(lanes, pixels + i), entries));
    }
}

/// Where byte `at` of 64 interleaved pixels comes from: channel 0 and 1 of one pair of registers, channel 2 of another.
struct Interleaving {
    alignas(64) std::array<std::array<std::uint8_t, 64>, 3> first_two, third;
    std::array<std::uint64_t, 3> is_third;
};
constexpr Interleaving interleaving = [] {
    Interleaving all{};
    for (unsigned at = 0; at < 192; ++at) {
        const auto pixel = static_cast<std::uint8_t>(at / 3);
        all.first_two[at / 64][at % 64] = static_cast<std::uint8_t>(pixel + (at % 3 == 1 ? 64 : 0));
        all.third[at / 64][at % 64] = pixel;
        all.is_third[at / 64] |= std::uint64_t{at % 3 == 2} << at % 64;
    }
    return all;
}();

MARIO_AVX512 void look_up_rgb_avx512(const std::uint8_t* pixels, const RgbTable& table, std::uint8_t* out, unsigned count) {
    const auto entries = [&](unsigned channel) MARIO_AVX512 {
        return _mm512_broadcast_i64x4(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(table.of_channels[channel].data())));
    };
    const __m512i reds = entries(0), greens = entries(1), blues = entries(2);
    unsigned i = 0;
    for (; i + 64 <= count; i += 64) {
        const __m512i at = _mm512_loadu_si512(pixels + i);
        const __m512i red = _mm512_permutexvar_epi8(at, reds), green = _mm512_permutexvar_epi8(at, greens);
        const __m512i blue = _mm512_permutexvar_epi8(at, blues);
        for (unsigned part = 0; part < 3; ++part) {
            const __m512i two = _mm512_permutex2var_epi8(red, _mm512_load_si512(interleaving.first_two[part].data()), green);
            const __m512i three = _mm512_mask_permutexvar_epi8(two, interleaving.is_third[part],
                                                               _mm512_load_si512(interleaving.third[part].data()), blue);
            _mm512_storeu_si512(out + 3 * i + 64 * part, three);
        }
    }
    if (i < count) portable_look_up_rgb(pixels + i, table, out + 3 * i, count - i);
}

MARIO_AVX512 void weigh_avx512(std::uint16_t* sums, const std::array<const std::uint8_t*, 4>& lines,
                               const std::array<std::uint8_t, 4>& weights, unsigned count) {
    const __m512i first_two = _mm512_set1_epi16(static_cast<short>(weights[0] | weights[1] << 8));
    const __m512i last_two = _mm512_set1_epi16(static_cast<short>(weights[2] | weights[3] << 8));
    // Unpacking keeps to quarters of the register, so the sums come out in another order.
    const __m512i low_order = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11), high_order = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    for (unsigned i = 0; i < count; i += 64) {
        const __mmask64 lanes = first_lanes(count - i);
        const auto load = [&](unsigned line) MARIO_AVX512 { return _mm512_maskz_loadu_epi8(lanes, lines[line] + i); };
        const __m512i a = load(0), b = load(1), c = load(2), d = load(3);
        const __m512i low = _mm512_add_epi16(_mm512_maddubs_epi16(_mm512_unpacklo_epi8(a, b), first_two),
                                             _mm512_maddubs_epi16(_mm512_unpacklo_epi8(c, d), last_two));
        const __m512i high = _mm512_add_epi16(_mm512_maddubs_epi16(_mm512_unpackhi_epi8(a, b), first_two),
                                              _mm512_maddubs_epi16(_mm512_unpackhi_epi8(c, d), last_two));
        _mm512_mask_storeu_epi16(sums + i, static_cast<__mmask32>(lanes), _mm512_permutex2var_epi64(low, low_order, high));
        _mm512_mask_storeu_epi16(sums + i + 32, static_cast<__mmask32>(lanes >> 32), _mm512_permutex2var_epi64(low, high_order, high));
    }
}

/// Sixteen outputs at a time: what they take lies within 64 neighbouring sums.
MARIO_AVX512 void reduce_avx512(const std::uint16_t* sums, const AreaEdges& columns, unsigned row_width, std::uint8_t* out) {
    const unsigned divisor = columns.output_width * row_width;
    // Sums and shares are 16 bits, and float division is exact up to here.
    if (!columns.has_sixteens || row_width > 128 || divisor > 4096) return reduce_body(sums, columns, row_width, out);
    const __m512 half = _mm512_set1_ps(static_cast<float>(divisor / 2) + 0.5f), reciprocal = _mm512_set1_ps(1.0f / static_cast<float>(divisor));
    for (unsigned i = 0; i < columns.num_outputs; i += 16) {
        const AreaEdges::Sixteen& sixteen = columns.sixteens[i / 16];
        const __m512i left = _mm512_loadu_si512(sums + sixteen.first), right = _mm512_loadu_si512(sums + sixteen.first + 32);
        const auto share = [&](unsigned pair) MARIO_AVX512 {
            const __m512i inputs = _mm512_permutex2var_epi16(left, _mm512_loadu_si512(sixteen.inputs[pair].data()), right);
            return _mm512_madd_epi16(inputs, _mm512_loadu_si512(sixteen.shares[pair].data()));
        };
        const __m512 area = _mm512_cvtepi32_ps(_mm512_add_epi32(share(0), share(1)));
        const __m512i rounded = _mm512_cvttps_epi32(_mm512_mul_ps(_mm512_add_ps(area, half), reciprocal));
        const auto lanes = static_cast<__mmask16>(first_lanes(columns.num_outputs - i));
        _mm512_mask_cvtepi32_storeu_epi8(out + i, lanes, rounded);
    }
}

MARIO_AVX512 void accumulate_avx512(std::uint16_t* sums, const std::uint8_t* line, unsigned weight, unsigned count) {
    accumulate_body(sums, line, weight, count);
}
MARIO_AVX512 void maximum_avx512(std::uint8_t* line, const std::uint8_t* other, unsigned count) { maximum_body(line, other, count); }

}  // namespace

const Kernels* avx512_kernels() {
    static constexpr Kernels kernels{look_up_avx512, look_up_rgb_avx512, accumulate_avx512, weigh_avx512, maximum_avx512, reduce_avx512};
    return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vbmi") ? &kernels : nullptr;
}

}  // namespace mario::picture

#else

#include "picture/kernels.h"

const mario::picture::Kernels* mario::picture::avx512_kernels() { return nullptr; }

#endif
