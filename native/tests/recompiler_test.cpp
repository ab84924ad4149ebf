#include "recompiler/discovery.h"

#include <string>

#include "cartridges.h"
#include "check.h"
#include "recompiler/engine.h"
#include "recompiler/writer.h"

using namespace mario::recompiler;
using namespace cartridges;

namespace {

/// ASL TAY PLA PLA... JMP (6): takes its return address, which leads to a table.
Maker with_jump_engine() {
    return Maker().code(0x9800, {0x0A, 0xA8, 0x68, 0x85, 0x04, 0x68, 0x85, 0x05, 0xC8, 0xB1, 0x04, 0x85, 0x06, 0xC8, 0xB1, 0x04, 0x85,
                                 0x07, 0x6C, 0x06, 0x00});
}

TEST(code_is_followed_through_branches_calls_and_jumps) {
    // BNE $8005; JSR $8100; JMP $8200.
    const auto board = Maker()
                           .code(reset_at, {0xD0, 0x03, 0x20, 0x00, 0x81, 0x4C, 0x00, 0x82})
                           .code(0x8100, {0x60})
                           .code(0x8200, {0xEA, 0x60})
                           .board();
    const Code code = discover(board.prg_rom);
    for (const unsigned head : {0x8000, 0x8005, 0x8100, 0x8200, 0x9000, 0xA000}) CHECK(code.is_head[head]);
    CHECK(!code.is_head[0x8002]);  // not taken: the block goes on
    CHECK(!code.is_head[0x8008]);  // behind a jump
    CHECK(code.num_instructions == 8);
}

TEST(a_table_behind_a_call_is_read_and_not_taken_for_code) {
    // JSR to the jump engine, two addresses of which the first lies behind the table.
    const auto board = with_jump_engine()
                           .code(reset_at, {0x20, 0x00, 0x98, 0x07, 0x80, 0x00, 0x83, 0x60, 0x20, 0x00, 0x84})
                           .code(0x8300, {0x60})
                           .board();
    const Code code = discover(board.prg_rom);
    CHECK(code.num_tables == 1);
    CHECK(code.is_head[0x8007] && code.is_head[0x8300]);
    CHECK(!code.is_head[0x8003]);
    CHECK(!code.is_head[0x8400]);  // would be the table's fourth entry
}

TEST(a_call_of_a_routine_that_returns_has_no_table) {
    // The same routine, but it pushes as much as it pulls.
    const auto board = Maker()
                           .code(reset_at, {0x20, 0x00, 0x98, 0x60})
                           .code(0x9800, {0x48, 0x68, 0x6C, 0x06, 0x00})
                           .board();
    const Code code = discover(board.prg_rom);
    CHECK(code.num_tables == 0);
    CHECK(code.is_head[0x8003]);
}

TEST(an_access_to_a_register_ends_a_block) {
    const auto board = Maker().code(reset_at, {0xA9, 0x00, 0x8D, 0x00, 0x20, 0x85, 0x10, 0x60}).board();
    const Code code = discover(board.prg_rom);
    CHECK(code.is_head[0x8005] && !code.is_head[0x8002] && !code.is_head[0x8007]);
}

TEST(an_index_past_the_end_of_the_address_space_is_the_buss_matter) {
    const auto board = Maker().code(reset_at, {0xBD, 0x01, 0xFF, 0xBD, 0x00, 0xFF, 0xBD, 0x01, 0x1F, 0xBD, 0x00, 0x1F}).board();
    CHECK(decode(board.prg_rom, 0x8000).kind == Kind::bus);    // $FF01,X
    CHECK(decode(board.prg_rom, 0x8003).kind == Kind::plain);  // $FF00,X
    CHECK(decode(board.prg_rom, 0x8006).kind == Kind::bus);    // $1F01,X
    CHECK(decode(board.prg_rom, 0x8009).kind == Kind::plain);  // $1F00,X
}

TEST(an_instruction_that_goes_on_in_ram_is_left_to_the_interpreter) {
    const auto board = Maker().code(0xFFFF, {0x4C}).board();
    CHECK(decode(board.prg_rom, 0xFFFF).kind == Kind::interpreted);
}

TEST(the_parts_of_an_engine_hold_every_block_once) {
    const auto board = busy_program().board();
    const std::string whole = write_engine(board, "hash", 0, 1);
    const auto count = [](const std::string& text) {
        std::size_t found = 0;
        for (std::size_t at = 0; (at = text.find("    BEGIN(", at)) != std::string::npos; ++at) ++found;
        return found;
    };
    std::size_t in_parts = 0;
    for (unsigned part = 0; part < 3; ++part) in_parts += count(write_engine(board, "hash", part, 3));
    CHECK(count(whole) > 5);
    CHECK(in_parts == count(whole));
    CHECK(whole.find("\"hash\"") != std::string::npos);
}

TEST(a_file_that_is_not_there_is_no_engine) {
    const auto board = Maker().board();
    CHECK(check::message_of<EngineError>([&] { (void)open_engine("/nowhere/engine.so", board, "hash"); }).find("cannot be loaded") !=
          std::string::npos);
}

}  // namespace

int main() { return check::run_all(); }
