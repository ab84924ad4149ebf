#include "mario_native.h"

#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "cartridges.h"
#include "check.h"

namespace {

TEST(the_library_says_what_it_is) {
    CHECK(mario_abi_version() == MARIO_ABI_VERSION);
    CHECK(std::strlen(mario_source_hash()) == 64);
    CHECK(mario_cartridge_info_bytes() == sizeof(mario_cartridge_info));
    CHECK(mario_view_bytes() == sizeof(mario_view));
    CHECK(mario_batch_config_bytes() == sizeof(mario_batch_config));
    CHECK(mario_step_flags_bytes() == sizeof(mario_step_flags));
}

TEST(a_failing_call_changes_nothing_and_says_why) {
    const std::uint8_t junk[3] = {1, 2, 3};
    mario_cartridge_info info{7, 7, 7, 7};
    CHECK(mario_read_cartridge(junk, sizeof junk, &info) == MARIO_BAD_CARTRIDGE);
    CHECK(info.prg_rom_bytes == 7 && info.vertical_mirroring == 7);
    CHECK_CONTAINS(mario_last_error(), "3 bytes");
}

TEST(each_thread_has_its_own_last_error) {
    mario_cartridge_info info{};
    const std::uint8_t junk[1] = {0};
    (void)mario_read_cartridge(junk, 1, &info);
    std::string seen_elsewhere = "unset";
    std::thread([&] { seen_elsewhere = mario_last_error(); }).join();
    CHECK(seen_elsewhere.empty());
    CHECK_CONTAINS(mario_last_error(), "1 bytes");
}

mario_console* make_console(const std::vector<std::uint8_t>& file) {
    mario_console* console = nullptr;
    CHECK(mario_console_create(file.data(), file.size(), &console) == MARIO_OK);
    return console;
}

TEST(a_console_runs_saves_loads_and_shows_itself) {
    const auto file = cartridges::busy_program().file();
    mario_console* const console = make_console(file);
    mario_console_power_on(console, 0xFF);
    CHECK(mario_console_ram(console)[0x7FF] == 0xFF);
    mario_console_run_frames(console, 1, 30);
    CHECK(mario_console_frame_count(console) == 30 && mario_console_lag_frames(console) < 10 && !mario_console_is_jammed(console));
    std::vector<std::uint8_t> state(mario_state_bytes()), later(mario_state_bytes()), again(mario_state_bytes());
    CHECK(mario_console_save(console, state.data(), state.size()) == MARIO_OK);
    CHECK(mario_console_save(console, state.data(), 100) == MARIO_BAD_ARGUMENT);
    mario_console_run_frames(console, 0, 10);
    (void)mario_console_save(console, later.data(), later.size());
    CHECK(mario_console_load(console, state.data(), state.size()) == MARIO_OK);
    mario_console_set_idle_skip(console, 0);
    mario_console_run_frames(console, 0, 10);
    (void)mario_console_save(console, again.data(), again.size());
    CHECK(again == later);
    state[100] ^= 1;
    CHECK(mario_console_load(console, state.data(), state.size()) == MARIO_BAD_STATE);
    CHECK_CONTAINS(mario_last_error(), "checksum");

    const mario_view view{0, 0, 256, 240, 84, 84, 0};
    std::vector<std::uint8_t> picture(84 * 84);
    CHECK(mario_console_observe(console, &view, picture.data(), picture.size()) == MARIO_OK);
    CHECK(mario_console_observe(console, &view, picture.data(), picture.size() - 1) == MARIO_BAD_ARGUMENT);
    const mario_view odd{1, 0, 256, 240, 84, 84, 0};
    CHECK(mario_console_observe(console, &odd, picture.data(), picture.size()) == MARIO_BAD_ARGUMENT);
    mario_console_destroy(console);
    mario_console_destroy(nullptr);
}

TEST(a_batch_steps_resets_and_copies_through_the_c_boundary) {
    const auto file = cartridges::busy_program().file();
    mario_batch_config config{};
    config.num_consoles = 3, config.num_threads = 2, config.frame_skip = 4, config.num_snapshots = 1, config.num_ram_addresses = 1;
    config.view = {0, 0, 256, 240, 84, 84, 0};
    mario_batch* batch = nullptr;
    CHECK(mario_batch_create(file.data(), file.size(), &config, nullptr, &batch) == MARIO_BAD_ARGUMENT);
    const std::uint16_t address = 0x10;
    CHECK(mario_batch_create(file.data(), file.size(), &config, &address, &batch) == MARIO_OK);
    CHECK(mario_batch_num_threads(batch) == 2);
    const std::uint8_t buttons[3] = {0, 1, 2};
    std::vector<std::uint8_t> observations(3 * 84 * 84), ram(3);
    std::vector<mario_step_flags> flags(3);
    std::vector<mario_game> games(3);
    mario_batch_ram(batch, 1)[0x075F] = 6;
    for (unsigned i = 0; i < 5; ++i) {
        CHECK(mario_batch_step(batch, buttons, nullptr, observations.data(), ram.data(), flags.data(), games.data()) == MARIO_OK);
    }
    CHECK(ram[0] == mario_batch_ram(batch, 0)[0x10] && ram[0] > 10);
    CHECK(games[0].world == 1 && games[1].world == 7);
    mario_game game{};
    mario_read_game(mario_batch_ram(batch, 1), &game);
    CHECK(game.world == 7 && mario_game_bytes() == sizeof game);
    CHECK(mario_batch_take_snapshot(batch, 0, 1) == MARIO_OK);
    CHECK(mario_batch_take_snapshot(batch, 1, 1) == MARIO_BAD_ARGUMENT);
    const std::int32_t resets[3] = {0, -1, -1};
    CHECK(mario_batch_step(batch, buttons, resets, observations.data(), ram.data(), flags.data(), games.data()) == MARIO_OK);
    CHECK(ram[1] == static_cast<std::uint8_t>(ram[0] + 4));
    const std::int32_t unset[3] = {-1, -1, 7};
    CHECK(mario_batch_step(batch, buttons, unset, nullptr, nullptr, nullptr, nullptr) == MARIO_BAD_ARGUMENT);
    std::vector<std::uint8_t> state(mario_state_bytes());
    CHECK(mario_batch_save(batch, 2, state.data(), state.size()) == MARIO_OK);
    CHECK(mario_batch_set_snapshot(batch, 0, state.data(), state.size()) == MARIO_OK);
    CHECK(mario_batch_load(batch, 0, state.data(), state.size()) == MARIO_OK);
    CHECK(mario_batch_copy(batch, 1, 0) == MARIO_OK && mario_batch_copy(batch, 1, 3) == MARIO_BAD_ARGUMENT);
    CHECK(mario_batch_ram(batch, 1)[0x10] == mario_batch_ram(batch, 2)[0x10]);
    CHECK(mario_batch_ram(batch, 3) == nullptr);
    mario_batch_destroy(batch);
    mario_batch_destroy(nullptr);
}

}  // namespace

int main() { return check::run_all(); }
