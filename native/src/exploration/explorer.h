// The search for a way through one stage: go back to a state reached before, play on at random, keep what is new (after Go-Explore,
// Ecoffet et al. 2021, without a network and without a rule for any stage).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "batch/thread_pool.h"
#include "exploration/archive.h"
#include "recompiler/machine.h"

namespace mario::exploration {

struct ExplorerConfig {
    unsigned num_threads = 1;   ///< 0: as many as the machine has. With 1, equal seeds give equal searches
    unsigned frame_skip = 4;    ///< frames for which a step holds its action
    bool skips_idle = true;     ///< a step goes on, with nothing pressed, until the player has control again
    std::uint32_t max_cells = 1u << 16;
    std::uint64_t seed = 0;
    mario_goal goal = MARIO_GOAL_CLEAR;
    std::vector<nes::Buttons> actions;
};

/// One thread calls at a time; the search itself runs on all of its threads.
class Explorer {
public:
    /// From a state in which the player has control. Throws std::invalid_argument.
    Explorer(const nes::Board& board, ExplorerConfig config, const nes::Console& start);
    ~Explorer();
    Explorer(const Explorer&) = delete;
    Explorer& operator=(const Explorer&) = delete;

    void set_engine(std::shared_ptr<const recompiler::Program> engine) { engine_ = std::move(engine); }

    /// Explores until num_frames have been run since the beginning, or frames_after_goal since the goal was first reached. With one
    /// thread it does not matter into how many calls a search is divided.
    void run(std::uint64_t num_frames, std::uint64_t frames_after_goal);

    /// Plays sequences of actions from the start and keeps what they reach: to go on where another search ended, or to begin with
    /// somebody's play. `ends` has the end of each sequence in `actions`, ascending. An action out of range throws; a sequence that ends
    /// early (death, goal) is played up to there.
    void add_paths(std::span<const std::uint8_t> actions, std::span<const std::uint64_t> ends);

    [[nodiscard]] mario_exploration_status status() const;
    /// The shortest path to the goal, empty before one was found.
    [[nodiscard]] const Actions& best_path() const { return best_path_.actions; }
    [[nodiscard]] const Archive& archive() const { return archive_; }
    [[nodiscard]] const nes::Board& board() const { return board_; }
    [[nodiscard]] const nes::Console& start() const { return start_; }

    /// For every cell the fewest steps seen to the goal, no_cell where none led there (remaining.h).
    [[nodiscard]] std::vector<std::uint32_t> remaining_steps() const;

private:
    enum class Outcome : std::uint8_t { goes_on, failed, goal };
    struct Worker;
    struct Replay;

    Outcome step(Worker& worker, std::uint8_t action) noexcept;
    [[nodiscard]] Outcome outcome_of(const mario_game& game) const noexcept;
    [[nodiscard]] bool is_done(std::uint64_t num_frames, std::uint64_t frames_after_goal) const noexcept;
    void roll_out(Worker& worker);
    void keep_goal(Worker& worker);
    /// Plays what follows the common beginning with the sequence that this worker played last.
    void replay(Worker& worker, Replay& replay, std::span<const std::uint8_t> actions);
    template <typename Work>
    void on_all_threads(Work&& work);
    std::uint8_t choose_action(Worker& worker) const noexcept;
    std::uint8_t draw_action(Random& random) const noexcept;

    ExplorerConfig config_;
    nes::Board board_;
    nes::Console start_;
    mario_game start_game_;
    std::shared_ptr<const recompiler::Program> engine_;
    std::vector<std::uint32_t> action_weights_;  ///< cumulative
    Archive archive_;
    std::atomic<std::uint64_t> num_frames_{0}, num_rollouts_{0}, num_deaths_{0}, num_goals_{0}, first_goal_frames_{0};
    std::atomic<std::uint32_t> furthest_x_{0};
    std::mutex best_path_mutex_;
    Path best_path_;
    std::vector<std::unique_ptr<Worker>> workers_;
    batch::ThreadPool pool_;
};

}  // namespace mario::exploration
