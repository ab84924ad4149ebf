// Environments: episodes on the consoles of a batch. Everything that happens in a step of one of them happens here, on the thread
// that has its console: the action, the frames, the reward, the end, the beginning of the next episode, the stack of frames.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "batch/batch.h"
#include "envs/augmentation.h"
#include "envs/counter_rng.h"
#include "envs/progress.h"
#include "envs/progress_map.h"
#include "mario_native.h"

namespace mario::envs {

/// What an environment remembers beside its console and its frames.
struct Environment {
    std::uint64_t seed;
    mario_episode episode;
    Progress progress;
    Distortion distortion;
    std::uint32_t num_stalled;    ///< steps since the last progress
    std::uint32_t score;          ///< at the end of the last step
    std::int32_t cleared_level;   ///< whose flag was paid for last; -1: none
    std::uint16_t classic_x, classic_clock;
    std::uint8_t last_action;
    std::uint8_t is_losing_life;  ///< which was paid for already
    std::uint8_t newest;          ///< the newest of the stacked frames
    std::uint8_t status;          ///< at the end of the last step
    std::uint8_t is_power_up_out; ///< the same
    std::uint8_t held_buttons;    ///< in the last frame of the last step
    std::array<std::uint8_t, 6> unused;
};
static_assert(std::is_trivially_copyable_v<Environment>, "a state is a copy");
static_assert(sizeof(Environment) == sizeof(std::uint64_t) + sizeof(mario_episode) + sizeof(Progress) + sizeof(Distortion) + 28,
              "equal states have equal bytes: no padding");

/// Where results go, one row per environment; null pointers are left out. The final ones are written where an episode ended.
struct Outputs {
    std::uint8_t* observations = nullptr;  ///< [N, frame_stack, frame], oldest frame first
    float* rewards = nullptr;
    std::uint8_t* terminated = nullptr;
    std::uint8_t* truncated = nullptr;
    std::uint8_t* stuck = nullptr;         ///< the previous action was repeated
    mario_game* games = nullptr;
    mario_episode* episodes = nullptr;
    std::uint8_t* final_observations = nullptr;
    mario_game* final_games = nullptr;
    mario_episode* final_episodes = nullptr;
};

/// One thread calls at a time. The batch is the caller's, and outlives this.
class Environments {
public:
    /// Throws std::invalid_argument.
    Environments(batch::Batch& batch, const mario_env_rules& rules, std::span<const std::uint8_t> action_buttons);

    /// The snapshots of the batch at which episodes begin. Each has weight 1 then.
    void set_starts(std::span<const std::uint32_t> snapshots);
    /// How often each start is drawn, relative to the others. Cycling through them ends with the first call.
    void set_weights(std::span<const double> weights);
    /// After how many steps an episode from each start is cut, and begins without idle frames; 0: as the rules say.
    void set_excerpts(std::span<const std::uint32_t> num_steps);
    void set_map(ProgressMap map) { map_ = std::move(map); }

    /// `mask` and `seeds` and `starts` may be null. A start is an index, or begin_drawn, or begin_here: as the console stands.
    static constexpr std::int32_t begin_drawn = -1, begin_here = -2;
    void reset(const std::uint8_t* mask, const std::uint64_t* seeds, const std::int32_t* starts, const Outputs& outputs);
    void step(const std::int64_t* actions, const Outputs& outputs);

    [[nodiscard]] std::size_t state_bytes() const { return sizeof(Environment) + stack_bytes(); }
    void save(unsigned index, std::span<std::uint8_t> out) const;
    /// Throws std::invalid_argument, and has changed nothing, where a value is out of its range.
    void load(unsigned index, std::span<const std::uint8_t> state);

    [[nodiscard]] batch::Batch& batch() { return batch_; }

private:
    struct Work;
    struct Place;
    struct Outcome;
    void step_one(const Work& work, unsigned thread, unsigned index) noexcept;
    void reset_one(const Work& work, unsigned thread, unsigned index) noexcept;
    void play(Outcome& outcome, Environment& environment, const Place& place, std::uint8_t buttons) noexcept;
    void play_classic(Outcome& outcome, Environment& environment, const Place& place, std::uint8_t buttons) noexcept;
    void skip_idle(Outcome& outcome, Environment& environment, const Place& place) noexcept;
    void settle(Outcome& outcome, Environment& environment, bool is_jammed) noexcept;
    void begin(Environment& environment, unsigned thread, unsigned index, std::int32_t start, const Outputs& outputs) noexcept;
    void draw(const Place& place) noexcept;
    void show(const Environment& environment, const Place& place, bool is_first) noexcept;
    void write_stack(const Environment& environment, const Place& place, std::uint8_t* rows) noexcept;
    [[nodiscard]] std::int32_t choose_start(const Environment& environment, unsigned index) const noexcept;
    [[nodiscard]] std::uint32_t excerpt_steps(std::int32_t start) const noexcept;
    [[nodiscard]] bool is_at_limit(const mario_episode& episode) const noexcept;
    [[nodiscard]] bool is_truncation(mario_end_reason reason) const noexcept;
    [[nodiscard]] bool is_failed_stall(mario_end_reason reason) const noexcept;
    [[nodiscard]] float shaping(const Progress& before, const Progress& after, mario_end_reason end) const noexcept;
    [[nodiscard]] mario_end_reason end_of(const Environment& environment, const mario_game& game) const noexcept;
    [[nodiscard]] Draw draw_of(const Environment& environment) const noexcept;
    [[nodiscard]] Place place_for(const Environment& environment, unsigned thread, unsigned index, const Outputs& outputs) noexcept;
    [[nodiscard]] std::uint8_t* ring_of(unsigned index) noexcept;
    [[nodiscard]] std::size_t stack_bytes() const { return frame_bytes_ * rules_.frame_stack; }

    batch::Batch& batch_;
    mario_env_rules rules_;
    std::vector<std::uint8_t> action_buttons_;
    std::size_t picture_bytes_;                 ///< of a frame; behind them, where it is shown, the RAM
    std::size_t frame_bytes_;
    std::vector<std::uint32_t> starts_;         ///< snapshots of the batch
    std::vector<double> cumulative_weights_;    ///< of the starts; empty: one after another
    std::vector<std::uint32_t> excerpts_;       ///< of the starts: steps, or 0; empty: none
    ProgressMap map_;
    std::vector<Environment> environments_;
    std::vector<std::uint8_t> frames_;          ///< [N, frame_stack, frame], a ring each
    /// Single frames need no ring: what was shown can be drawn again. Not the maximum of two, whose first is gone.
    bool is_direct_;
};

}  // namespace mario::envs
