#include "nes/save_state.h"

#include <cstdint>
#include <cstring>

#include "cartridges.h"
#include "check.h"

using namespace mario::nes;
using namespace cartridges;

namespace {

std::string complaint_about(const std::vector<std::uint8_t>& bytes, const Board& board) {
    Console console = powered_on(board, 0x55);
    const auto before = saved(console, board);
    const auto message = check::message_of<SaveStateError>([&] { read_save_state(console, board, bytes); });
    if (!message.empty()) CHECK(saved(console, board) == before);
    return message;
}

TEST(a_loaded_console_goes_on_as_the_saved_one_did) {
    const auto board = busy_program().board();
    auto console = powered_on(board);
    run_frames(console, board, 30, button_a);
    const auto early = saved(console, board);
    run_frames(console, board, 25, button_b);
    const auto late = saved(console, board);
    Console other = powered_on(board, 0xAA);
    read_save_state(other, board, early);
    CHECK(saved(other, board) == early);
    run_frames(other, board, 25, button_b);
    CHECK(saved(other, board) == late);
    read_save_state(console, board, early);
    run_frames(console, board, 25, button_b);
    CHECK(saved(console, board) == late);
}

TEST(a_copy_goes_on_as_its_original_did) {
    for (const auto& board : {busy_program().board(), Maker(0).code(reset_at, {0x4C, 0x00, 0x80}).board()}) {
        auto console = powered_on(board);
        console.ppu.chr_ram[5] = 9;
        run_frames(console, board, 30);
        Console other = powered_on(board, 0x11);
        copy_console(other, console, board);
        run_frames(console, board, 5);
        run_frames(other, board, 5);
        if (!board.has_chr_ram) other.ppu.chr_ram = console.ppu.chr_ram;
        CHECK(saved(console, board) == saved(other, board));
    }
}

TEST(damaged_cut_and_foreign_states_are_refused) {
    const auto board = busy_program().board();
    auto console = powered_on(board);
    run_frames(console, board, 10);
    const auto good = saved(console, board);
    CHECK(complaint_about(good, board).empty());
    CHECK_CONTAINS(complaint_about({good.begin(), good.begin() + 10}, board), "at least 32");
    CHECK_CONTAINS(complaint_about({good.begin(), good.end() - 1}, board), "bytes");
    CHECK_CONTAINS(complaint_about({}, board), "at least 32");
    for (const std::size_t at : {std::size_t{0}, std::size_t{8}, std::size_t{12}, std::size_t{16}, std::size_t{24}, std::size_t{40}, good.size() - 1}) {
        auto bad = good;
        bad[at] ^= 1;
        CHECK(!complaint_about(bad, board).empty());
    }
    const auto other_board = Maker().board();
    CHECK_CONTAINS(complaint_about(good, other_board), "another cartridge");
}

/// A state with one impossible value and a checksum that fits.
template <typename Damage>
std::string complaint_about_damage(Damage damage) {
    const auto board = busy_program().board();
    auto console = powered_on(board);
    run_frames(console, board, 10);
    damage(console);
    auto bytes = saved(console, board);
    return complaint_about(bytes, board);
}

TEST(impossible_values_are_refused_though_the_checksum_fits) {
    CHECK(complaint_about_damage([](Console&) {}).empty());
    const auto fill_log = [](Console& c, std::uint32_t count) {
        c.ppu.log.fill({prerender_dot, register_access, 0, 0});
        c.ppu.num_logged = count;
    };
    CHECK(complaint_about_damage([&](Console& c) { fill_log(c, max_logged); }).empty());
    CHECK_CONTAINS(complaint_about_damage([&](Console& c) { fill_log(c, max_logged + 1); }), "no console can have");
    CHECK_CONTAINS(complaint_about_damage([&](Console& c) { fill_log(c, 5), c.ppu.log[4].address = 0x4000; }), "no console can have");
    CHECK_CONTAINS(complaint_about_damage([](Console& c) { c.ppu.registers.fine_x = 8; }), "no console can have");
    CHECK_CONTAINS(complaint_about_damage([](Console& c) { c.ppu.registers.v = 0x8000; }), "no console can have");
    CHECK_CONTAINS(complaint_about_damage([](Console& c) { c.ppu.palette[3] = 0x40; }), "no console can have");
    CHECK_CONTAINS(complaint_about_damage([](Console& c) { c.ppu.frame_start += 90000; }), "no console can have");
    CHECK_CONTAINS(complaint_about_damage([](Console& c) { c.cycle = 0; }), "no console can have");
    CHECK_CONTAINS(complaint_about_damage([](Console& c) { c.cycle = ~std::uint64_t{0}; }), "no console can have");
    CHECK_CONTAINS(complaint_about_damage([](Console& c) { c.apu.sequence_start -= 100000; }), "no console can have");
    CHECK_CONTAINS(complaint_about_damage([](Console& c) { c.apu.step = 9; }), "no console can have");
    CHECK_CONTAINS(complaint_about_damage([](Console& c) { c.dma_stall = 600; }), "no console can have");
    CHECK_CONTAINS(complaint_about_damage([](Console& c) { c.cpu.is_jammed = 2; }), "no console can have");
}

}  // namespace

int main() { return check::run_all(); }
