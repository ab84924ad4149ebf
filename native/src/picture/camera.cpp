#include "picture/camera.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>

#include "picture/colours.h"
#include "picture/scanlines.h"

namespace mario::picture {
namespace {

void expect(bool holds, const std::string& complaint) {
    if (!holds) throw ViewError(complaint);
}

void check(const View& view) {
    expect(view.x % 2 == 0 && view.y % 2 == 0 && view.width % 2 == 0 && view.height % 2 == 0,
           "the crop (x, y, width, height) must be even numbers");
    expect(view.width >= 2 && view.x < screen_width && view.width <= screen_width - view.x && view.height >= 2 &&
               view.y < screen_height && view.height <= screen_height - view.y,
           "the crop must lie inside the screen of 256 x 240");
    expect(view.out_width >= 1 && view.out_width <= view.width && view.out_height >= 1 && view.out_height <= view.height,
           "a picture can shrink, not grow: " + std::to_string(view.width) + " x " + std::to_string(view.height) + " to " +
               std::to_string(view.out_width) + " x " + std::to_string(view.out_height));
    expect(view.format == Format::grey || (view.out_width == view.width && view.out_height == view.height),
           "a picture in colour keeps its size; ask for the crop's own, or for grey");
}

/// False where the output touches too many inputs.
bool find_taps(const AreaEdges& edges, unsigned output, Taps& taps) {
    std::array<unsigned, 5> shares{};
    taps.first = edges.at[output];
    const unsigned last = edges.at[output + 1] - taps.first;
    if (last >= shares.size()) return false;
    for (unsigned i = 0; i < last; ++i) shares[i] = edges.input_width;
    shares[last] = edges.into[output + 1];
    shares[0] -= edges.into[output];
    for (unsigned i = 0; i < taps.shares.size(); ++i) taps.shares[i] = static_cast<std::uint8_t>(shares[i]);
    for (unsigned i = 0; i < taps.pairs.size(); ++i) taps.pairs[i] = static_cast<std::int32_t>(shares[2 * i] | shares[2 * i + 1] << 16u);
    return shares[4] == 0;
}

/// False where an output touches too many inputs, or sixteen of them too many together.
bool find_sixteens(AreaEdges& edges) {
    for (unsigned output = 0; output < edges.num_outputs; ++output) {
        AreaEdges::Sixteen& sixteen = edges.sixteens[output / 16];
        Taps taps;
        if (!find_taps(edges, output, taps)) return false;
        if (output % 16 == 0) sixteen.first = std::min(taps.first, edges.num_inputs - std::min(edges.num_inputs, 64u));
        for (unsigned i = 0; i < 4; ++i) {
            // What has no share may lie outside; any input serves in its place.
            const unsigned input = taps.shares[i] ? taps.first + i - sixteen.first : 0;
            if (input >= 64) return false;
            sixteen.inputs[i / 2][output % 16 * 2 + i % 2] = static_cast<std::uint16_t>(input);
            sixteen.shares[i / 2][output % 16 * 2 + i % 2] = taps.shares[i];
        }
    }
    return edges.num_inputs >= 64;
}

AreaEdges area_edges(unsigned num_inputs, unsigned num_outputs) {
    const unsigned divisor = std::gcd(num_inputs, num_outputs);
    AreaEdges edges;
    edges.num_inputs = num_inputs;
    edges.num_outputs = num_outputs;
    edges.input_width = num_outputs / divisor;
    edges.output_width = num_inputs / divisor;
    for (unsigned i = 0; i <= num_outputs; ++i) {
        edges.at[i] = static_cast<std::uint16_t>(i * edges.output_width / edges.input_width);
        edges.into[i] = static_cast<std::uint16_t>(i * edges.output_width % edges.input_width);
    }
    edges.has_taps = edges.output_width <= edges.taps.size() && edges.input_width <= edges.taps.size();
    for (unsigned i = 0; edges.has_taps && i < edges.input_width; ++i) edges.has_taps = find_taps(edges, i, edges.taps[i]);
    edges.has_sixteens = edges.input_width < 256 && find_sixteens(edges);
    return edges;
}

using Rgb = std::array<std::uint8_t, 3>;

/// What a palette's entry looks like on a line with this mask.
Rgb colour_of(std::uint8_t entry, std::uint8_t mask) {
    Rgb colour = colours[entry & (mask & nes::mask_grey ? 0x30u : 0x3Fu)];
    // Emphasis dims the other two channels, to about three quarters.
    for (unsigned channel = 0; channel < 3; ++channel) {
        const unsigned others = mask >> 5u & ~(1u << channel) & 7u;
        if (others) colour[channel] = static_cast<std::uint8_t>(colour[channel] * 3u / 4u);
    }
    return colour;
}

/// The tables of the line before serve as long as palette and mask stay.
struct Tables {
    std::array<std::uint8_t, 32> palette{};
    std::uint8_t mask = 0;
    bool is_made = false;
    RgbTable rgb{};
    std::array<std::uint8_t, 32> grey{};

    void follow(const Band& band) {
        constexpr std::uint8_t colour_bits = 0xE0 | nes::mask_grey;
        if (is_made && palette == *band.palette && mask == (band.mask & colour_bits)) return;
        palette = *band.palette;
        mask = band.mask & colour_bits;
        is_made = true;
        for (unsigned i = 0; i < 32; ++i) {
            const Rgb colour = colour_of(palette[(i & 3u) == 0 ? 0 : i], mask);
            grey[i] = luma(colour[0], colour[1], colour[2]);
            for (unsigned channel = 0; channel < 3; ++channel) rgb.of_channels[channel][i] = colour[channel];
            std::memcpy(&rgb.packed[i], colour.data(), 3);
        }
    }
};

/// How many lines stay readable: more than a row of the output takes where rows.has_taps.
constexpr unsigned num_kept_lines = 16;

/// Gathers weighted lines until a row of the output is complete. With taps, a row is made at once from the lines it takes, which the
/// caller keeps; otherwise lines are added up one by one.
class Shrinker {
public:
    Shrinker(const AreaEdges& columns, const AreaEdges& rows, const Kernels& kernels, std::uint8_t* out)
        : columns_(columns), rows_(rows), kernels_(kernels), out_(out) {}

    void take(unsigned line, const std::uint8_t* pixels) {
        if (!rows_.has_taps) return accumulate(line, pixels);
        kept_[line % num_kept_lines] = pixels;
        for (; row_ < rows_.num_outputs && last_line() <= line; ++row_) {
            const Taps& taps = rows_.taps[row_ % rows_.input_width];
            const unsigned first = taps.first + row_ / rows_.input_width * rows_.output_width;
            std::array<const std::uint8_t*, 4> lines;
            // Lines with no share may not be there yet; any serves in their place.
            for (unsigned i = 0; i < 4; ++i) lines[i] = taps.shares[i] ? kept_[(first + i) % num_kept_lines] : pixels;
            kernels_.weigh(sums_.data(), lines, taps.shares, columns_.num_inputs);
            kernels_.reduce(sums_.data(), columns_, rows_.output_width, out_ + std::size_t{row_} * columns_.num_outputs);
        }
    }

private:
    /// The last line that the present row takes something of.
    [[nodiscard]] unsigned last_line() const { return rows_.into[row_ + 1] ? rows_.at[row_ + 1] : rows_.at[row_ + 1] - 1u; }

    void accumulate(unsigned line, const std::uint8_t* pixels) {
        // In the rows' units: what of this line still has to be given to a row.
        unsigned begin = line * rows_.input_width;
        const unsigned end = begin + rows_.input_width;
        while (begin < end) {
            const unsigned row_end = (row_ + 1) * rows_.output_width;
            const unsigned until = std::min(end, row_end);
            kernels_.accumulate(sums_.data(), pixels, until - begin, columns_.num_inputs);
            begin = until;
            if (until < row_end) return;
            kernels_.reduce(sums_.data(), columns_, rows_.output_width, out_ + std::size_t{row_} * columns_.num_outputs);
            sums_.fill(0);
            ++row_;
        }
    }

    const AreaEdges& columns_;
    const AreaEdges& rows_;
    const Kernels& kernels_;
    std::uint8_t* out_;
    unsigned row_ = 0;
    std::array<const std::uint8_t*, num_kept_lines> kept_{};
    std::array<std::uint16_t, screen_width> sums_{};
};

}  // namespace

Camera::Camera(const View& view, const Kernels& kernels) : view_(view), kernels_(kernels) {
    check(view);
    columns_ = area_edges(view.width, view.out_width);
    rows_ = area_edges(view.height, view.out_height);
}

std::size_t Camera::out_bytes() const { return std::size_t{view_.out_width} * view_.out_height * channels(); }

std::size_t Camera::exposure_bytes() const { return std::size_t{view_.width} * view_.height * channels(); }

bool Camera::shrinks() const { return view_.out_width != view_.width || view_.out_height != view_.height; }

/// Calls take(line of the crop, its pixels as grey or colour), which may change them. The last num_kept_lines stay where they are.
template <typename Take>
void Camera::for_each_line(const nes::Console& console, const nes::Board& board, Take take) const {
    Scanlines scanlines(console, board);
    Tables tables;
    std::array<std::array<std::uint8_t, screen_width * 3>, num_kept_lines> kept;
    for (unsigned line = 0; line < view_.height;) {
        const Band band = scanlines.draw(view_.y + line, view_.height - line);
        tables.follow(band);
        for (unsigned i = 0; i < band.num_lines; ++i, ++line) {
            std::uint8_t* const converted = kept[line % num_kept_lines].data();
            const std::uint8_t* const pixels = band.pixels(i) + view_.x;
            if (view_.format == Format::grey) kernels_.look_up(pixels, tables.grey.data(), converted, view_.width);
            else kernels_.look_up_rgb(pixels, tables.rgb, converted, view_.width);
            take(line, converted);
        }
    }
}

void Camera::expose(const nes::Console& console, const nes::Board& board, std::uint8_t* exposure) const {
    const std::size_t line_bytes = std::size_t{view_.width} * channels();
    for_each_line(console, board, [&](unsigned line, const std::uint8_t* pixels) {
        std::memcpy(exposure + line * line_bytes, pixels, line_bytes);
    });
}

void Camera::draw(const nes::Console& console, const nes::Board& board, std::uint8_t* out, const std::uint8_t* exposure) const {
    const std::size_t line_bytes = std::size_t{view_.width} * channels();
    Shrinker shrinker(columns_, rows_, kernels_, out);
    for_each_line(console, board, [&](unsigned line, std::uint8_t* pixels) {
        if (exposure) kernels_.maximum(pixels, exposure + line * line_bytes, static_cast<unsigned>(line_bytes));
        if (shrinks()) shrinker.take(line, pixels);
        else std::memcpy(out + line * line_bytes, pixels, line_bytes);
    });
}

}  // namespace mario::picture
