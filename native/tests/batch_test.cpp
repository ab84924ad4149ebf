#include "batch/batch.h"

#include <atomic>
#include <cstdint>
#include <numeric>
#include <thread>
#include <vector>

#include "cartridges.h"
#include "check.h"

using namespace mario::batch;
using namespace cartridges;
using mario::nes::Board;
using mario::nes::Console;
using mario::picture::Camera;
using mario::picture::Format;

namespace {

using Bytes = std::vector<std::uint8_t>;

mario::nes::Buttons buttons_for(unsigned console, unsigned step) { return static_cast<mario::nes::Buttons>(console * 31 + step * 7); }

struct Outputs {
    Bytes observations, ram;
    std::vector<StepFlags> flags;

    explicit Outputs(const Batch& batch)
        : observations(batch.config().num_consoles * batch.camera().out_bytes()),
          ram(batch.config().num_consoles * batch.ram_bytes()), flags(batch.config().num_consoles) {}
    StepOutputs pointers() { return {observations.data(), ram.data(), flags.data()}; }
};

Bytes row(const Bytes& bytes, unsigned index, std::size_t row_bytes) {
    const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(index * row_bytes);
    return {begin, begin + static_cast<std::ptrdiff_t>(row_bytes)};
}

BatchConfig config_for(unsigned num_consoles, unsigned num_threads) {
    BatchConfig config;
    config.num_consoles = num_consoles;
    config.num_threads = num_threads;
    config.num_snapshots = 2;
    config.view = {0, 0, 256, 240, 84, 84, Format::grey};
    return config;
}

void step(Batch& batch, unsigned number, Outputs& outputs, const std::vector<std::int32_t>& snapshots = {}) {
    Bytes buttons(batch.config().num_consoles);
    for (unsigned i = 0; i < buttons.size(); ++i) buttons[i] = buttons_for(i, number);
    batch.step(buttons.data(), snapshots.empty() ? nullptr : snapshots.data(), outputs.pointers());
}

TEST(a_batch_does_what_single_consoles_do_for_every_size_and_thread_count) {
    const auto board = busy_program().board();
    const Camera camera({0, 0, 256, 240, 84, 84, Format::grey});
    for (const unsigned num_consoles : {1u, 2u, 7u, 33u}) {
        for (const unsigned num_threads : {1u, 2u, 5u}) {
            Batch batch(board, config_for(num_consoles, num_threads));
            Outputs outputs(batch);
            std::vector<Console> singles(num_consoles, powered_on(board));
            unsigned wrong = 0;
            for (unsigned number = 0; number < 12; ++number) {
                step(batch, number, outputs);
                for (unsigned i = 0; i < num_consoles; ++i) {
                    run_frames(singles[i], board, 4, buttons_for(i, number));
                    Bytes picture(camera.out_bytes());
                    camera.draw(singles[i], board, picture.data());
                    wrong += row(outputs.observations, i, picture.size()) != picture;
                    wrong += row(outputs.ram, i, 2048) != Bytes(singles[i].ram.begin(), singles[i].ram.end());
                    wrong += saved(batch.console(i), board) != saved(singles[i], board);
                }
            }
            CHECK(wrong == 0);
        }
    }
}

TEST(a_step_resets_the_consoles_that_are_asked_to_and_runs_the_others) {
    const auto board = busy_program().board();
    Batch batch(board, config_for(4, 2));
    Outputs outputs(batch);
    for (unsigned number = 0; number < 5; ++number) step(batch, number, outputs);
    batch.take_snapshot(0, 1);
    const auto snapshot = saved(batch.console(1), board);
    batch.set_snapshot(1, snapshot);
    for (unsigned number = 5; number < 9; ++number) step(batch, number, outputs);
    Console runs_on = batch.console(3);
    step(batch, 9, outputs, {0, -1, 1, -1});
    run_frames(runs_on, board, 4, buttons_for(3, 9));
    CHECK(saved(batch.console(0), board) == snapshot);
    CHECK(saved(batch.console(2), board) == snapshot);
    CHECK(saved(batch.console(3), board) == saved(runs_on, board));
    CHECK(outputs.flags[0].lag_frames == 0 && outputs.flags[0].is_jammed == 0);
    const auto before = saved(batch.console(1), board);
    CHECK_CONTAINS(check::message_of<std::invalid_argument>([&] { step(batch, 10, outputs, {-1, -1, -1, 2}); }), "never set");
    CHECK(saved(batch.console(1), board) == before);
}

TEST(chosen_bytes_of_ram_and_flags_are_reported) {
    // Counts frames in $10 for ever, and jams when A is pressed.
    const auto board = Maker()
                           .code(reset_at, {0xA9, 0x80, 0x8D, 0x00, 0x20, 0xA5, 0x12, 0xF0, 0xFC, 0x02})
                           .code(nmi_at, {0xE6, 0x10, 0xA5, 0x10, 0x29, 0x01, 0xF0, 0x0D, 0x8D, 0x16, 0x40, 0x4A, 0x8D, 0x16, 0x40, 0xAD,
                                          0x16, 0x40, 0x4A, 0x26, 0x12, 0x40})
                           .board();
    BatchConfig config = config_for(2, 2);
    config.ram_addresses = {0x11, 0x10};
    config.frame_skip = 8;
    Batch batch(board, config);
    Outputs outputs(batch);
    batch.console(0).ram[0x11] = 0xAB;
    const Bytes buttons{0, mario::nes::button_a};
    batch.step(buttons.data(), nullptr, outputs.pointers());
    CHECK(outputs.ram[0] == 0xAB && outputs.ram[1] == 7);
    CHECK(outputs.flags[0].lag_frames == 4 && outputs.flags[0].is_jammed == 0);
    CHECK(outputs.flags[1].is_jammed == 1);
    CHECK_CONTAINS(check::message_of<std::invalid_argument>([&] {
        config.ram_addresses = {2048};
        Batch refused(board, config);
    }), "RAM ends");
}

TEST(the_maximum_is_taken_over_the_last_two_frames) {
    const auto board = busy_program().board();
    BatchConfig config = config_for(3, 2);
    config.takes_maximum = true;
    Batch batch(board, config);
    Outputs outputs(batch);
    Console single = powered_on(board);
    for (unsigned number = 0; number < 10; ++number) {
        step(batch, number, outputs);
        run_frames(single, board, 3, buttons_for(2, number));
        Bytes exposure(batch.camera().exposure_bytes()), expected(batch.camera().out_bytes());
        batch.camera().expose(single, board, exposure.data());
        run_frames(single, board, 1, buttons_for(2, number));
        batch.camera().draw(single, board, expected.data(), exposure.data());
        CHECK(row(outputs.observations, 2, expected.size()) == expected);
    }
}

TEST(copies_and_save_states_move_between_consoles) {
    const auto board = busy_program().board();
    Batch batch(board, config_for(3, 1));
    Outputs outputs(batch);
    for (unsigned number = 0; number < 6; ++number) step(batch, number, outputs);
    batch.copy(0, 2);
    CHECK(saved(batch.console(0), board) == saved(batch.console(2), board));
    Bytes state(mario::nes::save_state_bytes);
    batch.save(1, std::span<std::uint8_t, mario::nes::save_state_bytes>(state));
    batch.load(2, state);
    CHECK(saved(batch.console(2), board) == state);
    CHECK_CONTAINS(check::message_of<std::invalid_argument>([&] { batch.copy(0, 3); }), "no console 3");
}

TEST(a_pool_does_every_index_once_however_often_it_is_asked) {
    for (const unsigned num_threads : {1u, 2u, 4u}) {
        ThreadPool pool(num_threads);
        CHECK(pool.num_threads() == num_threads);
        std::vector<std::atomic<unsigned>> done(50);
        for (unsigned round = 0; round < 2000; ++round) {
            pool.run([](void* context, unsigned, unsigned index) noexcept {
                ++(*static_cast<std::vector<std::atomic<unsigned>>*>(context))[index];
            }, &done, round % 51);
        }
        unsigned total = 0;
        for (const auto& count : done) total += count;
        unsigned expected = 0;
        for (unsigned round = 0; round < 2000; ++round) expected += round % 51;
        CHECK(total == expected);
    }
}

TEST(callers_share_a_pool_and_each_gets_all_of_its_own) {
    constexpr unsigned num_callers = ThreadPool::max_callers + 2, num_rounds = 500, count = 37;  // two too many work alone
    for (const unsigned num_threads : {1u, 2u, 5u}) {
        ThreadPool pool(num_threads);
        std::vector<std::vector<std::atomic<unsigned>>> done(num_callers);
        for (auto& each : done) each = std::vector<std::atomic<unsigned>>(count);
        std::atomic<unsigned> num_wrong = 0;
        std::vector<std::thread> callers;
        for (auto& mine : done) {
            callers.emplace_back([&pool, &mine, &num_wrong] {
                for (unsigned round = 1; round <= num_rounds; ++round) {
                    pool.run([](void* context, unsigned, unsigned index) noexcept {
                        ++(*static_cast<std::vector<std::atomic<unsigned>>*>(context))[index];
                    }, &mine, count);
                    for (const auto& times : mine) num_wrong += times != round;  // all done, and none twice
                }
            });
        }
        for (auto& caller : callers) caller.join();
        CHECK(num_wrong == 0u);
    }
}

TEST(batches_that_share_threads_step_as_they_do_alone) {
    const auto board = busy_program().board();
    Batch alone(board, config_for(5, 1)), owner(board, config_for(4, 3)), guest(board, config_for(5, 2));
    guest.share_threads(owner);
    CHECK(guest.num_threads() == 3);
    Outputs of_alone(alone), of_owner(owner), of_guest(guest);
    for (unsigned number = 0; number < 6; ++number) {
        step(alone, number, of_alone);
        std::thread other([&] { step(owner, number, of_owner); });
        step(guest, number, of_guest);
        other.join();
    }
    for (unsigned console = 0; console < 5; ++console) {
        CHECK(saved(alone.console(console), board) == saved(guest.console(console), board));
    }
    CHECK(of_alone.observations == of_guest.observations);
}

}  // namespace

int main() { return check::run_all(); }
