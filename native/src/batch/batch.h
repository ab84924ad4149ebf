// Many consoles with one cartridge, stepped together into arrays that the caller owns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "batch/thread_pool.h"
#include "mario_native.h"
#include "nes/console.h"
#include "nes/save_state.h"
#include "picture/camera.h"
#include "recompiler/machine.h"

namespace mario::batch {

struct BatchConfig {
    unsigned num_consoles = 1;
    unsigned num_threads = 1;    ///< 0: as many as the machine has
    unsigned frame_skip = 4;     ///< frames per step, all with the same buttons
    unsigned num_snapshots = 0;  ///< places for states to reset to
    std::uint8_t ram_fill = 0;   ///< at power-on
    bool takes_maximum = false;  ///< of the last two frames, pixel by pixel
    picture::View view;
    std::vector<std::uint16_t> ram_addresses;  ///< which bytes a step reports, in this order; empty: all 2,048
};

/// What happened to one console during one step.
struct StepFlags {
    std::uint32_t lag_frames;  ///< frames in which the program did not read the controller
    std::uint32_t is_jammed;   ///< the CPU has stopped; only a reset helps
};

/// Where a step writes; null pointers are left out. One row per console.
struct StepOutputs {
    std::uint8_t* observations = nullptr;  ///< [N, camera().out_bytes()]
    std::uint8_t* ram = nullptr;           ///< [N, ram_bytes()]
    StepFlags* flags = nullptr;            ///< [N]
    mario_game* games = nullptr;           ///< [N]
};

/// One thread calls at a time; another batch is another matter. Results depend on neither the number of threads nor the number of consoles.
class Batch {
public:
    /// Switches all consoles on. Throws picture::ViewError, std::invalid_argument, std::bad_alloc.
    Batch(const nes::Board& board, BatchConfig config);

    /// Runs frame_skip frames on every console, except where snapshots[i] >= 0: that console becomes this snapshot and does not
    /// run. Then writes the outputs. `snapshots` may be null. An index out of range throws before anything changes.
    void step(const nes::Buttons* buttons, const std::int32_t* snapshots, const StepOutputs& outputs);

    /// Parts of a step, for work that is more than one: for_each calls work(context, thread, index) for every console, on all threads;
    /// the work may then use restore(), run() and draw() on its own console. A snapshot's index is the caller's to check.
    void for_each(ThreadPool::Work work, void* context) noexcept { pool_->run(work, context, config_.num_consoles); }
    void restore(unsigned index, unsigned snapshot) noexcept;
    /// Runs frames and, unless `observation` is null, draws the last one.
    void run(unsigned thread, unsigned index, nes::Buttons buttons, unsigned num_frames, std::uint8_t* observation) noexcept;
    void draw(unsigned index, std::uint8_t* observation) const noexcept;

    /// Who runs the frames from the next step on; null is the interpreter. The states are the same.
    void set_engine(std::shared_ptr<const recompiler::Program> engine) { engine_ = std::move(engine); }

    /// From the next step on this batch is stepped by the threads of another, and its own end. Both may be stepped at the same time,
    /// by two callers: one's consoles are run while the other's last ones are still running.
    void share_threads(const Batch& other);

    void copy(unsigned to, unsigned from);
    void save(unsigned index, std::span<std::uint8_t, nes::save_state_bytes> out) const;
    void load(unsigned index, std::span<const std::uint8_t> state);
    /// Keeps a state (checked as every save-state) to reset to.
    void set_snapshot(unsigned snapshot, std::span<const std::uint8_t> state);
    void take_snapshot(unsigned snapshot, unsigned index);

    [[nodiscard]] nes::Console& console(unsigned index);
    [[nodiscard]] const nes::Console& console(unsigned index) const;
    [[nodiscard]] const BatchConfig& config() const { return config_; }
    [[nodiscard]] const nes::Board& board() const { return board_; }
    [[nodiscard]] const picture::Camera& camera() const { return camera_; }
    [[nodiscard]] std::size_t ram_bytes() const;
    [[nodiscard]] bool has_snapshot(unsigned index) const { return index < snapshots_.size() && is_snapshot_set_[index]; }
    [[nodiscard]] unsigned num_threads() const { return pool_->num_threads(); }

private:
    struct Step;
    void step_one(const Step& step, unsigned thread, unsigned index) noexcept;
    void report(const Step& step, unsigned index, std::uint64_t lag_frames) noexcept;
    [[nodiscard]] nes::Console& snapshot(unsigned index);

    BatchConfig config_;
    nes::Board board_;
    std::shared_ptr<const recompiler::Program> engine_;
    picture::Camera camera_;
    std::vector<nes::Console> consoles_;
    std::vector<nes::Console> snapshots_;
    std::vector<bool> is_snapshot_set_;
    std::vector<std::uint8_t> exposures_;  ///< one per thread, where the maximum is taken
    std::shared_ptr<ThreadPool> pool_;
};

}  // namespace mario::batch
