// What somebody wants to see of a console: a part of the screen, grey or in colour, at its own size or smaller.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>

#include "nes/console.h"
#include "picture/kernels.h"

namespace mario::picture {

inline constexpr unsigned screen_width = 256, screen_height = 240;

enum class Format : std::uint8_t { grey, rgb };

/// Even numbers inside the screen. Grey shrinks to out_width x out_height by exact area averages, rounded half up; colour keeps
/// its size.
struct View {
    unsigned x = 0, y = 0, width = screen_width, height = screen_height;
    unsigned out_width = screen_width, out_height = screen_height;
    Format format = Format::grey;
};

/// A View that cannot be shown; what() says why, for people.
struct ViewError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Immutable after construction: any number of threads may use one at the same time. Drawing allocates nothing.
class Camera {
public:
    /// Throws ViewError.
    explicit Camera(const View& view, const Kernels& kernels = best_kernels());

    [[nodiscard]] const View& view() const { return view_; }
    /// Of what draw() writes: rows from top to bottom, [height, width] or [height, width, 3].
    [[nodiscard]] std::size_t out_bytes() const;
    /// Of what expose() writes: the view before it shrinks.
    [[nodiscard]] std::size_t exposure_bytes() const;

    /// The picture of the last frame, before it shrinks.
    void expose(const nes::Console& console, const nes::Board& board, std::uint8_t* exposure) const;
    /// The picture of the last frame. With an exposure of the frame before, each pixel is the brighter of the two.
    void draw(const nes::Console& console, const nes::Board& board, std::uint8_t* out, const std::uint8_t* exposure = nullptr) const;

private:
    template <typename Take>
    void for_each_line(const nes::Console& console, const nes::Board& board, Take take) const;
    [[nodiscard]] unsigned channels() const { return view_.format == Format::rgb ? 3 : 1; }
    [[nodiscard]] bool shrinks() const;

    View view_;
    const Kernels& kernels_;
    AreaEdges columns_, rows_;
};

}  // namespace mario::picture
