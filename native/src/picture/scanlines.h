// The picture of the last frame, line by line, made after the frame from what the PPU logged.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "nes/console.h"
#include "nes/raster.h"

namespace mario::picture {

/// Neighbouring lines. Pixels are numbers of the 32 palette entries: 0-15 background, 16-31 sprites; every multiple of four is the
/// background colour.
struct Band {
    unsigned num_lines;
    const nes::BackgroundBand* lines;
    const std::array<std::uint8_t, 32>* palette;  ///< colours 0-63 of the entries
    std::uint8_t mask;                            ///< greyscale and emphasis, as the first line began

    /// 256 pixels, valid until the next band is drawn.
    [[nodiscard]] const std::uint8_t* pixels(unsigned line) const { return &lines->pixels[line][lines->first]; }
};

/// Draws all 240 lines of one picture in ascending order. Nothing may run the console meanwhile.
///
/// Exact to the dot for scrolling, pattern tables and switching on and off; colours and tiles that change inside a line show from
/// the next line on.
class Scanlines {
public:
    Scanlines(const nes::Console& console, const nes::Board& board);
    Scanlines(const Scanlines&) = delete;
    Scanlines& operator=(const Scanlines&) = delete;

    /// A line and those below it that can be drawn with it, at most max_lines together. Lines must be asked for in ascending
    /// order; some may be left out.
    Band draw(unsigned line, unsigned max_lines);

private:
    static constexpr unsigned max_sprites_per_line = 8;

    void undo_writes();
    void redo_writes(std::uint32_t dot);
    void write_memory(unsigned address, std::uint8_t value);
    void list_sprites(unsigned height);
    void draw_sprites(unsigned line);
    void draw_sprites(unsigned line, std::uint8_t* pixels);

    const nes::PpuState& ppu_;
    const nes::Board& board_;
    std::array<std::uint8_t, 32> palette_;
    std::array<std::uint8_t, 2048> name_tables_;  ///< filled in only where tiles changed while they were being drawn
    std::array<std::uint8_t, 8192> chr_;          ///< the same
    nes::PictureMemory memory_;
    nes::Raster raster_;
    nes::BackgroundBand background_;
    std::array<std::array<std::uint8_t, max_sprites_per_line>, nes::num_lines> sprites_;
    std::array<std::uint8_t, nes::num_lines> num_sprites_;
    unsigned listed_height_ = 0;
    std::size_t num_redone_ = 0;
};

}  // namespace mario::picture
