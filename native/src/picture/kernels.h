// The loops over pixels, once portable and once for each vector extension worth having. All give the same bytes.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace mario::picture {

/// The shares that an output takes of four neighbouring inputs.
struct Taps {
    unsigned first = 0;
    std::array<std::uint8_t, 4> shares{};
    std::array<std::int32_t, 2> pairs{};  ///< the same, two and two in one number, as a multiply-and-add wants them
};

/// How one axis shrinks, in units in which every input is `input_width` wide and every output `output_width`: 21 and 64 for 256 to
/// 84. Output i covers everything from its edge i to edge i + 1; an edge lies `into` units inside input `at`.
struct AreaEdges {
    static constexpr unsigned max_outputs = 256;
    unsigned num_inputs = 0, num_outputs = 0;
    unsigned input_width = 0, output_width = 0;
    std::array<std::uint16_t, max_outputs + 1> at{}, into{};
    /// The edges repeat this many times: 4 for 256 to 84.
    [[nodiscard]] unsigned num_periods() const { return num_outputs / input_width; }
    /// Of each output of the first period, where that is at most 64 inputs long and no output touches more than four of them.
    std::array<Taps, 64> taps{};
    bool has_taps = false;
    /// Sixteen outputs and what they take of the 64 inputs from `first` on: per output two pairs of inputs and of shares.
    struct Sixteen {
        unsigned first = 0;
        std::array<std::array<std::uint16_t, 32>, 2> inputs{}, shares{};
    };
    std::array<Sixteen, max_outputs / 16> sixteens{};
    bool has_sixteens = false;
};

/// The colours of the 32 palette entries, as each way to write them wants them.
struct RgbTable {
    std::array<std::uint32_t, 32> packed;                      ///< bytes R, G, B and 0, in this order in memory
    std::array<std::array<std::uint8_t, 32>, 3> of_channels;   ///< the same, channel by channel
};

struct Kernels {
    /// out[i] = table[pixels[i]]; pixels are below 32, count is even.
    void (*look_up)(const std::uint8_t* pixels, const std::uint8_t* table, std::uint8_t* out, unsigned count);
    /// out[i] = R, G, B of pixels[i]; pixels are below 32, count is even and not 0.
    void (*look_up_rgb)(const std::uint8_t* pixels, const RgbTable& table, std::uint8_t* out, unsigned count);
    /// sums[i] += weight * line[i].
    void (*accumulate)(std::uint16_t* sums, const std::uint8_t* line, unsigned weight, unsigned count);
    /// sums[i] = the sum of weights[k] * lines[k][i] over four lines; the weights are below 128 and add up to less than that.
    void (*weigh)(std::uint16_t* sums, const std::array<const std::uint8_t*, 4>& lines, const std::array<std::uint8_t, 4>& weights,
                  unsigned count);
    /// line[i] = max(line[i], other[i]).
    void (*maximum)(std::uint8_t* line, const std::uint8_t* other, unsigned count);
    /// One finished row: areas along it, divided by columns.output_width * row_width and rounded half up.
    void (*reduce)(const std::uint16_t* sums, const AreaEdges& columns, unsigned row_width, std::uint8_t* out);
};

[[nodiscard]] const Kernels& portable_kernels();
/// Null where the machine lacks the instructions (AVX-512: those of Ice Lake and later, with permutations of bytes).
[[nodiscard]] const Kernels* avx2_kernels();
[[nodiscard]] const Kernels* avx512_kernels();
/// The fastest ones this machine has.
[[nodiscard]] const Kernels& best_kernels();

/// Kernels::look_up_rgb without vectors, which others finish their lines with.
void portable_look_up_rgb(const std::uint8_t* pixels, const RgbTable& table, std::uint8_t* out, unsigned count);

}  // namespace mario::picture
