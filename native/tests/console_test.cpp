#include "nes/console.h"

#include <cstdint>
#include <vector>

#include "cartridges.h"
#include "check.h"

using namespace mario::nes;
using namespace cartridges;

namespace {

TEST(one_nmi_comes_in_every_vertical_blank) {
    // LDA #80, STA $2000, JMP self; NMI: INC $10, RTI.
    const auto board = Maker().code(reset_at, {0xA9, 0x80, 0x8D, 0x00, 0x20, 0x4C, 0x05, 0x80}).code(nmi_at, {0xE6, 0x10, 0x40}).board();
    auto console = powered_on(board);
    run_frames(console, board, 5);
    CHECK(console.ram[0x10] == 4);  // the frame of power-on begins without one
    CHECK(console.frame_count == 5);
}

TEST(an_nmi_enabled_inside_vertical_blank_comes_after_one_more_instruction) {
    // Waits 30,900 cycles, into the second vertical blank; LDA #80, STA $2000, INC $11, INC $11, JMP self.
    const auto board = Maker()
                           .code(reset_at, {0xA0, 0x18, 0xA2, 0x00, 0xCA, 0xD0, 0xFD, 0x88, 0xD0, 0xF8, 0xA9, 0x80, 0x8D, 0x00, 0x20,
                                            0xE6, 0x11, 0xE6, 0x11, 0x4C, 0x13, 0x80})
                           .code(nmi_at, {0xA5, 0x11, 0x85, 0x12, 0xE6, 0x10, 0x40})
                           .board();
    auto console = powered_on(board);
    run_frames(console, board, 2);
    CHECK(console.ram[0x10] == 1);
    CHECK(console.ram[0x12] == 1);
}

/// Two logged writes of a program tell how many cycles lie between them.
std::uint32_t cycles_between_logged(const Console& console, unsigned first, unsigned second) {
    CHECK(console.ppu.num_logged > second);
    return (console.ppu.log[second].dot - console.ppu.log[first].dot) / 3;
}

TEST(oam_dma_takes_513_cycles_or_514_from_an_even_one) {
    // Picture on, wait for the picture; LDX $00 (3 cycles), STA $2005, STA $4014, STA $2005, LDX $00 (3 cycles), the same again, JMP self.
    const auto board = Maker()
                           .code(reset_at, {0xA9, 0x1E, 0x8D, 0x01, 0x20, 0xA0, 0x10, 0xA2, 0x00, 0xCA, 0xD0, 0xFD, 0x88, 0xD0, 0xF8,
                                            0xA9, 0x02, 0xA6, 0x00, 0x8D, 0x05, 0x20, 0x8D, 0x14, 0x40, 0x8D, 0x05, 0x20, 0xA6, 0x00,
                                            0x8D, 0x05, 0x20, 0x8D, 0x14, 0x40, 0x8D, 0x05, 0x20, 0x4C, 0x27, 0x80})
                           .board();
    auto console = powered_on(board);
    for (unsigned i = 0; i < 256; ++i) console.ram[0x200 + i] = static_cast<std::uint8_t>(i);
    run_frames(console, board, 1);
    const auto first = cycles_between_logged(console, 0, 1) - 8, second = cycles_between_logged(console, 2, 3) - 8;
    CHECK(first == 513 || first == 514);
    CHECK(second == 513 || second == 514);
    CHECK(first != second);
    CHECK(console.ppu.oam[0] == 0 && console.ppu.oam[255] == 255 && console.ppu.oam[6] == (6 & 0xE3));
}

TEST(a_controller_shifts_out_eight_buttons_then_ones_on_a_floating_bus) {
    // Strobe, then ten reads of $4016 to $20.., one of $4017 to $30; JMP self.
    const auto board = Maker()
                           .code(reset_at, {0xA9, 0x01, 0x8D, 0x16, 0x40, 0xA9, 0x00, 0x8D, 0x16, 0x40, 0xA2, 0x00,
                                            0xAD, 0x16, 0x40, 0x95, 0x20, 0xE8, 0xE0, 0x0A, 0xD0, 0xF6,
                                            0xAD, 0x17, 0x40, 0x85, 0x30, 0x4C, 0x1B, 0x80})
                           .board();
    auto console = powered_on(board);
    console.run_frame(board, button_a | button_start | button_right);
    const std::uint8_t expected[10] = {0x41, 0x40, 0x40, 0x41, 0x40, 0x40, 0x40, 0x41, 0x41, 0x41};
    for (unsigned i = 0; i < 10; ++i) CHECK(console.ram[0x20 + i] == expected[i]);
    CHECK(console.ram[0x30] == 0x40);
    CHECK(console.lag_frames == 0);
    run_frames(console, board, 3);
    CHECK(console.lag_frames == 3);
}

TEST(the_frame_counter_interrupts_a_program_that_lets_it) {
    // CLI, JMP self; IRQ: LDA $4015, INC $10, RTI.
    const auto board = Maker().code(reset_at, {0x58, 0x4C, 0x01, 0x80}).code(irq_at, {0xAD, 0x15, 0x40, 0xE6, 0x10, 0x40}).board();
    auto console = powered_on(board);
    run_frames(console, board, 10);
    CHECK(console.ram[0x10] == 9 || console.ram[0x10] == 10);
    const auto masked = Maker().code(reset_at, {0x78, 0x4C, 0x01, 0x80}).code(irq_at, {0xE6, 0x10, 0x40}).board();
    auto deaf = powered_on(masked);
    run_frames(deaf, masked, 10);
    CHECK(deaf.ram[0x10] == 0);
}

TEST(cli_lets_one_more_instruction_pass_before_a_waiting_irq) {
    // Waits 38,600 cycles with SEI until the IRQ is held; CLI, INC $11, INC $11, JMP self. IRQ: LDA $11, STA $12, LDA $4015, RTI.
    const auto board = Maker()
                           .code(reset_at, {0x78, 0xA0, 0x1E, 0xA2, 0x00, 0xCA, 0xD0, 0xFD, 0x88, 0xD0, 0xF8, 0x58, 0xE6, 0x11, 0xE6, 0x11,
                                            0x78, 0x4C, 0x11, 0x80})
                           .code(irq_at, {0xA5, 0x11, 0x85, 0x12, 0xE6, 0x10, 0xAD, 0x15, 0x40, 0x40})
                           .board();
    auto console = powered_on(board);
    run_frames(console, board, 2);
    CHECK(console.ram[0x10] == 1);
    CHECK(console.ram[0x12] == 1);
}

TEST(a_jammed_cpu_is_flagged_and_time_goes_on) {
    const auto board = Maker().code(reset_at, {0xE6, 0x10, 0x02}).board();
    auto console = powered_on(board);
    run_frames(console, board, 3);
    CHECK(console.is_jammed());
    CHECK(console.ram[0x10] == 1 && console.frame_count == 3);
    CHECK(console.ppu.frame_start == 3 * full_frame_dots);
    console.reset(board);
    CHECK(!console.is_jammed());
    run_frames(console, board, 1);
    CHECK(console.ram[0x10] == 2);
}

TEST(power_on_fills_ram_and_reset_keeps_it) {
    const auto board = Maker().code(reset_at, {0x4C, 0x00, 0x80}).board();
    auto console = powered_on(board, 0xFF);
    CHECK(console.ram[0] == 0xFF && console.ram[2047] == 0xFF);
    console.ram[7] = 3;
    console.reset(board);
    run_frames(console, board, 1);
    CHECK(console.ram[7] == 3 && console.cpu.s == 0xFA);
}

TEST(unmapped_addresses_answer_with_the_address_high_byte_and_prg_ram_keeps_bytes) {
    // LDA $5123 -> $10; STA $6123 (AB), LDA $6123 -> $11; LDA $2000 -> $12 after $2002 left its latch.
    const auto board = Maker()
                           .code(reset_at, {0xAD, 0x23, 0x51, 0x85, 0x10, 0xA9, 0xAB, 0x8D, 0x23, 0x61, 0xA9, 0x00, 0xAD, 0x23, 0x61,
                                            0x85, 0x11, 0xA9, 0x5A, 0x8D, 0x00, 0x20, 0xAD, 0x01, 0x20, 0x85, 0x12, 0x4C, 0x1B, 0x80})
                           .board();
    auto console = powered_on(board);
    run_frames(console, board, 1);
    CHECK(console.ram[0x10] == 0x51);
    CHECK(console.ram[0x11] == 0xAB && console.prg_ram[0x123] == 0xAB);
    CHECK(console.ram[0x12] == 0x5A);
}

TEST(skipped_idle_loops_leave_the_same_bytes_as_executed_ones) {
    // The polls of a busy program, a bare vertical-blank poll with and without AND, and BIT with BPL over a page's edge.
    const std::vector<Board> boards{
        busy_program().board(),
        Maker().code(reset_at, {0xAD, 0x02, 0x20, 0x10, 0xFB, 0xE6, 0x10, 0x4C, 0x00, 0x80}).board(),
        Maker().code(reset_at, {0xAD, 0x02, 0x20, 0x29, 0x80, 0xF0, 0xF9, 0xE6, 0x10, 0x4C, 0x00, 0x80}).board(),
        Maker().code(reset_at, {0x4C, 0xFC, 0x80}).code(0x80FC, {0x2C, 0x02, 0x20, 0x10, 0xFB, 0xE6, 0x10, 0x4C, 0xFC, 0x80}).board(),
        Maker().code(reset_at, {0x58, 0x4C, 0x01, 0x80}).code(irq_at, {0xAD, 0x15, 0x40, 0xE6, 0x10, 0x40}).board(),
    };
    for (const auto& board : boards) {
        auto skipping = powered_on(board), executing = powered_on(board);
        unsigned different = 0;
        for (unsigned frame = 0; frame < 200; ++frame) {
            const auto buttons = static_cast<Buttons>(frame * 37);
            skipping.run_frame(board, buttons, IdleLoops::skipped);
            executing.run_frame(board, buttons, IdleLoops::executed);
            different += saved(skipping, board) != saved(executing, board);
        }
        CHECK(different == 0);
        CHECK(skipping.ram[0x10] >= 100);
    }
}

TEST(a_busy_program_sees_its_split_in_the_log) {
    const auto board = busy_program().board();
    auto console = powered_on(board);
    run_frames(console, board, 20);
    CHECK(console.ppu.num_logged >= 2);
    const std::uint32_t line = (console.ppu.log[0].dot - console.ppu.drawn_line0) / dots_per_line;
    CHECK(line == 40 || line == 41);
    CHECK(console.ram[0x10] > 10 && console.lag_frames < 8);
}

}  // namespace

int main() { return check::run_all(); }
