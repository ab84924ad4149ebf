#include "envs/environments.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>

#include "smb/game.h"

namespace mario::envs {
namespace {

// The longest way back to control, through a lost life and the screens behind it, takes some 600 frames.
constexpr unsigned max_idle_frames = 2000;
constexpr unsigned max_frame_stack = 16;
// What gym-super-mario-bros pays: pixels and ticks of a frame, and 25 off for a death, all within 15.
constexpr int classic_max_walk = 5;
constexpr float classic_death = -25.0F, classic_limit = 15.0F;
constexpr unsigned num_buttons = 8, button_size = 8;
constexpr std::size_t ram_bytes = std::tuple_size_v<decltype(nes::Console::ram)>;

void expect(bool holds, const std::string& complaint) {
    if (!holds) throw std::invalid_argument(complaint);
}

mario_env_rules checked(mario_env_rules rules) {
    expect(rules.frame_stack >= 1 && rules.frame_stack <= max_frame_stack, "an observation has 1 to 16 frames");
    expect(rules.num_actions >= 1 && rules.num_actions <= 256, "there are 1 to 256 actions");
    expect(rules.shaping_discount >= 0.0F && rules.shaping_discount <= 1.0F, "a discount is in [0, 1]");
    expect(rules.sticky >= 0.0 && rules.sticky < 1.0, "the probability of a sticky action is in [0, 1)");
    expect(rules.observes <= MARIO_OBSERVE_BOTH, "environments show the picture, the RAM, or both");
    expect(rules.augment_shift <= 32 && rules.augment_brightness <= 255 && rules.augment_noise <= 127,
           "pictures shift by at most 32 pixels, brighten by at most 255, and have noise of at most 127");
    return rules;
}

float classic_reward(Environment& environment, const mario_game& game) {
    const int walk = game.x - environment.classic_x, ticks = game.clock - environment.classic_clock;
    environment.classic_x = game.x;
    environment.classic_clock = game.clock;
    const float reward = static_cast<float>(std::abs(walk) > classic_max_walk ? 0 : walk) + static_cast<float>(std::min(ticks, 0)) +
                         (game.is_dying || game.is_dead ? classic_death : 0.0F);
    return std::clamp(reward, -classic_limit, classic_limit);
}

/// At the top left, where the game shows nothing that matters. A square is what the first convolution of the usual networks sees at once.
void draw_buttons(std::uint8_t* frame, unsigned width, std::uint8_t buttons) {
    for (unsigned row = 0; row < button_size; ++row) {
        for (unsigned button = 0; button < num_buttons; ++button) {
            std::memset(frame + row * width + button * button_size, (buttons >> button & 1) ? 255 : 0, button_size);
        }
    }
}

/// In whole rows, as wide as those of a picture, and an even number of them, so that frames are whole words.
std::size_t shown_ram_bytes(const mario_env_rules& rules, const picture::View& view) {
    if (rules.observes == MARIO_OBSERVE_PICTURE) return 0;
    const std::size_t two_rows = 2 * std::size_t{view.out_width};
    return (ram_bytes + two_rows - 1) / two_rows * two_rows;
}

/// What is out but not taken is half as good.
float power_of(std::uint8_t status, bool is_power_up_out) { return static_cast<float>(status) + (is_power_up_out ? 0.5F : 0.0F); }

}  // namespace

struct Environments::Work {
    Environments* environments;
    const std::int64_t* actions;
    const std::uint8_t* mask;
    const std::uint64_t* seeds;
    const std::int32_t* starts;
    Outputs outputs;
};

/// Where one environment is worked on, where its newest frame is written, and where its picture is drawn: nowhere, if nobody sees it.
struct Environments::Place {
    unsigned thread, index;
    std::uint8_t* frame;
    std::uint8_t* picture;
};

/// One step of one environment.
struct Environments::Outcome {
    mario_game game{};
    std::uint32_t num_frames = 0, num_idle = 0;
    unsigned num_flags = 0, num_lives_lost = 0;
    float reward = 0.0F;
    mario_end_reason end = MARIO_END_NONE;

    /// Reads the game after some of the step's frames. What lasts for many frames counts once.
    void look(const nes::Console& console, Environment& environment) noexcept {
        game = smb::read_game(console.ram);
        num_lives_lost += game.is_losing_life && !environment.is_losing_life;
        environment.is_losing_life = game.is_losing_life;
        if (game.is_stage_clear && environment.cleared_level != game.level) {
            ++num_flags;
            environment.cleared_level = game.level;
        }
    }
};

Environments::Environments(batch::Batch& batch, const mario_env_rules& rules, std::span<const std::uint8_t> action_buttons)
    : batch_(batch), rules_(checked(rules)), action_buttons_(action_buttons.begin(), action_buttons.end()),
      picture_bytes_(rules_.observes == MARIO_OBSERVE_RAM ? 0 : batch.camera().out_bytes()),
      frame_bytes_(picture_bytes_ + shown_ram_bytes(rules_, batch.camera().view())), environments_(batch.config().num_consoles),
      frames_(stack_bytes() * batch.config().num_consoles),
      is_direct_(rules_.frame_stack == 1 && !batch.config().takes_maximum) {
    expect(batch.camera().view().format == picture::Format::grey, "environments show grey pictures");
    expect(action_buttons_.size() == rules_.num_actions, "each action has its buttons");
    const picture::View& view = batch.camera().view();
    expect(!rules_.show_buttons || (view.out_width >= num_buttons * button_size && view.out_height >= button_size),
           "pictures are too small to show buttons in");
    const bool is_changed = rules_.show_buttons || rules_.augment_shift || rules_.augment_brightness || rules_.augment_noise;
    expect(!is_changed || rules_.observes != MARIO_OBSERVE_RAM, "without a picture there is nothing to show buttons in, or to change");
}

void Environments::set_starts(std::span<const std::uint32_t> snapshots) {
    expect(!snapshots.empty(), "episodes need a start");
    for (const std::uint32_t snapshot : snapshots) {
        expect(batch_.has_snapshot(snapshot), "snapshot " + std::to_string(snapshot) + " was never set");
    }
    starts_.assign(snapshots.begin(), snapshots.end());
    cumulative_weights_.clear();
    excerpts_.clear();
    if (rules_.cycles_starts == 0) set_weights(std::vector<double>(starts_.size(), 1.0));
}

void Environments::set_weights(std::span<const double> weights) {
    expect(weights.size() == starts_.size(), "each start has a weight");
    double sum = 0.0;
    std::vector<double> cumulative;
    for (const double weight : weights) {
        expect(std::isfinite(weight) && weight >= 0.0, "a weight is a number, 0 or more");
        cumulative.push_back(sum += weight);
    }
    expect(sum > 0.0 && std::isfinite(sum), "some start needs a weight above 0");
    cumulative_weights_ = std::move(cumulative);
}

void Environments::set_excerpts(std::span<const std::uint32_t> num_steps) {
    expect(num_steps.size() == starts_.size(), "each start has a number of steps, or 0");
    excerpts_.assign(num_steps.begin(), num_steps.end());
}

void Environments::reset(const std::uint8_t* mask, const std::uint64_t* seeds, const std::int32_t* starts, const Outputs& outputs) {
    expect(!starts_.empty(), "episodes need a start");
    for (unsigned i = 0; starts && i < environments_.size(); ++i) {
        expect(starts[i] >= begin_here && starts[i] < static_cast<std::int32_t>(starts_.size()),
               "there is no start " + std::to_string(starts[i]));
    }
    Work work{this, nullptr, mask, seeds, starts, outputs};
    batch_.for_each([](void* context, unsigned thread, unsigned index) noexcept {
        const Work& mine = *static_cast<Work*>(context);
        mine.environments->reset_one(mine, thread, index);
    }, &work);
}

void Environments::reset_one(const Work& work, unsigned thread, unsigned index) noexcept {
    Environment& environment = environments_[index];
    if (!work.mask || work.mask[index]) {
        ++environment.episode.number;
        if (work.seeds) {
            environment.seed = work.seeds[index];
            environment.episode.number = 0;
        }
        begin(environment, thread, index, work.starts ? work.starts[index] : begin_drawn, work.outputs);
    } else if (is_direct_ && work.outputs.observations) {
        const Place place = place_for(environment, thread, index, work.outputs);
        draw(place);
        show(environment, place, false);
    }
    if (work.outputs.observations) {
        write_stack(environment, place_for(environment, thread, index, work.outputs), work.outputs.observations);
    }
    if (work.outputs.games) work.outputs.games[index] = smb::read_game(batch_.console(index).ram);
    if (work.outputs.episodes) work.outputs.episodes[index] = environment.episode;
}

void Environments::step(const std::int64_t* actions, const Outputs& outputs) {
    for (unsigned i = 0; i < environments_.size(); ++i) {
        expect(actions[i] >= 0 && actions[i] < static_cast<std::int64_t>(rules_.num_actions),
               "action " + std::to_string(actions[i]) + " of environment " + std::to_string(i) + " is not in [0, " +
                   std::to_string(rules_.num_actions) + ")");
    }
    Work work{this, actions, nullptr, nullptr, nullptr, outputs};
    batch_.for_each([](void* context, unsigned thread, unsigned index) noexcept {
        const Work& mine = *static_cast<Work*>(context);
        mine.environments->step_one(mine, thread, index);
    }, &work);
}

void Environments::step_one(const Work& work, unsigned thread, unsigned index) noexcept {
    Environment& environment = environments_[index];
    const bool is_stuck = rules_.sticky > 0.0 && draw_of(environment).uniform(Purpose::sticky) < rules_.sticky;
    if (!is_stuck) environment.last_action = static_cast<std::uint8_t>(work.actions[index]);
    Outcome outcome;
    const Outputs& outputs = work.outputs;
    environment.newest = static_cast<std::uint8_t>((environment.newest + 1u) % rules_.frame_stack);
    const Place place = place_for(environment, thread, index, outputs);
    play(outcome, environment, place, action_buttons_[environment.last_action]);
    environment.held_buttons = outcome.num_idle ? 0 : action_buttons_[environment.last_action];
    settle(outcome, environment, batch_.console(index).is_jammed());
    show(environment, place, false);

    if (outputs.rewards) outputs.rewards[index] = outcome.reward;
    if (outputs.terminated) outputs.terminated[index] = outcome.end != MARIO_END_NONE && !is_truncation(outcome.end);
    if (outputs.truncated) outputs.truncated[index] = is_truncation(outcome.end);
    if (outputs.stuck) outputs.stuck[index] = is_stuck;
    if (outcome.end != MARIO_END_NONE) {
        if (outputs.final_observations) write_stack(environment, place, outputs.final_observations);
        if (outputs.final_games) outputs.final_games[index] = outcome.game;
        if (outputs.final_episodes) outputs.final_episodes[index] = environment.episode;
    }
    if (outcome.end != MARIO_END_NONE && rules_.autoreset) {
        ++environment.episode.number;
        begin(environment, thread, index, begin_drawn, outputs);
        outcome.game = smb::read_game(batch_.console(index).ram);
    }
    if (outputs.observations) write_stack(environment, place, outputs.observations);
    if (outputs.games) outputs.games[index] = outcome.game;
    if (outputs.episodes) outputs.episodes[index] = environment.episode;
}

/// Runs the frames of a step, and on to where the agent has control again.
void Environments::play(Outcome& outcome, Environment& environment, const Place& place, std::uint8_t buttons) noexcept {
    if (rules_.is_classic) {
        play_classic(outcome, environment, place, buttons);
    } else {
        outcome.num_frames = batch_.config().frame_skip;
        batch_.run(place.thread, place.index, buttons, outcome.num_frames, place.picture);
        outcome.look(batch_.console(place.index), environment);
    }
    outcome.end = end_of(environment, outcome.game);
    if (rules_.skip_idle && outcome.end == MARIO_END_NONE && !outcome.game.has_control) skip_idle(outcome, environment, place);
}

/// Frame by frame, because the classic reward is one of frames.
void Environments::play_classic(Outcome& outcome, Environment& environment, const Place& place, std::uint8_t buttons) noexcept {
    const unsigned frame_skip = batch_.config().frame_skip;
    bool is_over = false;
    while (outcome.num_frames < frame_skip && !is_over) {
        ++outcome.num_frames;
        batch_.run(place.thread, place.index, buttons, 1, outcome.num_frames == frame_skip ? place.picture : nullptr);
        outcome.look(batch_.console(place.index), environment);
        outcome.reward += classic_reward(environment, outcome.game);
        is_over = end_of(environment, outcome.game) != MARIO_END_NONE;
    }
    if (outcome.num_frames < frame_skip) draw(place);
}

void Environments::skip_idle(Outcome& outcome, Environment& environment, const Place& place) noexcept {
    while (!outcome.game.has_control && !outcome.game.is_paused && outcome.end == MARIO_END_NONE &&
           outcome.num_idle < max_idle_frames) {
        batch_.run(place.thread, place.index, 0, 1, nullptr);
        ++outcome.num_idle;
        outcome.look(batch_.console(place.index), environment);
        outcome.end = end_of(environment, outcome.game);
    }
    outcome.num_frames += outcome.num_idle;
    draw(place);
}

/// Progress, reward and the end of a step.
void Environments::settle(Outcome& outcome, Environment& environment, bool is_jammed) noexcept {
    const mario_game& game = outcome.game;
    mario_episode& episode = environment.episode;
    ++episode.num_steps;
    episode.num_frames += outcome.num_frames;
    const Progress before = environment.progress;
    const float gain = game.has_control ? environment.progress.advance(game, map_, outcome.num_frames, outcome.num_idle) : 0.0F;
    const bool is_new_ground = game.has_control && environment.progress.is_new_ground != 0;
    environment.num_stalled = is_new_ground ? 0 : environment.num_stalled + 1;
    if (outcome.end == MARIO_END_FLAG) environment.progress.arrive();
    episode.progress = map_.is_empty() ? episode.progress + gain : environment.progress.share;

    if (outcome.end == MARIO_END_NONE && is_jammed) outcome.end = MARIO_END_JAMMED;
    if (outcome.end == MARIO_END_NONE && rules_.stall_steps && environment.num_stalled >= rules_.stall_steps) outcome.end = MARIO_END_STALL;
    if (outcome.end == MARIO_END_NONE && is_at_limit(episode)) outcome.end = MARIO_END_TIME_LIMIT;
    if (!rules_.is_classic) {
        const std::uint32_t points = game.score > environment.score ? game.score - environment.score : 0;
        const unsigned num_failures = outcome.num_lives_lost + (outcome.end == MARIO_END_WARP) + is_failed_stall(outcome.end);
        const float last_power = power_of(environment.status, environment.is_power_up_out != 0);
        const float power = power_of(game.status, game.is_power_up_out) - last_power;
        const float paid = rules_.shaping_discount > 0.0F ? shaping(before, environment.progress, outcome.end) : gain;
        outcome.reward = rules_.progress_reward * paid - rules_.step_penalty + rules_.score_reward * static_cast<float>(points) +
                         rules_.power_reward * power + rules_.flag_bonus * static_cast<float>(outcome.num_flags) -
                         rules_.failure_penalty * static_cast<float>(num_failures);
    }
    environment.score = game.score;
    episode.num_power_ups += game.status > environment.status;
    environment.status = game.status;
    environment.is_power_up_out = game.is_power_up_out;
    episode.total_reward += outcome.reward;
    episode.end_reason = outcome.end;
}

bool Environments::is_at_limit(const mario_episode& episode) const noexcept {
    const std::uint32_t excerpt = excerpt_steps(episode.start);
    return (rules_.max_episode_steps && episode.num_steps >= rules_.max_episode_steps) || (excerpt && episode.num_steps >= excerpt);
}

bool Environments::is_truncation(mario_end_reason reason) const noexcept {
    return reason >= MARIO_END_TIME_LIMIT && !is_failed_stall(reason);
}

bool Environments::is_failed_stall(mario_end_reason reason) const noexcept { return reason == MARIO_END_STALL && rules_.stall_fails; }

std::uint32_t Environments::excerpt_steps(std::int32_t start) const noexcept {
    const auto number = static_cast<std::size_t>(start);  // where the console stood, and what is gone, is beyond all
    return number < excerpts_.size() ? excerpts_[number] : 0;
}

/// The discounted gain of a potential changes no policy's worth compared with others (Ng, Harada, Russell 1999), as long as it is 0
/// where nothing follows. Where an episode is cut short something follows: its value is bootstrapped.
float Environments::shaping(const Progress& before, const Progress& after, mario_end_reason end) const noexcept {
    const bool is_terminal = end != MARIO_END_NONE && !is_truncation(end);
    const float now = is_terminal ? 0.0F : after.potential();
    return rules_.shaping_discount * now - (before.has_potential() ? before.potential() : now);
}

mario_end_reason Environments::end_of(const Environment& environment, const mario_game& game) const noexcept {
    if (rules_.is_classic) {
        if (game.has_flag && rules_.one_stage) return MARIO_END_FLAG;
        if ((game.is_dying || game.is_dead) && rules_.one_life) return MARIO_END_DEATH;
    } else {
        if (game.is_stage_clear && (rules_.one_stage || game.level >= rules_.last_level)) return MARIO_END_FLAG;
        if (game.is_losing_life && rules_.one_life) return MARIO_END_DEATH;
    }
    if (game.is_game_over) return MARIO_END_GAME_OVER;
    if (rules_.one_stage && game.level != environment.episode.level) return MARIO_END_WARP;
    return MARIO_END_NONE;
}

void Environments::begin(Environment& environment, unsigned thread, unsigned index, std::int32_t start,
                         const Outputs& outputs) noexcept {
    const std::uint64_t seed = environment.seed;
    const std::uint32_t number = environment.episode.number;
    environment = {};
    environment.seed = seed;
    environment.episode.number = number;
    environment.cleared_level = -1;
    if (start == begin_drawn) start = choose_start(environment, index);
    environment.episode.start = start == begin_here ? -1 : start;
    if (start != begin_here) batch_.restore(index, starts_[static_cast<std::size_t>(start)]);
    const Draw draw = draw_of(environment);
    const unsigned num_idle = excerpt_steps(start) ? 0 : draw.below(Purpose::idle_frames, rules_.noop_max + 1);
    const Place place = place_for(environment, thread, index, outputs);
    batch_.run(thread, index, 0, num_idle, place.picture);
    const mario_game game = smb::read_game(batch_.console(index).ram);
    environment.episode.level = game.level;
    environment.episode.num_frames = num_idle;
    environment.progress.begin(game, map_);
    environment.episode.progress = environment.progress.share;
    environment.distortion = draw_distortion(rules_, draw);
    environment.score = game.score;
    environment.status = game.status;
    environment.is_power_up_out = game.is_power_up_out;
    environment.classic_x = game.x;
    environment.classic_clock = game.clock;
    show(environment, place, true);
}

std::int32_t Environments::choose_start(const Environment& environment, unsigned index) const noexcept {
    if (cumulative_weights_.empty()) {
        return static_cast<std::int32_t>((std::uint64_t{rules_.first_env} + index + environment.episode.number) % starts_.size());
    }
    const double drawn = draw_of(environment).uniform(Purpose::start) * cumulative_weights_.back();
    const auto found = std::upper_bound(cumulative_weights_.begin(), cumulative_weights_.end() - 1, drawn);
    return static_cast<std::int32_t>(found - cumulative_weights_.begin());
}

void Environments::draw(const Place& place) noexcept {
    if (place.picture) batch_.draw(place.index, place.picture);
}

/// Distorts the newest frame, which was just drawn, shows what is held, and writes the RAM beneath it; the first of an episode stands for all of the stack.
void Environments::show(const Environment& environment, const Place& place, bool is_first) noexcept {
    if (place.picture) {
        distort({place.picture, picture_bytes_}, batch_.camera().view().out_width, environment.distortion, rules_.augment_noise,
                draw_of(environment));
    }
    if (rules_.show_buttons) draw_buttons(place.picture, batch_.camera().view().out_width, environment.held_buttons);
    if (frame_bytes_ > picture_bytes_) {
        std::uint8_t* const ram = place.frame + picture_bytes_;
        std::memcpy(ram, batch_.console(place.index).ram.data(), ram_bytes);
        std::memset(ram + ram_bytes, 0, frame_bytes_ - picture_bytes_ - ram_bytes);
    }
    for (unsigned slot = 1; is_first && slot < rules_.frame_stack; ++slot) {
        std::memcpy(ring_of(place.index) + slot * frame_bytes_, place.frame, frame_bytes_);
    }
}

void Environments::write_stack(const Environment& environment, const Place& place, std::uint8_t* rows) noexcept {
    std::uint8_t* const row = rows + place.index * stack_bytes();
    if (is_direct_) {
        if (row != place.frame) std::memcpy(row, place.frame, frame_bytes_);
        return;
    }
    const std::uint8_t* const ring = ring_of(place.index);
    const std::size_t oldest = (environment.newest + 1u) % rules_.frame_stack * frame_bytes_;
    std::memcpy(row, ring + oldest, stack_bytes() - oldest);
    std::memcpy(row + stack_bytes() - oldest, ring, oldest);
}

void Environments::save(unsigned index, std::span<std::uint8_t> out) const {
    expect(index < environments_.size(), "there is no environment " + std::to_string(index));
    expect(out.size() == state_bytes(), "an environment's state has " + std::to_string(state_bytes()) + " bytes");
    std::memcpy(out.data(), &environments_[index], sizeof(Environment));
    std::memcpy(out.data() + sizeof(Environment), frames_.data() + index * stack_bytes(), stack_bytes());
}

void Environments::load(unsigned index, std::span<const std::uint8_t> state) {
    expect(index < environments_.size(), "there is no environment " + std::to_string(index));
    expect(state.size() == state_bytes(), "an environment's state has " + std::to_string(state_bytes()) + " bytes, got " +
                                              std::to_string(state.size()) + "; it was saved under another config");
    Environment environment;
    std::memcpy(&environment, state.data(), sizeof(Environment));
    const Distortion& distortion = environment.distortion;
    expect(environment.newest < rules_.frame_stack && environment.last_action < rules_.num_actions &&
               std::abs(std::int64_t{distortion.shift_x}) <= 32 && std::abs(std::int64_t{distortion.shift_y}) <= 32 &&
               std::abs(std::int64_t{distortion.brightness}) <= 255,
           "the environment's state was saved under another config, or is damaged");
    environments_[index] = environment;
    std::memcpy(frames_.data() + index * stack_bytes(), state.data() + sizeof(Environment), stack_bytes());
}

Draw Environments::draw_of(const Environment& environment) const noexcept {
    return {environment.seed, environment.episode.number, environment.episode.num_steps};
}

/// A single frame is drawn where it is wanted, others into the ring.
Environments::Place Environments::place_for(const Environment& environment, unsigned thread, unsigned index, const Outputs& outputs) noexcept {
    const bool is_here = is_direct_ && outputs.observations;
    std::uint8_t* const frame = is_here ? outputs.observations + index * frame_bytes_ : ring_of(index) + environment.newest * frame_bytes_;
    return {thread, index, frame, picture_bytes_ > 0 ? frame : nullptr};
}

std::uint8_t* Environments::ring_of(unsigned index) noexcept { return frames_.data() + index * stack_bytes(); }

}  // namespace mario::envs
