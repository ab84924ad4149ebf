// The picture and its flags against a chip that is stepped dot by dot, with registers written at any time.
#include "nes/raster.h"
#include "nes/scroll.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include "cartridges.h"
#include "check.h"
#include "picture/scanlines.h"

using namespace mario::nes;
using cartridges::Maker;

namespace {

struct Access {
    std::uint32_t dot;
    unsigned number;
    std::uint8_t value;
    bool is_write;
};

/// Slow and plain: every dot of every line, one after the other.
class SlowPpu {
public:
    SlowPpu(const PpuState& state, const Board& board, std::vector<Access> accesses)
        : state_(state), board_(board), r_(state.registers), accesses_(std::move(accesses)) {}

    std::vector<std::uint8_t> pixels = std::vector<std::uint8_t>(256 * 240);
    bool has_hit = false;
    [[nodiscard]] const PpuRegisters& registers() const { return r_; }

    void run(std::uint32_t line0) {
        while (at_ < accesses_.size() && accesses_[at_].dot < prerender_dot) apply(accesses_[at_++]);
        for (std::uint32_t dot = prerender_dot; dot < line0; ++dot) step(dot, -1, dot - prerender_dot + 1);
        for (std::uint32_t dot = line0; dot < line0 + picture_dots; ++dot) {
            step(dot, static_cast<int>((dot - line0) / dots_per_line), (dot - line0) % dots_per_line);
        }
    }

private:
    void step(std::uint32_t frame_dot, int line, unsigned dot) {
        line_ = line;
        if (line < 240 && r_.is_rendering()) move_v(line, dot);
        while (at_ < accesses_.size() && accesses_[at_].dot <= frame_dot) apply(accesses_[at_++]);
        if (line >= 240) return;
        if (dot == 320) fetch(0), find_sprites(line + 1);
        if (dot == 328) fetch(1);
        if (line < 0) return;
        if (dot >= 1 && dot <= 256 && dot % 8 == 1) fetch((dot - 1) / 8 + 2);
        if (dot >= 1 && dot <= 256) output(static_cast<unsigned>(line), dot - 1);
    }

    void move_v(int line, unsigned dot) {
        const bool moves_right = (dot >= 8 && dot <= 256 && dot % 8 == 0) || dot == 328 || dot == 336;
        if (moves_right) r_.v = (r_.v & 31) == 31 ? static_cast<std::uint16_t>((r_.v & ~31u) ^ 0x400) : static_cast<std::uint16_t>(r_.v + 1);
        if (dot == 256) move_down();
        if (dot == 257) r_.v = static_cast<std::uint16_t>((r_.v & ~0x41Fu) | (r_.t & 0x41Fu));
        if (line < 0 && dot >= 280 && dot <= 304) r_.v = static_cast<std::uint16_t>((r_.v & 0x41Fu) | (r_.t & ~0x41Fu));
    }

    void move_down() {
        unsigned v = r_.v;
        if ((v >> 12) < 7) v += 0x1000;
        else {
            v &= 0xFFF;
            const unsigned y = v >> 5 & 31;
            v &= ~0x3E0u;
            if (y == 29) v ^= 0x800;
            else if (y != 31) v |= (y + 1) << 5;
        }
        r_.v = static_cast<std::uint16_t>(v);
    }

    void apply(const Access& access) {
        const bool is_drawing = r_.is_rendering() && access.dot >= prerender_dot && line_ < 240;
        if (access.number == 7 && is_drawing) {
            r_.v = (r_.v & 31) == 31 ? static_cast<std::uint16_t>((r_.v & ~31u) ^ 0x400) : static_cast<std::uint16_t>(r_.v + 1);
            move_down();
            return;
        }
        apply_access(r_, access.number, access.value, false);
    }

    void fetch(unsigned column) {
        const unsigned v = r_.v;
        const unsigned tile = state_.name_tables[name_table_index(board_.mirroring, v & 0xFFF)];
        const unsigned attribute = state_.name_tables[name_table_index(board_.mirroring, 0x3C0 | (v & 0xC00) | (v >> 4 & 0x38) | (v >> 2 & 7))];
        const unsigned palette = attribute >> (4 * (v >> 6 & 1) + 2 * (v >> 1 & 1)) & 3;
        const unsigned pattern = (r_.ctrl & 0x10 ? 0x1000 : 0) + tile * 16 + (v >> 12);
        for (unsigned x = 0; x < 8; ++x) {
            const unsigned colour = (board_.chr_rom[pattern] >> (7 - x) & 1) | (board_.chr_rom[pattern + 8] >> (7 - x) & 1) << 1;
            fetched_[column * 8 + x] = static_cast<std::uint8_t>(palette * 4 + colour);
        }
    }

    void find_sprites(int line) {
        sprites_.clear();
        ctrl_ = r_.ctrl;
        if (!r_.is_rendering() || line == 0) return;
        const int height = ctrl_ & 0x20 ? 16 : 8;
        for (unsigned i = 0; i < 64 && sprites_.size() < 8; ++i) {
            const int row = line - 1 - state_.oam[4 * i];
            if (row >= 0 && row < height) sprites_.push_back(i);
        }
    }

    unsigned sprite_colour(unsigned sprite, unsigned line, unsigned column) const {
        const std::uint8_t* entry = &state_.oam[4 * sprite];
        unsigned row = line - 1 - entry[0];
        if (entry[2] & 0x80) row = (ctrl_ & 0x20 ? 15 : 7) - row;
        if (entry[2] & 0x40) column = 7 - column;
        unsigned pattern;
        if (ctrl_ & 0x20) pattern = (entry[1] & 1) * 0x1000 + ((entry[1] & 0xFE) + (row >= 8)) * 16 + row % 8;
        else pattern = (ctrl_ & 8 ? 0x1000 : 0) + entry[1] * 16 + row;
        return (board_.chr_rom[pattern] >> (7 - column) & 1) | (board_.chr_rom[pattern + 8] >> (7 - column) & 1) << 1;
    }

    void output(unsigned line, unsigned x) {
        const bool shows_background = (r_.mask & 8) && (x >= 8 || (r_.mask & 2));
        const bool shows_sprites = (r_.mask & 0x10) && (x >= 8 || (r_.mask & 4));
        unsigned pixel = shows_background ? fetched_[x + r_.fine_x] : 0;
        if (pixel % 4 == 0) pixel = 0;
        for (const unsigned sprite : sprites_) {
            const unsigned left = state_.oam[4 * sprite + 3];
            if (!shows_sprites || x < left || x >= left + 8) continue;
            const unsigned colour = sprite_colour(sprite, line, x - left);
            if (colour == 0) continue;
            if (sprite == 0 && pixel != 0 && x != 255) has_hit = true;
            const std::uint8_t attributes = state_.oam[4 * sprite + 2];
            if (pixel == 0 || !(attributes & 0x20)) pixel = 16 + 4 * (attributes & 3) + colour;
            break;
        }
        pixels[line * 256 + x] = static_cast<std::uint8_t>(pixel);
    }

    const PpuState& state_;
    const Board& board_;
    PpuRegisters r_;
    std::vector<Access> accesses_;
    std::size_t at_ = 0;
    int line_ = -2;
    std::array<std::uint8_t, 34 * 8> fetched_{};
    std::vector<unsigned> sprites_;
    std::uint8_t ctrl_ = 0;
};

Board noisy_board(std::mt19937& random) {
    Maker maker;
    // Sparse tiles: transparent pixels are as interesting as opaque ones.
    for (unsigned i = 0; i < 0x2000; ++i) maker.chr(i, static_cast<std::uint8_t>(random() & random()));
    maker.mirroring(random() & 1 ? Mirroring::vertical : Mirroring::horizontal);
    return maker.board();
}

/// In order of time, on dots that a CPU can reach; masks that show something are common.
std::vector<Access> random_accesses(std::mt19937& random, unsigned count) {
    constexpr std::array<unsigned, 9> numbers{0, 1, 2, 5, 5, 6, 6, 7, 5};
    constexpr std::array<std::uint8_t, 8> masks{0x1E, 0x1E, 0x18, 0x08, 0x10, 0x00, 0x1A, 0x1C};
    std::vector<Access> accesses;
    for (unsigned i = 0; i < count; ++i) {
        const unsigned number = numbers[random() % numbers.size()];
        const std::uint8_t value = number == 1 ? masks[random() % masks.size()] : static_cast<std::uint8_t>(random());
        const bool is_write = number != 2 && number != 7;
        // The pre-render line has the most to get wrong.
        const std::uint32_t dot = random() % 6 == 0 ? prerender_dot + static_cast<std::uint32_t>(random() % dots_per_line)
                                                    : static_cast<std::uint32_t>(random() % (full_frame_dots - 10));
        accesses.push_back({dot / 3 * 3 + 2, number,
                            number == 0 ? static_cast<std::uint8_t>(value & 0x7F) : value, is_write});
    }
    std::sort(accesses.begin(), accesses.end(), [](const Access& a, const Access& b) { return a.dot < b.dot; });
    accesses.erase(std::unique(accesses.begin(), accesses.end(), [](const Access& a, const Access& b) { return a.dot == b.dot; }), accesses.end());
    return accesses;
}

TEST(pictures_with_registers_written_at_any_dot_equal_those_of_a_chip_stepped_dot_by_dot) {
    unsigned wrong_pictures = 0, wrong_hits = 0, wrong_registers = 0, num_hits = 0;
    for (unsigned seed = 0; seed < 400; ++seed) {
        std::mt19937 random(seed);
        const Board board = noisy_board(random);
        Console console = cartridges::powered_on(board);
        for (auto& byte : console.ppu.name_tables) byte = static_cast<std::uint8_t>(random());
        for (auto& byte : console.ppu.oam) byte = static_cast<std::uint8_t>(random());
        console.ppu.is_odd_frame = seed & 1;
        console.ppu.registers = {static_cast<std::uint16_t>(random() & 0x7FFF), static_cast<std::uint16_t>(random() & 0x7FFF),
                                 static_cast<std::uint8_t>(random() & 7), 0, static_cast<std::uint8_t>(random() & 0x38), 0x1E};
        Ppu ppu(console.ppu, board);
        const auto accesses = random_accesses(random, seed % 4 == 0 ? 0 : seed % 23);
        SlowPpu slow(console.ppu, board, accesses);
        ppu.write(1, 0x1E, 0);  // settles the length of the frame
        for (const Access& access : accesses) {
            if (access.is_write) ppu.write(access.number, access.value, access.dot / 3);
            else (void)ppu.read(access.number, access.dot / 3);
        }
        const std::uint32_t line0 = console.ppu.line0;
        ppu.catch_up(console.ppu.frame_start + console.ppu.frame_dots());
        slow.run(line0);
        mario::picture::Scanlines scanlines(console, board);
        bool is_equal = true;
        for (unsigned line = 0; line < num_lines;) {
            const auto band = scanlines.draw(line, num_lines - line);
            for (unsigned i = 0; i < band.num_lines; ++i, ++line) {
                const std::uint8_t* pixels = band.pixels(i);
                for (unsigned x = 0; x < 256; ++x) {
                    const unsigned pixel = pixels[x] % 4 == 0 ? 0 : pixels[x];
                    is_equal = is_equal && pixel == slow.pixels[line * 256 + x];
                }
            }
        }
        wrong_pictures += !is_equal;
        wrong_hits += ((console.ppu.status & status_sprite0) != 0) != slow.has_hit;
        num_hits += slow.has_hit;
        wrong_registers += console.ppu.registers.v != slow.registers().v || console.ppu.registers.t != slow.registers().t;
    }
    CHECK(wrong_pictures == 0);
    CHECK(wrong_hits == 0);
    CHECK(wrong_registers == 0);
    CHECK(num_hits > 50);
    if (wrong_pictures || wrong_hits) std::printf("%u pictures, %u hits wrong; %u hits\n", wrong_pictures, wrong_hits, num_hits);
}

TEST(tiles_and_colours_written_while_drawing_show_below_and_not_above) {
    const Board board = Maker().solid_tile(1, 1).solid_tile(2, 2).board();
    Console console = cartridges::powered_on(board);
    console.ppu.name_tables.fill(1);
    for (unsigned table = 0; table < 2; ++table) std::fill_n(&console.ppu.name_tables[table * 0x400 + 0x3C0], 64, std::uint8_t{0});
    console.ppu.palette[0] = 0x0F, console.ppu.palette[1] = 0x11;
    Ppu ppu(console.ppu, board);
    std::uint64_t cycle = 10;
    const auto write = [&](unsigned number, unsigned value) { ppu.write(number, static_cast<std::uint8_t>(value), cycle += 4); };
    write(1, mask_background | mask_left_background);
    // Off from line 100 on; meanwhile rows 5 and 20 become tile 2 and colour 1 another one; then on again from there.
    cycle = (line0_dot + 100 * dots_per_line) / 3;
    write(1, 0);
    for (const unsigned row : {0x20A0u, 0x2280u}) {
        write(6, row >> 8), write(6, row & 0xFF);
        for (unsigned i = 0; i < 32; ++i) write(7, 2);
    }
    write(6, 0x3F), write(6, 0x01), write(7, 0x21);
    write(6, 0x21), write(6, 0xA0);  // row 13, line 104
    write(1, mask_background | mask_left_background);
    ppu.catch_up(console.ppu.frame_start + console.ppu.frame_dots());
    mario::picture::Scanlines scanlines(console, board);
    unsigned wrong = 0, changed_lines = 0;
    for (unsigned line = 0; line < num_lines; ++line) {
        const auto drawn = scanlines.draw(line, 1);
        const unsigned pixel = drawn.pixels(0)[128];
        if (line < 100) wrong += pixel != 1 || (*drawn.palette)[1] != 0x11;
        if (line > 108) wrong += pixel == 0 || (*drawn.palette)[1] != 0x21;
        changed_lines += pixel == 2;
    }
    CHECK(wrong == 0);
    CHECK(changed_lines == 8);
}

}  // namespace

int main() { return check::run_all(); }
