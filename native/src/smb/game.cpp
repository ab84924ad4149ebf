#include "smb/game.h"

#include <algorithm>

namespace mario::smb {
namespace {

using Ram = std::array<std::uint8_t, 2048>;

namespace at {
constexpr std::size_t player_state = 0x0E, power_up_flag = 0x14, enemy_kinds = 0x16, power_up_object = 0x1B, motion = 0x1D,
                      power_up_kind = 0x39, x_page = 0x6D, x = 0x86, y_screen = 0xB5, y = 0xCE,
                      area_data = 0xE7, y_drawn = 0x03B8, maze_correct = 0x06D9, maze_passes = 0x06DA, swims = 0x0704,
                      entrance = 0x0710, screen_page = 0x071A, screen_x = 0x071C, clouds = 0x0743, maze_pending = 0x0745,
                      area_type = 0x074E, next_area = 0x0750, next_page = 0x0751, alternative_entrance = 0x0752, status = 0x0756,
                      lives = 0x075A, stage = 0x075C, world = 0x075F, area_number = 0x0760, game_mode = 0x0770, game_task = 0x0772,
                      pause = 0x0776, score = 0x07DE, coins = 0x07ED, clock = 0x07F8;
}

// Values of player_state, of motion and of game_mode, as in mario_native.h.
enum PlayerState : std::uint8_t {
    area_begins = 0, climbs_by_itself = 1, into_side_pipe = 2, down_a_pipe = 3, slides_down_flagpole = 4, walks_to_castle = 5,
    loses_life = 6, enters = 7, obeys = 8, dies = 11
};
constexpr std::uint8_t climbs = 3, game = 1, world_end = 2, game_plays = 3, walk_to_princess = 2;
constexpr std::uint8_t out_of_pipe = 2;                       // alternative_entrance
constexpr std::uint8_t intro_walk = 6, intro_walk_level = 7;  // entrance: as the header of such an area has it
constexpr std::uint8_t bowser = 0x2D, power_up = 0x2E, flag = 0x31;
constexpr std::uint8_t flower = 1;  // power_up_kind; 0 is a mushroom, what follows makes nobody tall
constexpr std::size_t num_enemies = 5;

std::uint16_t word(unsigned high, unsigned low) { return static_cast<std::uint16_t>(high * 256 + low); }

/// The game keeps one decimal digit per byte.
unsigned number(const Ram& ram, std::size_t first, std::size_t num_digits) {
    unsigned value = 0;
    for (std::size_t i = 0; i < num_digits; ++i) value = value * 10 + ram[first + i];
    return value;
}

bool shows_flag_or_bowser(const Ram& ram) {
    const auto* const kinds = ram.data() + at::enemy_kinds;
    return std::any_of(kinds, kinds + num_enemies, [](std::uint8_t kind) { return kind == bowser || kind == flag; });
}

void read_numbers(const Ram& ram, mario_game& record) {
    record.score = number(ram, at::score, 6);
    record.x = word(ram[at::x_page], ram[at::x]);
    record.screen_x = word(ram[at::screen_page], ram[at::screen_x]);
    record.y = static_cast<std::uint16_t>((ram[at::y_screen] == 0 ? 510 : 255) - ram[at::y_drawn]);
    record.clock = static_cast<std::uint16_t>(number(ram, at::clock, 3));
    record.coins = static_cast<std::uint16_t>(number(ram, at::coins, 2));
    record.world = static_cast<std::uint16_t>(ram[at::world] + 1);
    record.stage = static_cast<std::uint16_t>(ram[at::stage] + 1);
    record.level = static_cast<std::uint16_t>(ram[at::world] * 4 + ram[at::stage]);
    record.area_number = static_cast<std::uint16_t>(ram[at::area_number] + 1);
    record.room = word(ram[at::area_data + 1], ram[at::area_data]);
}

void read_bytes(const Ram& ram, mario_game& record) {
    record.x_on_screen = static_cast<std::uint8_t>(ram[at::x] - ram[at::screen_x]);
    record.y_on_screen = ram[at::y];
    record.y_screen = ram[at::y_screen];
    record.status = std::min<std::uint8_t>(ram[at::status], 2);
    record.lives = ram[at::lives];
    record.player_state = ram[at::player_state];
    record.motion = ram[at::motion];
    record.game_mode = ram[at::game_mode];
    record.game_task = ram[at::game_task];
    record.area_type = ram[at::area_type];
    record.next_area = ram[at::next_area];
    record.next_page = ram[at::next_page];
    record.maze_passes = ram[at::maze_passes];
    record.maze_correct = ram[at::maze_correct];
    record.maze_pending = ram[at::maze_pending];
}

/// Who moves the player: the controller, or the game.
void read_control(const Ram& ram, mario_game& record) {
    const bool plays = record.game_mode == game && record.game_task == game_plays;
    const std::uint8_t state = record.player_state;
    record.is_paused = (ram[at::pause] & 1) != 0;
    record.has_control = plays && state == obeys && !record.is_paused && record.y_screen < 2;
    record.is_loading = record.game_mode == game && record.game_task < game_plays;
    record.is_entering = plays && (state == area_begins || state == climbs_by_itself || state == enters);
    const bool comes_out_of_pipe = plays && state == enters && ram[at::alternative_entrance] == out_of_pipe;
    record.is_in_pipe = comes_out_of_pipe || (plays && (state == into_side_pipe || state == down_a_pipe));
    record.is_intro_walk = plays && state == enters && !comes_out_of_pipe &&
                           (ram[at::entrance] == intro_walk || ram[at::entrance] == intro_walk_level);
    record.is_busy = state <= walks_to_castle || state == enters;
    record.is_cut_scene = record.game_mode != game || record.is_loading || (record.is_busy && !record.is_paused);
    record.is_swimming = ram[at::swims] != 0;
    record.is_on_clouds = ram[at::clouds] != 0;
}

/// What there is to take.
void read_power_up(const Ram& ram, mario_game& record) {
    const bool plays = record.game_mode == game && record.game_task == game_plays;
    const bool is_there = ram[at::power_up_flag] != 0 && ram[at::power_up_object] == power_up;
    record.is_power_up_out = plays && is_there && ram[at::power_up_kind] <= flower;
}

/// How it ends.
void read_end(const Ram& ram, mario_game& record) {
    const std::uint8_t state = record.player_state;
    const bool plays = record.game_mode == game && record.game_task == game_plays;
    record.is_dying = state == dies || record.y_screen > 1;
    record.is_dead = state == loses_life;
    record.is_losing_life = plays && (state == dies || record.is_dead || (record.y_screen > 1 && !record.is_on_clouds));
    record.is_game_over = record.lives == 0xFF;
    record.is_on_flagpole = plays && state == slides_down_flagpole && record.motion == climbs;
    // Before it walks to the castle the player still holds the pole.
    record.is_climbing = plays && record.motion == climbs && !record.is_on_flagpole && state != walks_to_castle;
    record.is_stage_over = record.motion == climbs && shows_flag_or_bowser(ram);
    record.has_axe = record.game_mode == world_end;
    record.has_flag = record.is_stage_over || record.has_axe;
    record.is_world_end = record.has_axe && record.game_task >= walk_to_princess;
    record.is_stage_clear = record.has_axe || record.is_on_flagpole || (plays && state == walks_to_castle);
}

}  // namespace

mario_game read_game(const Ram& ram) noexcept {
    mario_game record{};
    read_numbers(ram, record);
    read_bytes(ram, record);
    read_control(ram, record);
    read_power_up(ram, record);
    read_end(ram, record);
    return record;
}

}  // namespace mario::smb
