// The loops over pixels, once portable and once for each vector extension worth having. All give the same bytes.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace mario::picture {

/// How one axis shrinks: each output is the weighted sum of a few neighbouring inputs.
struct AreaWeights {
    static constexpr unsigned max_outputs = 256;
    unsigned num_outputs = 0;
    unsigned total = 0;  ///< the weights of every output sum up to this
    std::array<std::uint16_t, max_outputs> first{}, last{};  ///< which inputs
    std::array<std::uint16_t, max_outputs> first_weight{}, last_weight{};  ///< the last one is 0 where it is also the first
    unsigned inner_weight = 0;  ///< of all inputs between the first and the last one
};

struct Kernels {
    /// out[i] = table[pixels[i]]; pixels are below 32, count is even.
    void (*look_up)(const std::uint8_t* pixels, const std::uint8_t* table, std::uint8_t* out, unsigned count);
    /// sums[i] += weight * line[i].
    void (*accumulate)(std::uint16_t* sums, const std::uint8_t* line, unsigned weight, unsigned count);
    /// line[i] = max(line[i], other[i]).
    void (*maximum)(std::uint8_t* line, const std::uint8_t* other, unsigned count);
    /// One finished row: weighted sums along it, divided by total * row_total and rounded half up.
    void (*reduce)(const std::uint16_t* sums, const AreaWeights& weights, unsigned row_total, std::uint8_t* out);
};

[[nodiscard]] const Kernels& portable_kernels();
/// The fastest ones this machine has.
[[nodiscard]] const Kernels& best_kernels();

}  // namespace mario::picture
