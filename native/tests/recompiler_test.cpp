#include "recompiler/discovery.h"

#include <string>

#include "cartridges.h"
#include "check.h"
#include "recompiler/blocks.h"
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
        for (std::size_t at = 0; (at = text.find("    BEGIN;", at)) != std::string::npos; ++at) ++found;
        return found;
    };
    std::size_t in_parts = 0;
    for (unsigned part = 0; part < 3; ++part) in_parts += count(write_engine(board, "hash", part, 3));
    CHECK(count(whole) > 5);
    CHECK(in_parts == count(whole));
    CHECK(whole.find("\"hash\"") != std::string::npos);
}

/// All of a program's blocks taken to be hot.
struct Cut {
    explicit Cut(const mario::nes::Board& board) : code(discover(board.prg_rom)), blocks(cut_blocks(board.prg_rom, code)) {
        HotAddresses is_hot;
        is_hot.fill(true);
        regions = find_hot_regions(blocks, code, is_hot);
    }

    [[nodiscard]] const Region* region_of(unsigned root) const {
        for (const Region& region : regions) {
            if (region.members.front().block->address == root) return &region;
        }
        return nullptr;
    }

    Code code;
    std::vector<Block> blocks;
    std::vector<Region> regions;
};

TEST(a_block_to_which_only_one_region_leads_belongs_to_it) {
    // BNE $8004; LDA #1 [$8004:] STA $10; RTS: both ways join again.
    const auto board = Maker().code(reset_at, {0xD0, 0x02, 0xA9, 0x01, 0x85, 0x10, 0x60}).board();
    const Cut cut(board);
    const Region* const region = cut.region_of(0x8000);
    CHECK(region != nullptr && region->holds(0x8004) && cut.region_of(0x8004) == nullptr);
    // BNE (3) and LDA (2), then STA (3) and RTS (6), which does not look again.
    CHECK(!region->members[1].is_checked && region->members[1].needed_cycles == 9 && region->members[0].needed_cycles == 3 + 2 + 9);
}

TEST(what_is_called_or_returned_to_begins_a_region) {
    // JSR $8100; [$8003:] NOP; RTS, and at $8100 a branch to its own RTS.
    const auto board = Maker().code(reset_at, {0x20, 0x00, 0x81, 0xEA, 0x60}).code(0x8100, {0xD0, 0x01, 0xEA, 0x60}).board();
    const Cut cut(board);
    CHECK(cut.region_of(0x8003) != nullptr && cut.region_of(0x8100) != nullptr && cut.region_of(0x8100)->holds(0x8103));
    CHECK(cut.region_of(0x8000)->members.size() == 1);
}

TEST(a_loop_looks_at_the_deadline_in_every_round) {
    // LDX #5; [$8002:] DEX; BNE $8002; RTS.
    const auto board = Maker().code(reset_at, {0xA2, 0x05, 0xCA, 0xD0, 0xFD, 0x60}).board();
    const Cut cut(board);
    const Region* const region = cut.region_of(0x8000);
    CHECK(region != nullptr && region->holds(0x8002));
    CHECK(region->members[1].is_checked && region->members[0].needed_cycles == 2);
}

TEST(behind_an_access_to_a_register_the_deadline_is_looked_at) {
    // STA $2000; [$8003:] NOP; RTS.
    const auto board = Maker().code(reset_at, {0x8D, 0x00, 0x20, 0xEA, 0x60}).board();
    const Cut cut(board);
    const Region* const region = cut.region_of(0x8000);
    CHECK(region != nullptr && region->holds(0x8003) && region->members[1].is_checked);
}

TEST(a_region_needs_no_more_cycles_than_a_byte_holds) {
    // 60 times BNE over an INC $1234,X: every way goes ahead, and none of the blocks is long.
    Maker maker;
    for (unsigned i = 0; i < 60; ++i) maker.code(static_cast<std::uint16_t>(reset_at + 5 * i), {0xD0, 0x03, 0xFE, 0x34, 0x12});
    const auto board = maker.code(reset_at + 5 * 60, {0x60}).board();
    const Cut cut(board);
    std::size_t num_members = 0;
    for (const Region& region : cut.regions) {
        num_members += region.members.size();
        CHECK(region.num_instructions() <= 150);
        for (const Region::Member& member : region.members) CHECK(member.needed_cycles >= 1 && member.needed_cycles <= 250);
    }
    CHECK(num_members == cut.blocks.size());
}

TEST(a_file_that_is_not_there_is_no_engine) {
    const auto board = Maker().board();
    CHECK(check::message_of<EngineError>([&] { (void)open_engine("/nowhere/engine.so", board, "hash"); }).find("cannot be loaded") !=
          std::string::npos);
}

}  // namespace

int main() { return check::run_all(); }
