#include "exploration/explorer.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cartridges.h"
#include "check.h"
#include "exploration/kept_state.h"
#include "exploration/remaining.h"
#include "smb/game.h"

using namespace mario::exploration;
using namespace cartridges;
using mario::nes::Board;
using mario::nes::Console;

namespace {

constexpr std::uint8_t right = mario::nes::button_right, left = mario::nes::button_left, down = mario::nes::button_down,
                       up = mario::nes::button_up;

/// Memory as the game has it, in a corridor of three screens: right and left walk 4 pixels a frame, down dies, up makes tall on the
/// second screen, the end is the axe.
Board corridor() {
    return Maker()
        .code(reset_at, {0x78, 0xD8, 0xA2, 0xFF, 0x9A,                                // SEI CLD LDX #FF TXS
                         0xA9, 0x01, 0x8D, 0x70, 0x07, 0x85, 0xB5,                    // a game, on the screen
                         0xA9, 0x03, 0x8D, 0x72, 0x07, 0xA9, 0x08, 0x85, 0x0E,        // it plays, and the player obeys
                         0xA9, 0x40, 0x85, 0x86, 0xA9, 0x80, 0x85, 0xE8,              // x 64, room $8000
                         0xA9, 0x02, 0x8D, 0x5A, 0x07, 0xA9, 0x80, 0x8D, 0x00, 0x20,  // two lives; NMI on
                         0x4C, 0x27, 0x80})
        .code(nmi_at, {0xA9, 0x01, 0x8D, 0x16, 0x40, 0x4A, 0x8D, 0x16, 0x40, 0xA2, 0x08,          // the controller,
                       0xAD, 0x16, 0x40, 0x4A, 0x26, 0x11, 0xCA, 0xD0, 0xF7,                      // right lowest
                       0xA5, 0x11, 0x29, 0x01, 0xF0, 0x0D, 0xA5, 0x86, 0x18, 0x69, 0x04, 0x85, 0x86,  // right: x += 4
                       0xA5, 0x6D, 0x69, 0x00, 0x85, 0x6D,
                       0xA5, 0x11, 0x29, 0x02, 0xF0, 0x0D, 0xA5, 0x86, 0x38, 0xE9, 0x04, 0x85, 0x86,  // left: x -= 4
                       0xA5, 0x6D, 0xE9, 0x00, 0x85, 0x6D,
                       0xA5, 0x11, 0x29, 0x04, 0xF0, 0x04, 0xA9, 0x0B, 0x85, 0x0E,                // down: dies
                       0xA5, 0x11, 0x29, 0x08, 0xF0, 0x0B,                                        // up:
                       0xA5, 0x6D, 0xC9, 0x01, 0xD0, 0x05, 0xA9, 0x01, 0x8D, 0x56, 0x07,          // on the second screen: tall
                       0xA5, 0x6D, 0xC9, 0x03, 0xD0, 0x05, 0xA9, 0x02, 0x8D, 0x70, 0x07, 0x40})   // the axe
        .board();
}

Console at_start(const Board& board) {
    Console console = powered_on(board);
    run_frames(console, board, 3);
    return console;
}

ExplorerConfig config_for(unsigned num_threads, std::uint64_t seed = 1) {
    ExplorerConfig config;
    config.num_threads = num_threads;
    config.seed = seed;
    config.max_cells = 4096;
    config.actions = {0, right, left, down};
    return config;
}

struct Found {
    std::vector<Actions> paths;
    std::vector<std::uint32_t> picks;
    Actions best;
    bool operator==(const Found&) const = default;
};

Found found_by(const Explorer& explorer) {
    Found found;
    for (std::uint32_t cell = 0; cell < explorer.archive().num_cells(); ++cell) {
        found.paths.push_back(explorer.archive().actions(cell));
        found.picks.push_back(explorer.archive().describe(cell).num_picks);
    }
    found.best = explorer.best_path();
    return found;
}

constexpr std::uint64_t forever = ~std::uint64_t{0};

TEST(the_corridor_is_what_the_tests_take_it_for) {
    const Board board = corridor();
    Console console = at_start(board);
    CHECK(mario::smb::read_game(console.ram).has_control);
    run_frames(console, board, 10, right);
    CHECK(mario::smb::read_game(console.ram).x == 64 + 40);
    run_frames(console, board, 2, left);
    CHECK(mario::smb::read_game(console.ram).x == 64 + 32);
    run_frames(console, board, 200, right);
    CHECK(mario::smb::read_game(console.ram).is_stage_clear);
}

TEST(a_search_finds_the_shortest_way_and_stops_when_it_is_told) {
    const Board board = corridor();
    for (const unsigned num_threads : {1u, 2u, 4u}) {
        Explorer explorer(board, config_for(num_threads), at_start(board));
        explorer.run(forever, 50'000);
        const auto status = explorer.status();
        // 704 pixels, 16 a step.
        CHECK(explorer.best_path() == Actions(44, 1));
        CHECK(status.best_steps == 44 && status.num_goals > 0 && status.num_deaths > 0);
        CHECK(status.num_frames >= status.first_goal_frames + 50'000 && status.num_frames < status.first_goal_frames + 80'000);
        CHECK(status.furthest_x >= 750 && status.furthest_x < 768);
    }
}

TEST(a_search_for_a_power_up_ends_where_one_was_taken) {
    const Board board = corridor();
    ExplorerConfig config = config_for(1);
    config.actions = {0, right, left, down, up};
    config.goal = MARIO_GOAL_POWER_UP;
    Explorer explorer(board, config, at_start(board));
    explorer.run(forever, 50'000);
    // The second screen begins 192 pixels on, at 16 a step; the axe is no goal.
    Actions shortest(12, 1);
    shortest.push_back(4);
    CHECK(explorer.best_path() == shortest);
    CHECK(explorer.status().num_deaths > 0);

    config.actions = {0, right, left, down};
    Explorer without(board, config, at_start(board));
    without.run(100'000, forever);
    CHECK(without.best_path().empty() && without.status().furthest_x > 700);
}

TEST(equal_seeds_give_equal_searches_on_one_thread_however_they_are_divided) {
    const Board board = corridor();
    Explorer whole(board, config_for(1), at_start(board)), divided(board, config_for(1), at_start(board));
    Explorer other(board, config_for(1, 2), at_start(board));
    whole.run(40'000, forever);
    other.run(40'000, forever);
    for (std::uint64_t frames = 0; frames <= 40'000; frames += 777) divided.run(std::min<std::uint64_t>(frames, 40'000), forever);
    divided.run(40'000, forever);
    CHECK(found_by(whole) == found_by(divided));
    CHECK(!(found_by(whole) == found_by(other)));
}

TEST(a_search_goes_on_from_the_paths_of_another) {
    const Board board = corridor();
    Explorer first(board, config_for(1), at_start(board));
    first.run(30'000, forever);
    const Found found = found_by(first);
    Actions actions;
    std::vector<std::uint64_t> ends;
    for (const Actions& path : found.paths) {
        actions.insert(actions.end(), path.begin(), path.end());
        ends.push_back(actions.size());
    }
    for (const unsigned num_threads : {1u, 3u}) {
        Explorer second(board, config_for(num_threads, 9), at_start(board));
        second.add_paths(actions, ends);
        CHECK(second.archive().num_cells() == first.archive().num_cells());
        CHECK(second.status().num_frames < 4 * actions.size());  // common beginnings are played once
        CHECK(std::ranges::is_permutation(found.paths, found_by(second).paths));
    }
}

TEST(paths_that_do_not_fit_are_refused) {
    const Board board = corridor();
    Explorer explorer(board, config_for(1), at_start(board));
    const Actions unknown{4}, known{1};
    const std::vector<std::uint64_t> one{1}, two{2};
    CHECK_CONTAINS(check::message_of<std::invalid_argument>([&] { explorer.add_paths(unknown, one); }), "action set");
    CHECK_CONTAINS(check::message_of<std::invalid_argument>([&] { explorer.add_paths(known, two); }), "do not fit");
    Console no_game = powered_on(board);
    CHECK_CONTAINS(check::message_of<std::invalid_argument>([&] { Explorer refused(board, config_for(1), no_game); }), "control");
}

TEST(an_archive_that_is_full_keeps_what_it_has) {
    const Board board = corridor();
    ExplorerConfig config = config_for(2);
    config.max_cells = 8;
    Explorer explorer(board, config, at_start(board));
    explorer.run(20'000, forever);
    CHECK(explorer.archive().num_cells() == 8 && explorer.status().is_full);
}

TEST(a_kept_state_plays_on_as_the_console_it_was_taken_from) {
    const Board board = busy_program().board();
    const Console start = powered_on(board);
    Console console = start, restored = start;
    for (unsigned round = 0; round < 6; ++round) {
        run_frames(console, board, 5, static_cast<mario::nes::Buttons>(round * 37));
        if (round == 3) console.prg_ram[5] = 0xAB;
        if (round == 4) console.ppu.chr_ram[7] = 0xCD;
        KeptState state;
        state.keep(console, start);
        state.restore(restored, start);
        CHECK(saved(restored, board) == saved(console, board));
        CHECK(round >= 3 || state.num_bytes() < 8192);
    }
}

/// Cells in a row, on the ground, `columns` from the left.
std::vector<CellKey> cells_at(std::initializer_list<unsigned> columns) {
    std::vector<CellKey> keys;
    for (const unsigned column : columns) {
        mario_game game{};
        game.x = static_cast<std::uint16_t>(column * cell_pixels);
        keys.push_back(cell_of(game));
    }
    return keys;
}

TEST(remaining_steps_are_those_of_the_path_and_of_what_leads_to_it) {
    // Cells 0 1 2 3 are the path, which takes two steps in 1. From 4 one comes to 2 in three steps or to 5 in one; 5 leads to 3. 6 dies.
    const auto keys = cells_at({0, 1, 2, 3, 20, 40, 60});
    const std::vector<std::uint32_t> path{0, 1, 1, 2, 3};
    const Trace one{begin_mark, 4, 4, 4, 2}, other{begin_mark, 4, 5, begin_mark, 5, 3, 6, begin_mark, 6, 6};
    const std::vector<const Trace*> traces{&one, &other};
    const std::vector<std::uint32_t> expected{5, 3, 2, 1, 3, 2, ~0u};
    CHECK(remaining_steps(keys, path, traces) == expected);
}

TEST(a_loop_of_the_path_does_not_count_and_is_level) {
    // From 1 it goes to 2 and 3, comes back to 1 and goes on to 4.
    const auto keys = cells_at({0, 1, 2, 60, 4});
    const std::vector<std::uint32_t> path{0, 1, 2, 3, 3, 1, 4};
    const Trace trace{begin_mark, 0, 1, 2, 3, 3, 1, 4, goal_mark};
    const std::vector<const Trace*> traces{&trace};
    const std::vector<std::uint32_t> expected{4, 2, 2, 2, 1};
    CHECK(remaining_steps(keys, path, traces) == expected);
}

TEST(time_never_grows_along_a_path_whose_loops_overlap) {
    // 2 is left for 1, and reached again behind 3: what was gained by the first visit must not be lost on the way back to 1.
    const auto keys = cells_at({0, 1, 2, 3, 4});
    const std::vector<std::uint32_t> path{0, 1, 2, 1, 3, 2, 4};
    const Trace trace{begin_mark, 0, 1, 2, 1, 3, 2, 4, goal_mark};
    const std::vector<const Trace*> traces{&trace};
    const auto remaining = remaining_steps(keys, path, traces);
    for (std::size_t at = 1; at < path.size(); ++at) CHECK(remaining[path[at]] <= remaining[path[at - 1]]);
    const std::vector<std::uint32_t> expected{6, 2, 2, 2, 1};
    CHECK(remaining == expected);
}

TEST(a_number_that_chance_made_large_follows_its_neighbours) {
    // From 4 it took twenty-one steps to come back to the path, through 5, but once one step led from 4 to 3, next to it.
    const auto keys = cells_at({0, 1, 2, 5, 6, 8});
    const std::vector<std::uint32_t> path{0, 1, 2};
    Trace trace{begin_mark, 3, 2, goal_mark, begin_mark};
    trace.push_back(4);
    trace.insert(trace.end(), 20, 5);
    trace.insert(trace.end(), {2, begin_mark, 4, 3});
    const std::vector<const Trace*> traces{&trace};
    const auto remaining = remaining_steps(keys, path, traces);
    CHECK(remaining[3] == 2 && remaining[4] == 4 && remaining[5] == 2);
}

TEST(a_cell_in_the_corridor_is_as_far_from_the_goal_as_it_is) {
    const Board board = corridor();
    Explorer explorer(board, config_for(1), at_start(board));
    explorer.run(forever, 100'000);
    const auto remaining = explorer.remaining_steps();
    unsigned wrong = 0;
    for (std::uint32_t cell = 0; cell < remaining.size(); ++cell) {
        const auto described = explorer.archive().describe(cell);
        if (described.x < 2048) wrong += remaining[cell] != 48u - described.x;
    }
    CHECK(wrong == 0);
}

}  // namespace

int main() { return check::run_all(); }
