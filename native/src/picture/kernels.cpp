#include "picture/kernels.h"

#include <cstring>

#include "picture/kernel_bodies.h"

namespace mario::picture {
namespace {

void look_up_portable(const std::uint8_t* pixels, const std::uint8_t* table, std::uint8_t* out, unsigned count) {
    look_up_body(pixels, table, out, count);
}
void accumulate_portable(std::uint16_t* sums, const std::uint8_t* line, unsigned weight, unsigned count) {
    accumulate_body(sums, line, weight, count);
}
void weigh_portable(std::uint16_t* sums, const std::array<const std::uint8_t*, 4>& lines, const std::array<std::uint8_t, 4>& weights,
                    unsigned count) {
    weigh_body(sums, lines, weights, 0, count);
}
void maximum_portable(std::uint8_t* line, const std::uint8_t* other, unsigned count) { maximum_body(line, other, count); }
void reduce_portable(const std::uint16_t* sums, const AreaEdges& columns, unsigned row_width, std::uint8_t* out) {
    reduce_body(sums, columns, row_width, out);
}

}  // namespace

void portable_look_up_rgb(const std::uint8_t* pixels, const RgbTable& table, std::uint8_t* out, unsigned count) {
    // Four bytes at a time: the fourth is overwritten by the next pixel, and the last pixel has none to spoil.
    for (unsigned i = 0; i + 1 < count; ++i) std::memcpy(out + 3 * i, &table.packed[pixels[i] & 31u], 4);
    std::memcpy(out + 3 * (count - 1), &table.packed[pixels[count - 1] & 31u], 3);
}

const Kernels& portable_kernels() {
    static constexpr Kernels kernels{look_up_portable, portable_look_up_rgb, accumulate_portable, weigh_portable, maximum_portable, reduce_portable};
    return kernels;
}

const Kernels& best_kernels() {
    if (const Kernels* const kernels = avx512_kernels()) return *kernels;
    if (const Kernels* const kernels = avx2_kernels()) return *kernels;
    return portable_kernels();
}

}  // namespace mario::picture
