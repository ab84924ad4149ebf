// mario_native.h over the C++ inside: one console.
#include <memory>
#include <stdexcept>
#include <string>

#include "boundary_guard.h"
#include "mario_native.h"
#include "nes/console.h"
#include "nes/save_state.h"
#include "recompiler/engine.h"
#include "source_hash.h"

using namespace mario::nes;

struct mario_console {
    Board board;
    Console console;
    IdleLoops idle_loops = IdleLoops::skipped;
    std::shared_ptr<const mario::recompiler::Program> engine;
};

extern "C" {

int32_t mario_console_create(const uint8_t* file, size_t file_bytes, mario_console** console) {
    return mario::guarded([&] {
        auto made = std::make_unique<mario_console>();
        made->board = make_board(read_cartridge({file, file_bytes}));
        made->console.power_on(made->board, 0);
        *console = made.release();
    });
}

void mario_console_destroy(mario_console* console) { delete console; }

void mario_console_power_on(mario_console* console, uint8_t ram_fill) { console->console.power_on(console->board, ram_fill); }

void mario_console_reset(mario_console* console) { console->console.reset(console->board); }

void mario_console_run_frames(mario_console* console, uint8_t buttons, uint32_t num_frames) {
    for (uint32_t frame = 0; frame < num_frames; ++frame) {
        console->console.run_frame(console->board, buttons, console->idle_loops, console->engine.get());
    }
}

int32_t mario_console_set_engine(mario_console* console, const char* path) {
    return mario::guarded([&] {
        console->engine = path ? mario::recompiler::open_engine(path, console->board, MARIO_SOURCE_HASH) : nullptr;
    });
}

void mario_console_set_idle_skip(mario_console* console, int32_t skips) {
    console->idle_loops = skips ? IdleLoops::skipped : IdleLoops::executed;
}

uint8_t* mario_console_ram(mario_console* console) { return console->console.ram.data(); }

uint8_t* mario_console_prg_ram(mario_console* console) { return console->console.prg_ram.data(); }

uint64_t mario_console_frame_count(const mario_console* console) { return console->console.frame_count; }

uint64_t mario_console_lag_frames(const mario_console* console) { return console->console.lag_frames; }

int32_t mario_console_is_jammed(const mario_console* console) { return console->console.is_jammed(); }

size_t mario_cpu_bytes(void) { return sizeof(mario_cpu); }

void mario_console_cpu(const mario_console* console, mario_cpu* cpu) {
    const CpuState& state = console->console.cpu;
    *cpu = {console->console.cycle, state.pc, state.a, state.x, state.y, state.s, state.p};
}

void mario_console_run_to_cycle(mario_console* console, uint8_t buttons, uint64_t cycle) {
    console->console.run_to_cycle(console->board, buttons, cycle);
}

size_t mario_state_bytes(void) { return save_state_bytes; }

int32_t mario_console_save(const mario_console* console, uint8_t* state, size_t state_bytes) {
    return mario::guarded([&] {
        write_save_state(console->console, console->board, mario::state_buffer(state, state_bytes));
    });
}

int32_t mario_console_load(mario_console* console, const uint8_t* state, size_t state_bytes) {
    return mario::guarded([&] { read_save_state(console->console, console->board, {state, state_bytes}); });
}

size_t mario_view_bytes(void) { return sizeof(mario_view); }

int32_t mario_console_observe(const mario_console* console, const mario_view* view, uint8_t* out, size_t out_bytes) {
    return mario::guarded([&] {
        const mario::picture::Camera camera(mario::view_of(*view));
        if (out_bytes != camera.out_bytes()) {
            throw std::invalid_argument("the view has " + std::to_string(camera.out_bytes()) + " bytes, the buffer " +
                                        std::to_string(out_bytes));
        }
        camera.draw(console->console, console->board, out);
    });
}

}  // extern "C"
