#include "batch/batch.h"

#include <cstring>
#include <stdexcept>
#include <string>

#include "smb/game.h"

namespace mario::batch {
namespace {

constexpr unsigned max_consoles = 1u << 20, max_threads = 1024, max_frame_skip = 1u << 16;

void expect(bool holds, const std::string& complaint) {
    if (!holds) throw std::invalid_argument(complaint);
}

BatchConfig checked(BatchConfig config) {
    expect(config.num_consoles >= 1 && config.num_consoles <= max_consoles, "a batch has 1 to 1,048,576 consoles");
    expect(config.num_threads <= max_threads, "a batch has at most 1,024 threads");
    expect(config.frame_skip >= 1 && config.frame_skip <= max_frame_skip, "a step has 1 to 65,536 frames");
    expect(config.num_snapshots <= max_consoles, "a batch has at most 1,048,576 snapshots");
    for (const std::uint16_t address : config.ram_addresses) {
        expect(address < 2048, "RAM ends at address 2047; " + std::to_string(address) + " was asked for");
    }
    return config;
}

}  // namespace

struct Batch::Step {
    Batch* batch;
    const nes::Buttons* buttons;
    const std::int32_t* snapshots;
    StepOutputs outputs;
};

Batch::Batch(const nes::Board& board, BatchConfig config)
    : config_(checked(std::move(config))), board_(board), camera_(config_.view), consoles_(config_.num_consoles),
      snapshots_(config_.num_snapshots), is_snapshot_set_(config_.num_snapshots),
      pool_(std::make_shared<ThreadPool>(config_.num_threads)) {
    for (auto& console : consoles_) console.power_on(board_, config_.ram_fill);
    if (config_.takes_maximum) exposures_.resize(camera_.exposure_bytes() * num_threads());
}

void Batch::share_threads(const Batch& other) {
    if (config_.takes_maximum) exposures_.resize(camera_.exposure_bytes() * other.num_threads());
    pool_ = other.pool_;
}

void Batch::step(const nes::Buttons* buttons, const std::int32_t* snapshots, const StepOutputs& outputs) {
    for (unsigned i = 0; snapshots && i < config_.num_consoles; ++i) {
        if (snapshots[i] >= 0) (void)snapshot(static_cast<unsigned>(snapshots[i]));
    }
    Step step{this, buttons, snapshots, outputs};
    pool_->run([](void* context, unsigned thread, unsigned index) noexcept {
        const Step& work = *static_cast<Step*>(context);
        work.batch->step_one(work, thread, index);
    }, &step, config_.num_consoles);
}

void Batch::step_one(const Step& step, unsigned thread, unsigned index) noexcept {
    const bool is_reset = step.snapshots && step.snapshots[index] >= 0;
    if (is_reset) restore(index, static_cast<unsigned>(step.snapshots[index]));
    const std::uint64_t lag_frames = consoles_[index].lag_frames;
    std::uint8_t* const observations = step.outputs.observations;
    run(thread, index, step.buttons[index], is_reset ? 0 : config_.frame_skip,
        observations ? observations + index * camera_.out_bytes() : nullptr);
    report(step, index, consoles_[index].lag_frames - lag_frames);
}

void Batch::restore(unsigned index, unsigned snapshot) noexcept { copy_console(consoles_[index], snapshots_[snapshot], board_); }

void Batch::run(unsigned thread, unsigned index, nes::Buttons buttons, unsigned num_frames, std::uint8_t* observation) noexcept {
    nes::Console& console = consoles_[index];
    const bool takes_maximum = config_.takes_maximum && num_frames > 0 && observation;
    std::uint8_t* const exposure = takes_maximum ? exposures_.data() + thread * camera_.exposure_bytes() : nullptr;
    for (unsigned frame = 0; frame < num_frames; ++frame) {
        if (exposure && frame + 1 == num_frames) camera_.expose(console, board_, exposure);
        console.run_frame(board_, buttons, nes::IdleLoops::skipped, engine_.get());
    }
    if (observation) camera_.draw(console, board_, observation, exposure);
}

void Batch::draw(unsigned index, std::uint8_t* observation) const noexcept {
    camera_.draw(consoles_[index], board_, observation);
}

void Batch::report(const Step& step, unsigned index, std::uint64_t lag_frames) noexcept {
    const nes::Console& console = consoles_[index];
    if (step.outputs.ram) {
        std::uint8_t* const row = step.outputs.ram + index * ram_bytes();
        if (config_.ram_addresses.empty()) std::memcpy(row, console.ram.data(), console.ram.size());
        for (std::size_t i = 0; i < config_.ram_addresses.size(); ++i) row[i] = console.ram[config_.ram_addresses[i]];
    }
    if (step.outputs.flags) step.outputs.flags[index] = {static_cast<std::uint32_t>(lag_frames), console.is_jammed()};
    if (step.outputs.games) step.outputs.games[index] = smb::read_game(console.ram);
}

std::size_t Batch::ram_bytes() const { return config_.ram_addresses.empty() ? 2048 : config_.ram_addresses.size(); }

void Batch::copy(unsigned to, unsigned from) {
    nes::Console& target = console(to);
    const nes::Console& source = console(from);
    if (&target != &source) copy_console(target, source, board_);
}

void Batch::save(unsigned index, std::span<std::uint8_t, nes::save_state_bytes> out) const {
    write_save_state(console(index), board_, out);
}

void Batch::load(unsigned index, std::span<const std::uint8_t> state) { read_save_state(console(index), board_, state); }

void Batch::set_snapshot(unsigned index, std::span<const std::uint8_t> state) {
    expect(index < snapshots_.size(), "there is no place " + std::to_string(index) + " for a snapshot");
    read_save_state(snapshots_[index], board_, state);
    is_snapshot_set_[index] = true;
}

void Batch::take_snapshot(unsigned index, unsigned from) {
    expect(index < snapshots_.size(), "there is no place " + std::to_string(index) + " for a snapshot");
    snapshots_[index] = console(from);
    is_snapshot_set_[index] = true;
}

const nes::Console& Batch::console(unsigned index) const {
    expect(index < consoles_.size(), "there is no console " + std::to_string(index));
    return consoles_[index];
}

nes::Console& Batch::console(unsigned index) {
    expect(index < consoles_.size(), "there is no console " + std::to_string(index));
    return consoles_[index];
}

nes::Console& Batch::snapshot(unsigned index) {
    expect(index < snapshots_.size() && is_snapshot_set_[index], "snapshot " + std::to_string(index) + " was never set");
    return snapshots_[index];
}

}  // namespace mario::batch
