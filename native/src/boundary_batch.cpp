// mario_native.h over the C++ inside: many consoles.
#include <cstddef>
#include <stdexcept>

#include "boundary_batch.h"
#include "boundary_guard.h"
#include "mario_native.h"
#include "recompiler/engine.h"
#include "source_hash.h"

using mario::batch::Batch;
using mario::batch::BatchConfig;
using mario::batch::StepFlags;

static_assert(sizeof(mario_step_flags) == sizeof(StepFlags) && offsetof(mario_step_flags, is_jammed) == offsetof(StepFlags, is_jammed),
              "the caller's array is written as the batch's own");

namespace {

constexpr uint32_t max_ram_addresses = 2048;

BatchConfig config_of(const mario_batch_config& config, const uint16_t* ram_addresses) {
    if (config.num_ram_addresses > max_ram_addresses) throw std::invalid_argument("a step reports at most 2,048 bytes of RAM");
    if (config.num_ram_addresses > 0 && ram_addresses == nullptr) throw std::invalid_argument("the addresses in RAM are missing");
    return BatchConfig{
        .num_consoles = config.num_consoles,
        .num_threads = config.num_threads,
        .frame_skip = config.frame_skip,
        .num_snapshots = config.num_snapshots,
        .ram_fill = static_cast<uint8_t>(config.ram_fill),
        .takes_maximum = config.takes_maximum != 0,
        .view = mario::view_of(config.view),
        .ram_addresses = {ram_addresses, ram_addresses + config.num_ram_addresses},
    };
}

}  // namespace

extern "C" {

size_t mario_batch_config_bytes(void) { return sizeof(mario_batch_config); }

size_t mario_step_flags_bytes(void) { return sizeof(mario_step_flags); }

int32_t mario_batch_create(const uint8_t* file, size_t file_bytes, const mario_batch_config* config, const uint16_t* ram_addresses,
                           mario_batch** batch) {
    return mario::guarded([&] {
        const auto board = mario::nes::make_board(mario::nes::read_cartridge({file, file_bytes}));
        *batch = new mario_batch{Batch(board, config_of(*config, ram_addresses))};
    });
}

void mario_batch_destroy(mario_batch* batch) { delete batch; }

int32_t mario_batch_step(mario_batch* batch, const uint8_t* buttons, const int32_t* snapshots, uint8_t* observations, uint8_t* ram,
                         mario_step_flags* flags, mario_game* games) {
    return mario::guarded([&] {
        batch->batch.step(buttons, snapshots, {observations, ram, reinterpret_cast<StepFlags*>(flags), games});
    });
}

int32_t mario_batch_set_engine(mario_batch* batch, const char* path) {
    return mario::guarded([&] {
        batch->batch.set_engine(path ? mario::recompiler::open_engine(path, batch->batch.board(), MARIO_SOURCE_HASH) : nullptr);
    });
}

int32_t mario_batch_set_snapshot(mario_batch* batch, uint32_t snapshot, const uint8_t* state, size_t state_bytes) {
    return mario::guarded([&] { batch->batch.set_snapshot(snapshot, {state, state_bytes}); });
}

int32_t mario_batch_take_snapshot(mario_batch* batch, uint32_t snapshot, uint32_t console) {
    return mario::guarded([&] { batch->batch.take_snapshot(snapshot, console); });
}

int32_t mario_batch_copy(mario_batch* batch, uint32_t to, uint32_t from) {
    return mario::guarded([&] { batch->batch.copy(to, from); });
}

int32_t mario_batch_save(const mario_batch* batch, uint32_t console, uint8_t* state, size_t state_bytes) {
    return mario::guarded([&] { batch->batch.save(console, mario::state_buffer(state, state_bytes)); });
}

int32_t mario_batch_load(mario_batch* batch, uint32_t console, const uint8_t* state, size_t state_bytes) {
    return mario::guarded([&] { batch->batch.load(console, {state, state_bytes}); });
}

uint8_t* mario_batch_ram(mario_batch* batch, uint32_t console) {
    if (console >= batch->batch.config().num_consoles) return nullptr;
    return batch->batch.console(console).ram.data();
}

uint32_t mario_batch_num_threads(const mario_batch* batch) { return batch->batch.num_threads(); }

int32_t mario_batch_share_threads(mario_batch* batch, const mario_batch* other) {
    return mario::guarded([&] { batch->batch.share_threads(other->batch); });
}

}  // extern "C"
