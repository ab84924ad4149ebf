// mario_native.h over the C++ inside: the search for a way through a stage.
#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>

#include "boundary_guard.h"
#include "exploration/explorer.h"
#include "mario_native.h"
#include "nes/save_state.h"
#include "recompiler/engine.h"
#include "source_hash.h"

using mario::exploration::Actions;
using mario::exploration::Explorer;
using mario::exploration::ExplorerConfig;

struct mario_exploration {
    Explorer explorer;
};

namespace {

ExplorerConfig config_of(const mario_exploration_config& config, const uint8_t* actions) {
    if (config.goal > MARIO_GOAL_POWER_UP) throw std::invalid_argument("a search is for a cleared stage or for a power-up");
    return ExplorerConfig{
        .num_threads = config.num_threads,
        .frame_skip = config.frame_skip,
        .skips_idle = config.skips_idle != 0,
        .max_cells = config.max_cells,
        .seed = config.seed,
        .goal = static_cast<mario_goal>(config.goal),
        .actions = {actions, actions + config.num_actions},
    };
}

void expect_length(std::size_t expected, std::size_t given) {
    if (expected != given) {
        throw std::invalid_argument("room for " + std::to_string(expected) + " was expected, there is room for " + std::to_string(given));
    }
}

void expect_cell(const mario_exploration& exploration, uint32_t cell) {
    if (cell >= exploration.explorer.archive().num_cells()) throw std::invalid_argument("there is no cell " + std::to_string(cell));
}

void write_actions(const Actions& path, uint8_t* actions, std::size_t num_actions) {
    expect_length(path.size(), num_actions);
    std::copy(path.begin(), path.end(), actions);
}

}  // namespace

extern "C" {

size_t mario_exploration_config_bytes(void) { return sizeof(mario_exploration_config); }

size_t mario_exploration_status_bytes(void) { return sizeof(mario_exploration_status); }

size_t mario_cell_bytes(void) { return sizeof(mario_cell); }

int32_t mario_exploration_create(const uint8_t* file, size_t file_bytes, const mario_exploration_config* config, const uint8_t* actions,
                                 const uint8_t* start, size_t start_bytes, mario_exploration** exploration) {
    return mario::guarded([&] {
        const auto board = mario::nes::make_board(mario::nes::read_cartridge({file, file_bytes}));
        const auto console = std::make_unique<mario::nes::Console>();
        mario::nes::read_save_state(*console, board, {start, start_bytes});
        *exploration = new mario_exploration{Explorer(board, config_of(*config, actions), *console)};
    });
}

void mario_exploration_destroy(mario_exploration* exploration) { delete exploration; }

int32_t mario_exploration_set_engine(mario_exploration* exploration, const char* path) {
    return mario::guarded([&] {
        Explorer& explorer = exploration->explorer;
        explorer.set_engine(path ? mario::recompiler::open_engine(path, explorer.board(), MARIO_SOURCE_HASH) : nullptr);
    });
}

int32_t mario_exploration_run(mario_exploration* exploration, uint64_t num_frames, uint64_t frames_after_goal) {
    return mario::guarded([&] { exploration->explorer.run(num_frames, frames_after_goal); });
}

int32_t mario_exploration_add_paths(mario_exploration* exploration, const uint8_t* actions, size_t num_actions, const uint64_t* ends,
                                    size_t num_paths) {
    return mario::guarded([&] { exploration->explorer.add_paths({actions, num_actions}, {ends, num_paths}); });
}

void mario_exploration_get_status(const mario_exploration* exploration, mario_exploration_status* status) {
    *status = exploration->explorer.status();
}

int32_t mario_exploration_get_cells(mario_exploration* exploration, mario_cell* cells, size_t num_cells) {
    return mario::guarded([&] {
        Explorer& explorer = exploration->explorer;
        const auto remaining = explorer.remaining_steps();
        expect_length(remaining.size(), num_cells);
        for (uint32_t cell = 0; cell < num_cells; ++cell) {
            cells[cell] = explorer.archive().describe(cell);
            cells[cell].remaining_steps = remaining[cell];
        }
    });
}

int32_t mario_exploration_get_path(const mario_exploration* exploration, uint32_t cell, uint8_t* actions, size_t num_actions) {
    return mario::guarded([&] {
        expect_cell(*exploration, cell);
        write_actions(exploration->explorer.archive().actions(cell), actions, num_actions);
    });
}

int32_t mario_exploration_get_state(const mario_exploration* exploration, uint32_t cell, uint8_t* state, size_t state_bytes) {
    return mario::guarded([&] {
        expect_cell(*exploration, cell);
        const auto& explorer = exploration->explorer;
        const auto console = std::make_unique<mario::nes::Console>(explorer.start());
        explorer.archive().restore(cell, *console);
        mario::nes::write_save_state(*console, explorer.board(), mario::state_buffer(state, state_bytes));
    });
}

int32_t mario_exploration_get_best_path(const mario_exploration* exploration, uint8_t* actions, size_t num_actions) {
    return mario::guarded([&] { write_actions(exploration->explorer.best_path(), actions, num_actions); });
}

}  // extern "C"
