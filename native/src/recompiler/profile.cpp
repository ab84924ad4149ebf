#include "recompiler/profile.h"

#include <memory>

#include "nes/console.h"

namespace mario::recompiler {
namespace {

constexpr unsigned num_frames = 900, start_frame = 40, control_frame = 200;
/// Executed this often, code is worth a place among that which is executed all the time.
constexpr std::uint32_t hot_count = num_frames / 32;

/// Start once, then a run to the right with jumps, as most programs of this kind understand it.
nes::Buttons buttons_at(unsigned frame) {
    constexpr nes::Buttons a = 1, b = 2, start = 8, right = 128;
    if (frame < control_frame) return frame >= start_frame && frame < start_frame + 4 ? start : 0;
    return frame % 33 < 20 ? a | b | right : b | right;
}

}  // namespace

HotAddresses find_hot_addresses(const nes::Board& board) {
    const auto console = std::make_unique<nes::Console>();
    const auto counts = std::make_unique<nes::ExecutionCounts>();
    console->power_on(board, 0);
    for (unsigned frame = 0; frame < num_frames; ++frame) console->run_frame_counting(board, buttons_at(frame), *counts);
    HotAddresses hot;
    for (unsigned address = 0; address < hot.size(); ++address) hot[address] = (*counts)[address] >= hot_count;
    return hot;
}

}  // namespace mario::recompiler
