#include "exploration/explorer.h"

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

#include "exploration/remaining.h"
#include "smb/game.h"

namespace mario::exploration {
namespace {

// Chosen on all 32 stages.
constexpr unsigned rollout_frames = 200, max_hold_frames = 56, soon_frames = 60;
constexpr std::uint32_t steps_between_detours = 16;  // on average, along the best path
constexpr unsigned max_idle_frames = 2000;  // the longest way from control to control, with a screen between, takes 600
constexpr std::uint32_t max_cells_allowed = 1u << 22;
constexpr unsigned max_threads = 1024, max_frame_skip = 60;
constexpr std::size_t max_actions = 256, max_path_steps = 1u << 16;
/// Steps remembered for remaining_steps(), over all threads; the rest of a longer search is not looked at there.
constexpr std::size_t max_trace_steps = std::size_t{1} << 24;

void expect(bool holds, const std::string& complaint) {
    if (!holds) throw std::invalid_argument(complaint);
}

ExplorerConfig checked(ExplorerConfig config) {
    expect(config.num_threads <= max_threads, "a search has at most 1,024 threads");
    expect(config.frame_skip >= 1 && config.frame_skip <= max_frame_skip, "a step has 1 to 60 frames");
    expect(config.max_cells >= 1 && config.max_cells <= max_cells_allowed, "an archive has 1 to 4,194,304 cells");
    expect(!config.actions.empty() && config.actions.size() <= max_actions, "an action set has 1 to 256 actions");
    return config;
}

/// Stages lie from left to right, and running is fast: such actions are tried more often. Turning back stays possible.
std::uint32_t weight_of(nes::Buttons buttons) {
    if ((buttons & nes::button_right) == 0) return 1;
    return (buttons & nes::button_b) != 0 ? 4 : 2;
}

std::vector<std::uint32_t> cumulative_weights(const std::vector<nes::Buttons>& actions) {
    std::vector<std::uint32_t> sums;
    for (const nes::Buttons buttons : actions) sums.push_back((sums.empty() ? 0 : sums.back()) + weight_of(buttons));
    return sums;
}

unsigned steps_in(unsigned frames, unsigned frame_skip) { return std::max(1u, frames / frame_skip); }

}  // namespace

struct Explorer::Worker {
    Worker(std::uint64_t seed, unsigned index, const nes::Console& start) : random(seed, index), console(start) {}

    Random random;
    nes::Console console;
    mario_game game{};
    Path path;               ///< from the start to where the console is
    std::uint32_t cell = 0;  ///< where it is
    std::shared_ptr<const Route> route;  ///< to go along, or null
    std::uint32_t route_step = 0;
    std::uint8_t action = 0;  ///< held for so many steps:
    unsigned hold = 0;
    Trace trace;
    std::uint64_t num_frames = 0;  ///< of this thread, not yet added to the sum
    std::exception_ptr failure;
};

/// The states along the sequence that was played last.
struct Explorer::Replay {
    Path path;
    std::vector<KeptState> states;  ///< before each action, and after the last
    std::vector<std::uint32_t> cells;
};

Explorer::Explorer(const nes::Board& board, ExplorerConfig config, const nes::Console& start)
    : config_(checked(std::move(config))), board_(board), start_(start), start_game_(smb::read_game(start.ram)),
      action_weights_(cumulative_weights(config_.actions)), archive_(start_, config_.max_cells), pool_(config_.num_threads) {
    expect(start_game_.has_control, "a search begins where the player has control");
    for (unsigned index = 0; index < pool_.num_threads(); ++index) {
        workers_.push_back(std::make_unique<Worker>(config_.seed, index, start_));
    }
    (void)archive_.offer(cell_of(start_game_), {}, start_);
}

Explorer::~Explorer() = default;

void Explorer::run(std::uint64_t num_frames, std::uint64_t frames_after_goal) {
    on_all_threads([=, this](Worker& worker, unsigned) {
        while (!is_done(num_frames, frames_after_goal)) roll_out(worker);
    });
}

bool Explorer::is_done(std::uint64_t num_frames, std::uint64_t frames_after_goal) const noexcept {
    const std::uint64_t now = num_frames_.load(std::memory_order_relaxed), goal = first_goal_frames_.load(std::memory_order_relaxed);
    return now >= num_frames || (goal != 0 && now >= goal && now - goal >= frames_after_goal);
}

template <typename Work>
void Explorer::on_all_threads(Work&& work) {
    struct Context {
        Explorer& explorer;
        Work& work;
    } context{*this, work};
    pool_.run([](void* opaque, unsigned, unsigned index) noexcept {
        auto& [explorer, run_work] = *static_cast<Context*>(opaque);
        Worker& worker = *explorer.workers_[index];
        try {
            run_work(worker, index);
        } catch (...) {
            worker.failure = std::current_exception();
        }
    }, &context, static_cast<unsigned>(workers_.size()));
    for (auto& worker : workers_) {
        if (worker->failure) std::rethrow_exception(std::exchange(worker->failure, nullptr));
    }
}

void Explorer::roll_out(Worker& worker) {
    const Archive::Pick from = archive_.pick(worker.random, worker.console, worker.path);
    worker.cell = from.cell;
    worker.route = from.route;
    worker.route_step = from.route ? from.route->last_steps.at(from.cell) : 0;
    worker.hold = 0;
    const std::size_t max_trace = max_trace_steps / workers_.size();
    const bool is_traced = worker.trace.size() < max_trace;
    if (is_traced) worker.trace.insert(worker.trace.end(), {begin_mark, from.cell});
    const unsigned rollout_steps = steps_in(rollout_frames, config_.frame_skip);
    unsigned num_steps = 0;
    CellKey key = 0;
    Outcome outcome = Outcome::goes_on;
    for (unsigned end = rollout_steps; num_steps < end && worker.path.actions.size() < max_path_steps; ++num_steps) {
        outcome = step(worker, choose_action(worker));
        if (outcome != Outcome::goes_on) break;
        // Without control there is nothing to choose, so nothing to come back to.
        if (worker.game.has_control) {
            const CellKey now = cell_of(worker.game);
            if (now != key) {
                const Archive::Offer offer = archive_.offer(now, worker.path, worker.console);
                if (offer.is_new || (offer.is_faster && worker.route)) end = num_steps + 1 + rollout_steps;
                worker.cell = offer.cell;
                key = now;
            }
        }
        if (is_traced) worker.trace.push_back(worker.cell);
    }
    if (outcome == Outcome::goal) {
        if (is_traced) worker.trace.push_back(goal_mark);
        keep_goal(worker);
    }
    const bool has_died = outcome == Outcome::failed;
    archive_.report(from, has_died && num_steps < steps_in(soon_frames, config_.frame_skip));
    num_deaths_.fetch_add(has_died, std::memory_order_relaxed);
    num_rollouts_.fetch_add(1, std::memory_order_relaxed);
    num_frames_.fetch_add(std::exchange(worker.num_frames, 0), std::memory_order_relaxed);
}

/// Along the route, with something else now and then; back on it from the last step that was chosen where the player now is, so that
/// detours are left out. Without a route, anything.
std::uint8_t Explorer::choose_action(Worker& worker) const noexcept {
    const bool has_held = worker.hold > 0;
    if (has_held && --worker.hold > 0) return worker.action;
    if (worker.route) {
        if (has_held) {
            const auto found = worker.route->last_steps.find(worker.cell);
            if (found != worker.route->last_steps.end()) worker.route_step = found->second;
        }
        const Actions& actions = worker.route->path.actions;
        if (worker.route_step < actions.size() && worker.random.below(steps_between_detours) != 0) return actions[worker.route_step++];
    }
    worker.hold = 1 + worker.random.below(steps_in(max_hold_frames, config_.frame_skip));
    worker.action = draw_action(worker.random);
    return worker.action;
}

std::uint8_t Explorer::draw_action(Random& random) const noexcept {
    const std::uint32_t drawn = random.below(action_weights_.back());
    return static_cast<std::uint8_t>(std::upper_bound(action_weights_.begin(), action_weights_.end(), drawn) - action_weights_.begin());
}

Explorer::Outcome Explorer::step(Worker& worker, std::uint8_t action) noexcept {
    worker.path.actions.push_back(action);
    worker.path.cells.push_back(worker.cell);
    const auto run_frame = [&](nes::Buttons buttons) {
        worker.console.run_frame(board_, buttons, nes::IdleLoops::skipped, engine_.get());
        ++worker.num_frames;
    };
    for (unsigned frame = 0; frame < config_.frame_skip; ++frame) run_frame(config_.actions[action]);
    worker.game = smb::read_game(worker.console.ram);
    for (unsigned idle = 0; config_.skips_idle && !worker.game.has_control && outcome_of(worker.game) == Outcome::goes_on; ++idle) {
        if (idle == max_idle_frames) return Outcome::failed;
        run_frame(0);
        worker.game = smb::read_game(worker.console.ram);
    }
    if (worker.game.has_control && worker.game.x < 0x8000 && worker.game.x > furthest_x_.load(std::memory_order_relaxed)) {
        furthest_x_.store(worker.game.x, std::memory_order_relaxed);
    }
    return outcome_of(worker.game);
}

Explorer::Outcome Explorer::outcome_of(const mario_game& game) const noexcept {
    if (game.is_losing_life || game.is_game_over || game.lives < start_game_.lives) return Outcome::failed;
    // Through a warp zone another stage begins.
    if (game.world != start_game_.world || game.stage != start_game_.stage) return Outcome::failed;
    if (config_.goal == MARIO_GOAL_POWER_UP && game.status > start_game_.status) return Outcome::goal;
    if (!game.is_stage_clear) return Outcome::goes_on;
    return config_.goal == MARIO_GOAL_CLEAR ? Outcome::goal : Outcome::failed;
}

void Explorer::keep_goal(Worker& worker) {
    const std::scoped_lock lock(best_path_mutex_);
    if (num_goals_.fetch_add(1, std::memory_order_relaxed) == 0) {
        first_goal_frames_.store(num_frames_.load(std::memory_order_relaxed) + worker.num_frames, std::memory_order_relaxed);
    }
    if (!best_path_.actions.empty() && worker.path.actions.size() >= best_path_.actions.size()) return;
    best_path_ = worker.path;
    const auto route = std::make_shared<Route>(Route{best_path_, {}});
    for (std::uint32_t at = 0; at < best_path_.cells.size(); ++at) {
        if (best_path_.cells[at] != no_cell) route->last_steps[best_path_.cells[at]] = at;
    }
    archive_.set_route(route);
}

void Explorer::add_paths(std::span<const std::uint8_t> actions, std::span<const std::uint64_t> ends) {
    std::vector<std::span<const std::uint8_t>> paths;
    std::uint64_t begin = 0;
    for (const std::uint64_t end : ends) {
        expect(end >= begin && end <= actions.size() && end - begin <= max_path_steps, "the ends of the sequences do not fit them");
        paths.push_back(actions.subspan(begin, end - begin));
        begin = end;
    }
    const auto is_known = [this](std::uint8_t action) { return action < config_.actions.size(); };
    expect(std::all_of(actions.begin(), actions.end(), is_known), "an action is not of this action set");
    // Neighbours share their beginnings, which are then played once.
    std::sort(paths.begin(), paths.end(), [](const auto& one, const auto& other) {
        return std::lexicographical_compare(one.begin(), one.end(), other.begin(), other.end());
    });
    on_all_threads([&](Worker& worker, unsigned index) {
        Replay progress;
        const std::size_t first = paths.size() * index / workers_.size(), last = paths.size() * (index + 1) / workers_.size();
        for (std::size_t at = first; at < last; ++at) replay(worker, progress, paths[at]);
        num_frames_.fetch_add(std::exchange(worker.num_frames, 0), std::memory_order_relaxed);
    });
}

void Explorer::replay(Worker& worker, Replay& last, std::span<const std::uint8_t> actions) {
    if (last.states.empty()) {
        last.states.emplace_back().keep(start_, start_);
        last.cells.push_back(archive_.offer(cell_of(start_game_), {}, start_).cell);
    }
    const auto parting = std::mismatch(last.path.actions.begin(), last.path.actions.end(), actions.begin(), actions.end());
    std::size_t at = static_cast<std::size_t>(parting.second - actions.begin());
    last.states.resize(at + 1);
    last.cells.resize(at + 1);
    last.path.actions.resize(at);
    last.path.cells.resize(at);
    last.states[at].restore(worker.console, start_);
    worker.path = last.path;
    worker.cell = last.cells[at];
    worker.trace.insert(worker.trace.end(), {begin_mark, worker.cell});
    for (; at < actions.size(); ++at) {
        const Outcome outcome = step(worker, actions[at]);
        if (outcome == Outcome::goal) {
            worker.trace.push_back(goal_mark);
            keep_goal(worker);
        }
        if (outcome != Outcome::goes_on) break;
        if (worker.game.has_control) worker.cell = archive_.offer(cell_of(worker.game), worker.path, worker.console).cell;
        worker.trace.push_back(worker.cell);
        last.path.actions.push_back(worker.path.actions.back());
        last.path.cells.push_back(worker.path.cells.back());
        last.states.emplace_back().keep(worker.console, start_);
        last.cells.push_back(worker.cell);
    }
}

mario_exploration_status Explorer::status() const {
    mario_exploration_status status{};
    status.num_frames = num_frames_.load(std::memory_order_relaxed);
    status.num_rollouts = num_rollouts_.load(std::memory_order_relaxed);
    status.num_deaths = num_deaths_.load(std::memory_order_relaxed);
    status.num_goals = num_goals_.load(std::memory_order_relaxed);
    status.first_goal_frames = first_goal_frames_.load(std::memory_order_relaxed);
    status.num_bytes = archive_.num_bytes();
    for (const auto& worker : workers_) status.num_bytes += worker->trace.capacity() * sizeof(std::uint32_t);
    status.num_cells = archive_.num_cells();
    status.best_steps = static_cast<std::uint32_t>(best_path_.actions.size());
    status.furthest_x = furthest_x_.load(std::memory_order_relaxed);
    status.is_full = archive_.is_full();
    return status;
}

std::vector<std::uint32_t> Explorer::remaining_steps() const {
    if (best_path_.actions.empty()) return std::vector<std::uint32_t>(archive_.num_cells(), no_cell);
    std::vector<const Trace*> traces;
    for (const auto& worker : workers_) traces.push_back(&worker->trace);
    return exploration::remaining_steps(archive_.keys(), best_path_.cells, traces);
}

}  // namespace mario::exploration
