#include "envs/environments.h"

#include <cstdint>
#include <vector>

#include "cartridges.h"
#include "check.h"

using namespace mario::envs;
using namespace cartridges;
using mario::batch::Batch;
using mario::batch::BatchConfig;
using mario::picture::Format;

namespace {

using Bytes = std::vector<std::uint8_t>;

// The known answers that come with the authors' own library (Random123, kat_vectors).
static_assert(philox(0, {0, 0, 0, 0}) == Block{0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8});
static_assert(philox(~std::uint64_t{0}, {~0u, ~0u, ~0u, ~0u}) == Block{0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD});
static_assert(philox(0x299F31D0A4093822, {0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344}) ==
              Block{0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1});

TEST(numbers_are_spread_evenly_and_purposes_differ) {
    double sum = 0.0;
    std::vector<unsigned> counts(31);
    unsigned equal = 0;
    for (std::uint32_t step = 0; step < 31'000; ++step) {
        const Draw draw{7, 3, step};
        sum += draw.uniform(Purpose::sticky);
        ++counts[draw.below(Purpose::idle_frames, 31)];
        equal += draw.block(Purpose::sticky) == draw.block(Purpose::start);
    }
    CHECK(sum > 15'300 && sum < 15'700 && equal == 0);
    for (const unsigned count : counts) CHECK(count > 850 && count < 1150);
}

mario_game game_at(unsigned x, unsigned y, std::uint16_t room = 1) {
    mario_game game{};
    game.x = static_cast<std::uint16_t>(x);
    game.y_screen = static_cast<std::uint8_t>(y >> 8);
    game.y_on_screen = static_cast<std::uint8_t>(y);
    game.room = room;
    return game;
}

/// Three columns of one room, from whose start 100 frames are left.
ProgressMap map_of(const std::vector<std::uint32_t>& numbers) {
    mario_map_area area{};
    area.num_columns = 3;
    area.room = 1;
    area.stage_frames = 100;
    return ProgressMap({&area, 1}, numbers);
}

TEST(the_map_is_looked_up_by_square_and_stays_inside_its_grid) {
    std::vector<std::uint32_t> numbers(10 + 48 * 3);
    for (std::uint32_t i = 0; i < numbers.size(); ++i) numbers[i] = i;
    mario_map_area area{};
    area.num_columns = 3;
    area.first = 10;
    area.stage_frames = 200;
    area.room = 1;
    const ProgressMap map({&area, 1}, numbers);
    CHECK(map.remaining(game_at(0, 0)).frames == 10 && map.remaining(game_at(0, 0)).stage_frames == 200);
    CHECK(map.remaining(game_at(24, 33)).frames == 10 + 2 * 3 + 1);
    CHECK(map.remaining(game_at(30'000, 47 * 16)).frames == 10 + 47 * 3 + 2);
    CHECK(map.remaining(game_at(65'530, 0xFFFF)).frames == 10 + 47 * 3);
    CHECK(map.remaining(game_at(0, 0, 2)).frames == ProgressMap::unknown);
}

TEST(between_the_middles_of_two_squares_the_time_falls_evenly_unless_a_wall_is_there) {
    std::vector<std::uint32_t> numbers(48 * 3, ProgressMap::unknown);
    numbers[0] = 100, numbers[1] = 92, numbers[2] = 84;
    numbers[3] = 100, numbers[4] = 20;              // a wall between them
    numbers[3 * 2] = 100, numbers[3 * 2 + 2] = 84;  // nothing known between them
    const ProgressMap map = map_of(numbers);
    const auto left_at = [&](unsigned x, unsigned y) { return map.remaining(game_at(x, y)).frames; };
    CHECK(left_at(0, 0) == 100 && left_at(8, 0) == 100 && left_at(16, 0) == 96 && left_at(24, 0) == 92 && left_at(47, 0) == 84);
    for (unsigned x = 8; x < 40; x += 2) CHECK(left_at(x, 0) - left_at(x + 2, 0) == 1);
    CHECK(left_at(15, 16) == 100 && left_at(16, 16) == 20);
    CHECK(left_at(15, 32) == 100 && left_at(16, 32) == ProgressMap::unknown && left_at(32, 32) == 84);
}

TEST(a_maze_or_pipe_in_a_state_that_the_map_does_not_know_is_as_far_as_the_farthest) {
    std::vector<std::uint32_t> numbers(48 * 2);
    std::fill(numbers.begin() + 48, numbers.end(), 7);
    mario_map_area near{}, far{};
    near.num_columns = far.num_columns = 1;
    near.room = far.room = 1;
    far.next_page = 3;
    far.first = 48;
    const ProgressMap map(std::vector<mario_map_area>{far, near}, numbers);
    mario_game game = game_at(0, 0);
    CHECK(map.remaining(game).frames == 0);
    game.next_page = 3;
    CHECK(map.remaining(game).frames == 7);
    game.next_page = 4;
    CHECK(map.remaining(game).frames == 7);
    game.room = 2;
    CHECK(map.remaining(game).frames == ProgressMap::unknown);
}

TEST(progress_by_a_map_pays_a_loop_nothing_and_a_leap_over_several_steps) {
    std::vector<std::uint32_t> numbers(48 * 3);
    for (std::uint32_t i = 0; i < numbers.size(); ++i) numbers[i] = i % 3 == 0 ? 100 : i % 3 == 1 ? 90 : 10;
    const ProgressMap map = map_of(numbers);
    Progress progress;
    progress.begin(game_at(0, 0), map);
    CHECK(progress.share == 0.0F);
    CHECK(progress.advance(game_at(24, 0), map, 4, 0) == 25.0F && progress.is_new_ground);
    CHECK(progress.advance(game_at(0, 0), map, 4, 0) == -25.0F && !progress.is_new_ground);
    CHECK(progress.advance(game_at(24, 0), map, 4, 0) == 25.0F && !progress.is_new_ground);
    CHECK(progress.advance(game_at(24, 0, 2), map, 4, 0) == 0.0F);  // another room, which is not in the map
    float gained = 0.0F;
    for (int step = 0; step < 5; ++step) {
        const float gain = progress.advance(game_at(40, 0), map, 24, 20);
        CHECK(gain == 16 * 2.5F);
        gained += gain;
    }
    CHECK(progress.advance(game_at(40, 0), map, 4, 0) == 0.0F && gained == 80 * 2.5F);
    CHECK(progress.share == 0.9F);
}

TEST(a_square_that_the_map_does_not_know_pays_nothing) {
    std::vector<std::uint32_t> numbers(48 * 3, ProgressMap::unknown);
    numbers[0] = 100, numbers[1] = 96, numbers[2] = 92;  // a ledge, and nothing known below it
    const ProgressMap map = map_of(numbers);
    Progress progress;
    progress.begin(game_at(0, 0), map);
    CHECK(progress.advance(game_at(24, 0), map, 4, 0) == 10.0F);
    for (unsigned y = 16; y < 200; y += 16) CHECK(progress.advance(game_at(30, y), map, 4, 0) == 0.0F && !progress.is_new_ground);
    CHECK(progress.advance(game_at(40, 0), map, 4, 0) == 10.0F && progress.is_new_ground);
    mario_game elsewhere = game_at(0, 16);
    elsewhere.next_page = 9;  // no other state of the room knows the square either
    CHECK(map.remaining(elsewhere).frames == ProgressMap::unknown);
}

TEST(a_map_that_does_not_fit_is_refused) {
    const std::vector<std::uint32_t> numbers(48 * 3);
    mario_map_area area{};
    area.num_columns = 3;
    area.room = 1;
    mario_map_area late = area, wide = area, empty = area;
    late.first = 1;
    wide.num_columns = 0xFFFFFFFF;
    empty.num_columns = 0;
    for (const auto& wrong : {late, wide, empty}) {
        CHECK_CONTAINS(check::message_of<std::invalid_argument>([&] { ProgressMap({&wrong, 1}, numbers); }), "inside");
    }
    const std::vector<mario_map_area> twice{area, area};
    CHECK_CONTAINS(check::message_of<std::invalid_argument>([&] { ProgressMap(twice, numbers); }), "twice");
}

TEST(progress_by_position_never_pays_a_place_twice_nor_a_leap) {
    const ProgressMap map;
    Progress progress;
    progress.begin(game_at(40, 0), map);
    CHECK(progress.advance(game_at(52, 0), map, 4, 0) == 12.0F);
    CHECK(progress.advance(game_at(46, 0), map, 4, 0) == 0.0F);
    CHECK(progress.advance(game_at(54, 0), map, 4, 0) == 2.0F);
    CHECK(progress.advance(game_at(2000, 0), map, 4, 0) == 0.0F);       // a pipe ahead
    CHECK(progress.advance(game_at(2010, 0), map, 4, 0) == 10.0F);
    CHECK(progress.advance(game_at(986, 0), map, 4, 0) == 0.0F);        // a maze throws back
    CHECK(progress.advance(game_at(998, 0), map, 4, 0) == 0.0F);
    CHECK(progress.advance(game_at(16, 0, 2), map, 150, 146) == 0.0F);  // another room
    CHECK(progress.advance(game_at(26, 0, 2), map, 4, 0) == 10.0F);
    CHECK(progress.advance(game_at(1000, 0, 1), map, 4, 0) == 0.0F);    // and back
    CHECK(progress.advance(game_at(65'530, 0, 3), map, 4, 0) == 0.0F);  // left of a room
    CHECK(progress.advance(game_at(4, 0, 3), map, 4, 0) == 10.0F);
    float gained = 0.0F;
    for (unsigned room = 10; room < 60; ++room) gained += progress.advance(game_at(40, 0, static_cast<std::uint16_t>(room)), map, 4, 0);
    CHECK(gained == 0.0F);
}

/// Moves and brightens as one would write it down.
Bytes slow_distortion(const Bytes& picture, int width, const Distortion& distortion) {
    const int height = static_cast<int>(picture.size()) / width;
    Bytes out(picture.size());
    for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x) {
            const int from_x = std::clamp(x - distortion.shift_x, 0, width - 1), from_y = std::clamp(y - distortion.shift_y, 0, height - 1);
            const int value = picture[static_cast<std::size_t>(from_y * width + from_x)] + distortion.brightness;
            out[static_cast<std::size_t>(y * width + x)] = static_cast<std::uint8_t>(std::clamp(value, 0, 255));
        }
    }
    return out;
}

TEST(distortions_are_what_they_say) {
    Bytes picture(84 * 60);
    for (std::size_t i = 0; i < picture.size(); ++i) picture[i] = static_cast<std::uint8_t>(i * 37 + i / 84 * 11);
    const Draw draw{1, 2, 3};
    for (const int x : {-32, -3, 0, 1, 32}) {
        for (const int y : {-32, -1, 0, 5, 32}) {
            for (const int brightness : {-200, 0, 30}) {
                Bytes moved = picture;
                distort(moved, 84, {x, y, brightness}, 0, draw);
                CHECK(moved == slow_distortion(picture, 84, {x, y, brightness}));
            }
        }
    }
    Bytes noisy = picture, again = picture;
    distort(noisy, 84, {0, 0, 0}, 9, draw);
    distort(again, 84, {0, 0, 0}, 9, draw);
    int most = 0;
    for (std::size_t i = 0; i < picture.size(); ++i) most = std::max(most, std::abs(noisy[i] - picture[i]));
    CHECK(noisy == again && most == 9);
}

BatchConfig config_for(unsigned num_consoles) {
    BatchConfig config;
    config.num_consoles = num_consoles;
    config.num_threads = 2;
    config.num_snapshots = 1;
    config.view = {0, 0, 256, 240, 84, 84, Format::grey};
    return config;
}

mario_env_rules rules() {
    mario_env_rules rules{};
    rules.num_actions = 2;
    rules.frame_stack = 3;
    rules.last_level = 31;
    rules.max_episode_steps = 5;
    return rules;
}

TEST(wrong_calls_are_refused_before_anything_changes) {
    const auto board = busy_program().board();
    Batch batch(board, config_for(2));
    const Bytes buttons{0, 128};
    Environments environments(batch, rules(), buttons);
    CHECK_CONTAINS(check::message_of<std::invalid_argument>([&] { environments.reset(nullptr, nullptr, nullptr, {}); }), "start");
    const std::uint32_t missing = 0;
    CHECK_CONTAINS(check::message_of<std::invalid_argument>([&] { environments.set_starts({&missing, 1}); }), "never set");
    batch.take_snapshot(0, 0);
    environments.set_starts({&missing, 1});
    environments.reset(nullptr, nullptr, nullptr, {});
    const auto before = saved(batch.console(0), board);
    const std::vector<std::int64_t> far{0, 2}, negative{-1, 0};
    for (const auto& wrong : {far, negative}) {
        CHECK_CONTAINS(check::message_of<std::invalid_argument>([&] { environments.step(wrong.data(), {}); }), "is not in");
    }
    CHECK(saved(batch.console(0), board) == before);
    const double nothing[] = {0.0}, no_number[] = {0.0 / 0.0};
    CHECK_CONTAINS(check::message_of<std::invalid_argument>([&] { environments.set_weights(nothing); }), "above 0");
    CHECK_CONTAINS(check::message_of<std::invalid_argument>([&] { environments.set_weights(no_number); }), "0 or more");
    const std::uint32_t two[] = {7, 7};
    CHECK_CONTAINS(check::message_of<std::invalid_argument>([&] { environments.set_excerpts(two); }), "each start");
    mario_env_rules deep = rules();
    deep.frame_stack = 17;
    CHECK_CONTAINS(check::message_of<std::invalid_argument>([&] { Environments(batch, deep, buttons); }), "16 frames");
}

TEST(an_excerpt_is_cut_where_it_says_and_begins_without_idle_frames) {
    const auto board = busy_program().board();
    Batch batch(board, config_for(8));
    const Bytes buttons{0, 128};
    mario_env_rules with_idle = rules();
    with_idle.noop_max = 30;
    with_idle.autoreset = 0;
    Environments environments(batch, with_idle, buttons);
    batch.take_snapshot(0, 0);
    const std::uint32_t starts[] = {0, 0}, excerpts[] = {0, 3};
    environments.set_starts(starts);
    environments.set_excerpts(excerpts);
    const std::int32_t chosen[] = {0, 1, 0, 1, 0, 1, 0, 1};
    std::vector<mario_episode> episodes(8);
    environments.reset(nullptr, nullptr, chosen, {.episodes = episodes.data()});
    unsigned idle = 0;
    for (unsigned env = 0; env < 8; ++env) {
        if (chosen[env]) CHECK(episodes[env].num_frames == 0);
        idle += episodes[env].num_frames;
    }
    CHECK(idle > 0);
    const std::vector<std::int64_t> actions(8, 1);
    for (unsigned step = 1; step <= 5; ++step) {
        std::vector<std::uint8_t> truncated(8);
        environments.step(actions.data(), {.truncated = truncated.data(), .episodes = episodes.data()});
        for (unsigned env = 0; env < 8; ++env) CHECK(truncated[env] == (step >= (chosen[env] ? 3u : 5u)));
    }
    CHECK(episodes[1].end_reason == MARIO_END_TIME_LIMIT);
}

/// Any bytes are either refused or harmless: a saved state is input like any other.
TEST(a_damaged_state_is_refused_or_harmless) {
    const auto board = busy_program().board();
    Batch batch(board, config_for(1));
    const Bytes buttons{0, 128};
    auto with_all = rules();
    with_all.augment_shift = 4;
    with_all.augment_noise = 4;
    with_all.sticky = 0.5;
    Environments environments(batch, with_all, buttons);
    batch.take_snapshot(0, 0);
    const std::uint32_t start = 0;
    environments.set_starts({&start, 1});
    environments.reset(nullptr, nullptr, nullptr, {});
    Bytes state(environments.state_bytes()), observations(3 * 84 * 84);
    environments.save(0, state);
    const std::int64_t action = 1;
    unsigned refused = 0;
    for (std::size_t at = 0; at < sizeof(Environment); ++at) {
        for (const unsigned value : {0xFFu, 0x80u, 0x7Fu}) {
            Bytes damaged = state;
            damaged[at] = static_cast<std::uint8_t>(value);
            refused += !check::message_of<std::invalid_argument>([&] { environments.load(0, damaged); }).empty();
            for (int step = 0; step < 3; ++step) environments.step(&action, {.observations = observations.data()});
        }
    }
    CHECK(refused > 0);
    CHECK_CONTAINS(check::message_of<std::invalid_argument>([&] { environments.load(0, {state.data(), 10}); }), "another config");
}

}  // namespace

int main() { return check::run_all(); }
