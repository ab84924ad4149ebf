// Throws mutated ROM files, mutated save-states and random programs at the console. A finding is a crash: build with
// -DMARIO_SANITIZE=address,undefined.
//   fuzz rom|state|program ITERATIONS SEED
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string_view>
#include <vector>

#include "nes/cartridge.h"
#include "nes/console.h"
#include "nes/save_state.h"
#include "picture/camera.h"

using namespace mario::nes;

namespace {

using Bytes = std::vector<std::uint8_t>;
using Random = std::mt19937_64;

unsigned below(Random& random, std::size_t limit) { return static_cast<unsigned>(random() % limit); }
std::uint8_t any_byte(Random& random) { return static_cast<std::uint8_t>(random()); }

void fill(Random& random, std::span<std::uint8_t> bytes) {
    for (auto& byte : bytes) byte = any_byte(random);
}

/// A valid NROM file full of noise, of any of the four shapes.
Bytes random_file(Random& random) {
    const unsigned prg_units = 1 + below(random, 2), chr_units = below(random, 2);
    Bytes file(16 + prg_units * 0x4000 + chr_units * 0x2000);
    fill(random, file);
    const std::uint8_t header[16] = {'N', 'E', 'S', 0x1A, static_cast<std::uint8_t>(prg_units), static_cast<std::uint8_t>(chr_units),
                                     static_cast<std::uint8_t>(random() & 1)};
    std::memcpy(file.data(), header, sizeof header);
    return file;
}

void mutate(Random& random, Bytes& bytes, std::size_t first_bytes) {
    const unsigned count = 1 + below(random, 8);
    for (unsigned i = 0; i < count && !bytes.empty(); ++i) {
        // Half of the changes hit the part whose values mean something.
        const std::size_t at = random() & 1 ? below(random, std::min(first_bytes, bytes.size())) : below(random, bytes.size());
        switch (below(random, 4)) {
            case 0: bytes[at] = any_byte(random); break;
            case 1: bytes[at] ^= static_cast<std::uint8_t>(1u << below(random, 8)); break;
            case 2: bytes[at] = random() & 1 ? 0x00 : 0xFF; break;
            default: bytes[at] = static_cast<std::uint8_t>(bytes[at] + (random() & 1 ? 1 : -1)); break;
        }
    }
}

/// Everything that can be done with a console that was let in.
void exercise(Random& random, Console& console, const Board& board, unsigned num_frames) {
    static const mario::picture::Camera small({0, 0, 256, 240, 84, 84, mario::picture::Format::grey});
    static const mario::picture::Camera colour({.format = mario::picture::Format::rgb});
    static Bytes picture(colour.out_bytes());
    for (unsigned frame = 0; frame < num_frames; ++frame) {
        if (below(random, 16) == 0) console.reset(board);
        console.run_frame(board, any_byte(random), random() & 1 ? IdleLoops::skipped : IdleLoops::executed);
    }
    small.draw(console, board, picture.data());
    if (below(random, 8) == 0) colour.draw(console, board, picture.data());
}

void expect(bool holds, const char* what, std::uint64_t iteration) {
    if (holds) return;
    std::fprintf(stderr, "iteration %llu: %s\n", static_cast<unsigned long long>(iteration), what);
    std::abort();
}

Bytes saved(const Console& console, const Board& board) {
    Bytes bytes(save_state_bytes);
    write_save_state(console, board, std::span<std::uint8_t, save_state_bytes>(bytes));
    return bytes;
}

bool fuzz_rom(Random& random, std::uint64_t) {
    Bytes file = random_file(random);
    mutate(random, file, 16);
    if (below(random, 4) == 0) file.resize(below(random, file.size() + 100));
    try {
        const Board board = make_board(read_cartridge(file));
        static Console console;
        console.power_on(board, any_byte(random));
        exercise(random, console, board, 1);
        return true;
    } catch (const CartridgeError&) {
        return false;
    }
}

bool fuzz_state(Random& random, std::uint64_t iteration) {
    // A new game now and then; its states come from frames that were really run.
    static Board board;
    static Console console;
    if (iteration % 64 == 0) board = make_board(read_cartridge(random_file(random))), console.power_on(board, any_byte(random));
    if (iteration % 64 == 0) exercise(random, console, board, 1 + below(random, 4));
    Bytes state = saved(console, board);
    // The memories may hold anything; what lies before and after them must not.
    Bytes payload(state.begin() + save_state_header_bytes, state.end());
    constexpr std::size_t before_ram = offsetof(Console, ram), at_ppu = offsetof(Console, ppu);
    const bool hits_ppu = random() & 1;
    Bytes part(payload.begin() + (hits_ppu ? at_ppu : 0), payload.begin() + (hits_ppu ? at_ppu + offsetof(PpuState, chr_ram) : before_ram));
    mutate(random, part, hits_ppu ? offsetof(PpuState, palette) : part.size());
    std::copy(part.begin(), part.end(), state.begin() + static_cast<std::ptrdiff_t>(save_state_header_bytes + (hits_ppu ? at_ppu : 0)));
    const bool is_sealed = below(random, 8) != 0;
    if (is_sealed) seal_save_state(board, std::span<std::uint8_t, save_state_bytes>(state));
    if (below(random, 16) == 0) state.resize(below(random, state.size() + 100));
    static Console loaded;
    loaded = console;
    try {
        read_save_state(loaded, board, state);
    } catch (const SaveStateError&) {
        expect(saved(loaded, board) == saved(console, board), "a refused state changed the console", iteration);
        return false;
    }
    exercise(random, loaded, board, 1 + below(random, 3));
    return true;
}

bool fuzz_program(Random& random, std::uint64_t iteration) {
    static const Board board = [] {
        // Jumps into RAM, and so do all interrupts.
        Bytes file(16 + 0x4000);
        const std::uint8_t header[16] = {'N', 'E', 'S', 0x1A, 1, 0};
        std::memcpy(file.data(), header, sizeof header);
        for (unsigned vector = 0; vector < 3; ++vector) file[16 + 0x3FFB + 2 * vector] = static_cast<std::uint8_t>(vector);
        return make_board(read_cartridge(file));
    }();
    static Console console, twin;
    console.power_on(board, 0);
    fill(random, console.ram);
    // Registers are where programs get into trouble: make their addresses common.
    for (unsigned i = 0; i < 200; ++i) {
        const unsigned at = below(random, 0x700);
        console.ram[at] = static_cast<std::uint8_t>(below(random, 3) ? below(random, 8) : 0x14 + below(random, 4));
        console.ram[at + 1] = static_cast<std::uint8_t>(below(random, 3) ? 0x20 : 0x40);
    }
    // A jam ends the fun at once, so most of them become something else.
    for (auto& byte : console.ram) {
        if ((byte & 0x1F) == 0x12 || byte == 0x02 || byte == 0x22 || byte == 0x42 || byte == 0x62) byte = below(random, 50) ? 0xEA : byte;
    }
    twin = console;
    for (unsigned frame = 0; frame < 3; ++frame) {
        const std::uint8_t buttons = any_byte(random);
        console.run_frame(board, buttons, IdleLoops::skipped);
        twin.run_frame(board, buttons, IdleLoops::executed);
    }
    expect(saved(console, board) == saved(twin, board), "skipping idle loops changed the state", iteration);
    Console& loaded = twin;
    const Bytes state = saved(console, board);
    read_save_state(loaded, board, state);
    expect(saved(loaded, board) == state, "a state changed when it was loaded", iteration);
    exercise(random, console, board, 1);
    return !console.is_jammed();
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) {
        std::fprintf(stderr, "usage: fuzz rom|state|program ITERATIONS SEED\n");
        return 2;
    }
    const std::string_view what = argv[1];
    const auto iterations = std::strtoull(argv[2], nullptr, 10), seed = std::strtoull(argv[3], nullptr, 10);
    const auto run = what == "rom" ? fuzz_rom : what == "state" ? fuzz_state : what == "program" ? fuzz_program : nullptr;
    if (run == nullptr) return 2;
    Random random(seed);
    std::uint64_t accepted = 0;
    for (std::uint64_t iteration = 0; iteration < iterations; ++iteration) accepted += run(random, iteration);
    std::printf("%s: %llu iterations, %llu let in and run\n", argv[1], static_cast<unsigned long long>(iterations),
                static_cast<unsigned long long>(accepted));
    return 0;
}
