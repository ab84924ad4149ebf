#include "picture/camera.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <vector>

#include "cartridges.h"
#include "check.h"
#include "picture/colours.h"

using namespace mario::picture;
using namespace cartridges;
using mario::nes::Board;
using mario::nes::Console;

namespace {

using Bytes = std::vector<std::uint8_t>;

/// A console that shows noise: any tiles, colours, scroll and sprites.
Console noisy_console(const Board& board, unsigned seed) {
    std::mt19937 random(seed);
    const auto fill = [&](auto& bytes, unsigned limit) {
        for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random() % limit);
    };
    Console console = powered_on(board);
    fill(console.ppu.name_tables, 256);
    fill(console.ppu.palette, 64);
    fill(console.ppu.oam, 256);
    console.ppu.first_registers = {static_cast<std::uint16_t>(random() & 0x7FFF), static_cast<std::uint16_t>(random() & 0x7FFF),
                                   static_cast<std::uint8_t>(random() & 7), 0, static_cast<std::uint8_t>(random() & 0x38), 0x1E};
    return console;
}

Board noisy_board(unsigned seed) {
    std::mt19937 random(seed);
    Maker maker;
    for (unsigned i = 0; i < 0x2000; ++i) maker.chr(i, static_cast<std::uint8_t>(random()));
    return maker.board();
}

Bytes draw(const Console& console, const Board& board, const View& view, const Kernels& kernels = best_kernels()) {
    const Camera camera(view, kernels);
    Bytes out(camera.out_bytes());
    camera.draw(console, board, out.data());
    return out;
}

View grey(unsigned x, unsigned y, unsigned width, unsigned height, unsigned out_width, unsigned out_height) {
    return {x, y, width, height, out_width, out_height, Format::grey};
}

/// How much of [begin, end) an input of width one at `at` covers.
double overlap(double begin, double end, unsigned at) { return std::max(0.0, std::min(end, at + 1.0) - std::max(begin, double(at))); }

/// The textbook: average of what lies under an output pixel, in floating point.
double area_average(const Bytes& full, const View& view, unsigned column, unsigned row) {
    const double scale_x = double(view.width) / view.out_width, scale_y = double(view.height) / view.out_height;
    double sum = 0;
    for (unsigned y = 0; y < view.height; ++y) {
        const double height = overlap(row * scale_y, (row + 1) * scale_y, y);
        if (height == 0) continue;
        for (unsigned x = 0; x < view.width; ++x) {
            sum += height * overlap(column * scale_x, (column + 1) * scale_x, x) * full[(view.y + y) * 256u + view.x + x];
        }
    }
    return sum / (scale_x * scale_y);
}

TEST(grey_is_the_rounded_area_average_of_the_full_picture) {
    const auto board = noisy_board(1);
    for (const View& view : {grey(0, 0, 256, 240, 84, 84), grey(8, 16, 240, 208, 84, 84), grey(0, 32, 256, 208, 64, 52),
                             grey(2, 4, 6, 8, 5, 3), grey(0, 0, 256, 240, 255, 239), grey(0, 0, 256, 240, 1, 1)}) {
        const auto console = noisy_console(board, view.out_width);
        const Bytes full = draw(console, board, View{}), small = draw(console, board, view);
        double worst = 0;
        for (unsigned row = 0; row < view.out_height; ++row) {
            for (unsigned column = 0; column < view.out_width; ++column) {
                worst = std::max(worst, std::abs(small[row * view.out_width + column] - area_average(full, view, column, row)));
            }
        }
        CHECK(worst <= 0.5 + 1e-6);
    }
}

TEST(grey_is_the_luma_of_the_colours_and_crops_are_parts) {
    const auto board = noisy_board(2);
    const auto console = noisy_console(board, 2);
    const Bytes full = draw(console, board, View{});
    const Bytes rgb = draw(console, board, {.format = Format::rgb});
    CHECK(rgb.size() == 256 * 240 * 3);
    unsigned wrong = 0;
    for (unsigned i = 0; i < 256 * 240; ++i) {
        const double exact = 0.299 * rgb[3 * i] + 0.587 * rgb[3 * i + 1] + 0.114 * rgb[3 * i + 2];
        wrong += std::abs(full[i] - exact) > 1.0;
    }
    CHECK(wrong == 0);
    const Bytes crop = draw(console, board, grey(6, 10, 100, 50, 100, 50));
    const Bytes rgb_crop = draw(console, board, {6, 10, 100, 50, 100, 50, Format::rgb});
    for (unsigned y = 0; y < 50; ++y) {
        for (unsigned x = 0; x < 100; ++x) {
            wrong += crop[y * 100 + x] != full[(y + 10) * 256 + x + 6];
            wrong += rgb_crop[(y * 100 + x) * 3 + 1] != rgb[((y + 10) * 256 + x + 6) * 3 + 1];
        }
    }
    CHECK(wrong == 0);
}

TEST(every_kernel_gives_the_same_bytes_as_the_portable_one) {
    const auto board = noisy_board(3);
    for (const Kernels* const kernels : {avx2_kernels(), avx512_kernels()}) {
        if (kernels == nullptr) continue;
        for (unsigned seed = 0; seed < 20; ++seed) {
            const auto console = noisy_console(board, seed);
            for (const View& view :
                 {grey(0, 0, 256, 240, 84, 84), grey(2, 2, 250, 230, 77, 93), grey(0, 32, 256, 208, 96, 80), grey(4, 4, 60, 60, 20, 20),
                  grey(0, 0, 64, 64, 22, 22), grey(0, 0, 256, 240, 128, 120), View{}, View{.format = Format::rgb},
                  View{2, 2, 100, 50, 100, 50, Format::rgb}}) {
                CHECK(draw(console, board, view, portable_kernels()) == draw(console, board, view, *kernels));
            }
        }
    }
}

TEST(an_exposure_of_the_frame_before_gives_the_brighter_pixel) {
    const auto board = noisy_board(4);
    const auto before = noisy_console(board, 5), after = noisy_console(board, 6);
    for (const Format format : {Format::grey, Format::rgb}) {
        const Camera camera({.format = format});
        Bytes exposure(camera.exposure_bytes()), both(camera.out_bytes());
        camera.expose(before, board, exposure.data());
        camera.draw(after, board, both.data(), exposure.data());
        const Bytes first = draw(before, board, {.format = format}), second = draw(after, board, {.format = format});
        CHECK(exposure == first);
        unsigned wrong = 0;
        for (std::size_t i = 0; i < both.size(); ++i) wrong += both[i] != std::max(first[i], second[i]);
        CHECK(wrong == 0);
    }
}

TEST(views_that_cannot_be_shown_are_refused) {
    const auto complaint = [](const View& view) { return check::message_of<ViewError>([&] { (void)Camera(view); }); };
    CHECK_CONTAINS(complaint(grey(1, 0, 84, 84, 84, 84)), "even");
    CHECK_CONTAINS(complaint(grey(0, 0, 258, 240, 84, 84)), "inside");
    CHECK_CONTAINS(complaint(grey(200, 0, 100, 240, 84, 84)), "inside");
    CHECK_CONTAINS(complaint(grey(0, 0, 0, 240, 84, 84)), "inside");
    CHECK_CONTAINS(complaint(grey(0, 0, 4294967294u, 4, 4, 4)), "inside");
    CHECK_CONTAINS(complaint(grey(0, 0, 64, 64, 84, 84)), "shrink");
    CHECK_CONTAINS(complaint(grey(0, 0, 64, 64, 0, 8)), "shrink");
    CHECK_CONTAINS(complaint({0, 0, 64, 64, 32, 32, Format::rgb}), "colour keeps its size");
}

}  // namespace

int main() { return check::run_all(); }
