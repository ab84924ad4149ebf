// The picture of the last frame, line by line, made after the frame from what the PPU logged.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "nes/console.h"
#include "nes/raster.h"

namespace mario::picture {

/// Numbers of the 32 palette entries: 0-15 background, 16-31 sprites; every multiple of four is the background colour.
struct Scanline {
    const std::uint8_t* pixels;                     ///< 256; valid until the next line
    const std::array<std::uint8_t, 32>* palette;    ///< colours 0-63 of the entries
    std::uint8_t mask;                              ///< greyscale and emphasis, as the line began
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

    /// Lines must be asked for in ascending order; some may be left out.
    Scanline draw(unsigned line);

private:
    static constexpr unsigned max_sprites_per_line = 8;

    void undo_writes();
    void redo_writes(std::uint32_t dot);
    void write_memory(unsigned address, std::uint8_t value);
    void list_sprites(unsigned height);
    void draw_sprites(unsigned line);

    const nes::PpuState& ppu_;
    const nes::Board& board_;
    std::array<std::uint8_t, 32> palette_;
    std::array<std::uint8_t, 2048> name_tables_;  ///< filled in only where tiles changed while they were being drawn
    std::array<std::uint8_t, 8192> chr_;          ///< the same
    nes::PictureMemory memory_;
    nes::Raster raster_;
    nes::BackgroundLine background_;
    std::array<std::array<std::uint8_t, max_sprites_per_line>, nes::num_lines> sprites_;
    std::array<std::uint8_t, nes::num_lines> num_sprites_;
    unsigned listed_height_ = 0;
    std::size_t num_redone_ = 0;
};

}  // namespace mario::picture
