// Which pixels of the background the PPU's registers and memory give, line by line.
//
// The one place that knows it: the time of the sprite-0 hit and the picture both come from here.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "nes/ppu.h"

namespace mario::nes {

/// What the PPU reads while it draws. The palette is looked up later.
struct PictureMemory {
    const std::uint8_t* name_tables;  ///< 2,048 bytes
    const std::uint8_t* chr;          ///< 8,192 bytes
    const std::uint64_t* tile_rows;   ///< the same as Board::tile_rows; null where tiles can change
    Mirroring mirroring;
};

/// The name tables and tiles as they are now.
[[nodiscard]] PictureMemory picture_memory(const PpuState& ppu, const Board& board);

/// Neighbouring lines of background that show the same row of tiles: 4 * palette + colour, where colour 0 is transparent.
struct BackgroundBand {
    static constexpr unsigned max_lines = 8;
    unsigned num_lines;
    alignas(64) std::array<std::array<std::uint8_t, 256 + 64>, max_lines> pixels;
    unsigned first;                    ///< pixels[i][first] is the leftmost one: the fine scroll
    std::uint8_t ctrl;                 ///< when the sprites of the lines were fetched
    bool has_sprites;                  ///< rendering was on then
    bool has_steady_mask;              ///< mask holds for all of the lines, and masks is not filled in
    std::uint8_t mask;                 ///< as the first line began
    std::array<std::uint8_t, 256> masks;  ///< per pixel, of the only line
};

/// Walks over one frame's log from the pre-render line on. Lines must be asked for in ascending order.
class Raster {
public:
    /// Nothing is copied: the log and the memory must stay as they are.
    Raster(const PpuRegisters& first, std::span<const LoggedAccess> log, std::uint32_t line0, const PictureMemory& memory)
        : registers_(first), log_(log), line0_(line0), memory_(memory) {}

    /// Goes to where the fetches of a line begin. True: no access falls into the line, and registers() holds for all of it.
    bool begin_line(unsigned line);
    /// Draws the line that was begun and those below it that can be drawn with it, at most max_lines together. Left columns that
    /// are switched off are transparent.
    void draw(BackgroundBand& out, unsigned max_lines);
    [[nodiscard]] const PpuRegisters& registers() const { return registers_; }

private:
    static constexpr unsigned tiles_per_line = 33;
    struct TileRow {
        std::array<std::uint16_t, tiles_per_line> first_rows;  ///< of each tile, where the band's first line lies in tile_rows
        std::array<std::uint64_t, tiles_per_line> palettes;    ///< 4 * palette in every byte
    };

    void run_to(std::uint32_t dot);
    [[nodiscard]] std::uint32_t next_access() const { return at_ < log_.size() ? log_[at_].dot : ~0u; }
    [[nodiscard]] unsigned num_steady_lines(unsigned max_lines) const;
    void draw_steady(BackgroundBand& out);
    [[nodiscard]] TileRow look_up_tiles() const;
    void draw_tiles(BackgroundBand& out) const;
    static void draw_whole_tiles(const TileRow& row, const std::uint64_t* tile_rows, std::uint8_t* out);
    void draw_changing(BackgroundBand& out);

    PpuRegisters registers_;
    std::span<const LoggedAccess> log_;
    std::size_t at_ = 0;
    std::uint32_t line0_;
    std::uint32_t position_ = prerender_dot;
    unsigned line_ = 0;
    bool is_steady_ = true;
    const PictureMemory& memory_;
};

/// The eight pixels of the tile that v points at, the leftmost in the lowest byte: 4 * palette + colour.
[[nodiscard]] std::uint64_t background_tile(const PpuRegisters& registers, std::uint16_t v, const PictureMemory& memory);
/// A row of eight pixels (colours 0-3) of a sprite, the leftmost in the lowest byte, as it stands on the screen.
[[nodiscard]] std::uint64_t sprite_row(const std::uint8_t* oam_entry, unsigned row, std::uint8_t ctrl, const PictureMemory& memory);

[[nodiscard]] inline unsigned sprite_height(std::uint8_t ctrl) { return ctrl & ctrl_tall_sprites ? 16 : 8; }

}  // namespace mario::nes
