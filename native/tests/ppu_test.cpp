#include "nes/ppu.h"

#include <cstdint>

#include "cartridges.h"
#include "check.h"
#include "nes/apu.h"

using namespace mario::nes;
using cartridges::Maker;

namespace {

/// A chip with its own clock: accesses fall on any dot that is asked for, as far as a CPU can reach it.
struct Bench {
    Board board;
    PpuState state;
    Ppu ppu{state, board};

    explicit Bench(const Maker& maker = Maker()) : board(maker.board()) { ppu.power_on(); }
    Bench(const Bench&) = delete;

    /// The cycle whose access falls on this dot of the frame, by moving the frame's start.
    std::uint64_t cycle_at(std::int64_t dot) {
        const std::uint64_t cycle = 1'000'000;
        state.frame_start = static_cast<std::uint64_t>(static_cast<std::int64_t>(cycle * 3 + 2) - dot);
        return cycle;
    }
    std::uint8_t read(unsigned number, std::int64_t dot) { return ppu.read(number, cycle_at(dot)); }
    void write(unsigned number, unsigned value, std::int64_t dot) { ppu.write(number, static_cast<std::uint8_t>(value), cycle_at(dot)); }
    void set_address(unsigned address) {
        write(6, address >> 8, 100);
        write(6, address & 0xFF, 100);
    }
    void write_at(unsigned address, unsigned value) {
        set_address(address);
        write(7, value, 100);
    }
};

struct Race {
    int dot;  // of the read, from the moment the flag is set
    bool is_read, is_set_later, has_nmi;
};

TEST(reading_the_status_beside_vertical_blank_loses_flag_or_nmi) {
    for (const Race& race : {Race{-2, false, true, true}, Race{-1, false, false, false}, Race{0, true, false, false},
                             Race{1, true, false, false}, Race{2, true, false, true}}) {
        Bench bench;
        bench.state.registers.ctrl = ctrl_nmi;
        const auto value = bench.read(2, static_cast<std::int64_t>(full_frame_dots) + race.dot);
        bench.ppu.catch_up(bench.state.frame_start + (race.dot < 0 ? full_frame_dots + 10 : 10));
        CHECK(((value & 0x80) != 0) == race.is_read);
        CHECK(((bench.state.status & 0x80) != 0) == race.is_set_later);
        CHECK((bench.state.nmi_cycle != never) == race.has_nmi);
    }
}

TEST(vertical_blank_ends_with_the_pre_render_line) {
    Bench bench;
    bench.state.status = status_vblank | status_sprite0 | status_overflow;
    CHECK((bench.read(2, prerender_dot - 1) & 0xE0) == 0xE0);
    bench.state.status |= status_vblank;
    CHECK((bench.read(2, prerender_dot) & 0xE0) == 0);
}

TEST(an_odd_frame_with_rendering_is_one_dot_shorter) {
    Bench bench;
    bench.write(1, mask_background, 50);
    CHECK(bench.state.frame_dots() == full_frame_dots);
    bench.ppu.catch_up(bench.state.frame_start + full_frame_dots);
    CHECK(bench.state.is_odd_frame && bench.state.frame_dots() == full_frame_dots - 1);
    bench.write(1, 0, 60);
    CHECK(bench.state.frame_dots() == full_frame_dots);
    bench.write(1, mask_background, prerender_dot + 400);  // too late
    CHECK(bench.state.frame_dots() == full_frame_dots);
}

TEST(data_is_read_one_read_late_and_colours_at_once) {
    Bench bench(Maker().chr(0x1234, 0x77));
    bench.write_at(0x2005, 0x12);
    bench.write_at(0x2006, 0x34);
    bench.set_address(0x2005);
    (void)bench.read(7, 100);
    CHECK(bench.read(7, 100) == 0x12);
    CHECK(bench.read(7, 100) == 0x34);
    bench.set_address(0x1234);
    (void)bench.read(7, 100);
    CHECK(bench.read(7, 100) == 0x77);
    bench.write_at(0x2F01, 0x99);  // under the palette
    bench.write_at(0x3F01, 0x2A);
    bench.set_address(0x3F01);
    CHECK((bench.read(7, 100) & 0x3F) == 0x2A);
    bench.set_address(0x2000);
    CHECK(bench.read(7, 100) == 0x99);
}

TEST(the_address_moves_by_1_or_32) {
    Bench bench;
    bench.set_address(0x2000);
    bench.write(7, 1, 100);
    CHECK(bench.state.registers.v == 0x2001);
    bench.write(0, ctrl_increment_32, 100);
    bench.write(7, 1, 100);
    CHECK(bench.state.registers.v == 0x2021);
}

TEST(backgrounds_of_sprite_palettes_are_those_of_the_background) {
    Bench bench;
    for (unsigned i = 0; i < 16; i += 4) {
        bench.write_at(0x3F10 + i, 0x20 + i);
        CHECK(bench.state.palette[i] == 0x20 + i);
        bench.write_at(0x3F01 + i, 1);
        bench.write_at(0x3F11 + i, 2);
        CHECK(bench.state.palette[i + 1] == 1 && bench.state.palette[i + 17] == 2);
    }
    bench.write_at(0x3F20, 0xFF);
    CHECK(bench.state.palette[0] == 0x3F);
}

TEST(name_tables_are_mirrored_as_the_board_is_wired) {
    Bench vertical;
    vertical.write_at(0x2000, 1), vertical.write_at(0x2400, 2);
    CHECK(vertical.state.name_tables[0] == 1 && vertical.state.name_tables[0x400] == 2);
    vertical.write_at(0x2800, 3);
    CHECK(vertical.state.name_tables[0] == 3);
    Bench horizontal(Maker().mirroring(Mirroring::horizontal));
    horizontal.write_at(0x2000, 1), horizontal.write_at(0x2800, 2);
    CHECK(horizontal.state.name_tables[0] == 1 && horizontal.state.name_tables[0x400] == 2);
    horizontal.write_at(0x2C00, 3);
    CHECK(horizontal.state.name_tables[0x400] == 3);
}

/// A screen full of opaque tiles with sprite 0 at (40, 30): drawn on line 31.
struct Sprite0Bench : Bench {
    Sprite0Bench() : Bench(Maker().solid_tile(1, 3)) {
        state.name_tables.fill(1);
        state.oam.fill(0xFF);
        state.oam[0] = 30, state.oam[1] = 1, state.oam[2] = 0, state.oam[3] = 40;
    }
};

std::int64_t screen_dot(unsigned line, unsigned dot) { return line0_dot + line * dots_per_line + dot; }

TEST(sprite_0_hits_at_its_first_opaque_pixel_and_stays_until_the_next_pre_render_line) {
    Sprite0Bench bench;
    bench.write(1, 0x1E, 50);
    CHECK((bench.read(2, screen_dot(31, 41)) & status_sprite0) == 0);
    CHECK((bench.read(2, screen_dot(31, 42)) & status_sprite0) != 0);
    bench.ppu.catch_up(bench.state.frame_start + full_frame_dots + 100);
    CHECK((bench.read(2, 200) & status_sprite0) != 0);
    CHECK((bench.read(2, prerender_dot) & status_sprite0) == 0);
}

bool hits(unsigned mask, std::uint8_t x, std::uint8_t y, std::uint8_t background = 1) {
    Sprite0Bench bench;
    bench.state.oam[0] = y, bench.state.oam[3] = x;
    bench.state.name_tables.fill(background);
    bench.write(1, mask, 50);
    return bench.read(2, screen_dot(239, 340)) & status_sprite0;
}

TEST(sprite_0_needs_both_layers_both_pixels_and_a_column_that_shows) {
    CHECK(hits(0x1E, 40, 30));
    CHECK(!hits(0x0E, 40, 30));
    CHECK(!hits(0x16, 40, 30));
    CHECK(hits(0x1E, 254, 30));
    CHECK(!hits(0x1E, 255, 30));
    CHECK(hits(0x1E, 0, 30));
    CHECK(!hits(0x18, 0, 30));
    CHECK(hits(0x18, 1, 30));  // its last column stands beside the clipped ones
    CHECK(hits(0x1E, 40, 238));
    CHECK(!hits(0x1E, 40, 239));
    CHECK(!hits(0x1E, 40, 30, 0));
}

TEST(the_ninth_sprite_of_a_line_sets_the_overflow_flag) {
    for (const unsigned count : {8u, 9u}) {
        Bench bench;
        bench.state.oam.fill(0xFF);
        for (unsigned i = 0; i < count; ++i) bench.state.oam[4 * i] = 100;
        bench.write(1, 0x1E, 50);
        CHECK((bench.read(2, screen_dot(100, 64)) & status_overflow) == 0);
        CHECK(((bench.read(2, screen_dot(101, 0)) & status_overflow) != 0) == (count == 9));
    }
}

TEST(the_scroll_position_does_not_depend_on_how_often_the_status_is_read) {
    // Once per line, never, and with a write in between, which moves t: the same v where the frame ends.
    for (const bool scrolls : {false, true}) {
        Bench polling, quiet;
        for (Bench* bench : {&polling, &quiet}) {
            bench->set_address(0x2345);
            bench->write(1, mask_rendering, 200);
        }
        const auto scroll = [&](Bench& bench) {
            bench.write(5, 0x55, line0_dot + 100 * dots_per_line);
            bench.write(5, 0x00, line0_dot + 100 * dots_per_line + 9);
        };
        for (unsigned line = 1; line < num_lines; ++line) {
            if (scrolls && line == 101) scroll(polling);
            (void)polling.read(2, line0_dot + line * dots_per_line - 20);
        }
        if (scrolls) scroll(quiet);
        for (Bench* bench : {&polling, &quiet}) {
            (void)bench->cycle_at(0);
            bench->ppu.catch_up(bench->state.frame_start + bench->state.frame_dots() - 1);
        }
        CHECK(polling.state.registers.v == quiet.state.registers.v);
        CHECK(polling.state.position == quiet.state.position);
        CHECK(polling.state.status == quiet.state.status);
    }
}

TEST(oam_is_written_byte_by_byte_but_not_while_it_is_drawn) {
    Bench bench;
    bench.write(3, 0x10, 100);
    bench.write(4, 0x55, 100);
    CHECK(bench.state.oam[0x10] == 0x55 && bench.state.oam_address == 0x11);
    bench.write(1, 0x1E, 100);
    bench.write(4, 0x66, screen_dot(10, 100));
    CHECK(bench.state.oam[0] != 0x66);
}

}  // namespace

int main() { return check::run_all(); }
