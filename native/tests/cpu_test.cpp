#include "nes/cpu.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "check.h"

using namespace mario::nes;

namespace {

/// 64 KB of plain memory that stops after one instruction and remembers every access.
struct FlatBus {
    std::array<std::uint8_t, 65536> memory{};
    std::uint64_t deadline = 0;
    std::uint32_t trace_hash = 0x811C9DC5;
    bool has_served = false;

    std::uint8_t read(std::uint16_t address, std::uint64_t) {
        record(address, memory[address], 0);
        return memory[address];
    }
    void write(std::uint16_t address, std::uint8_t value, std::uint64_t) {
        record(address, value, 1);
        memory[address] = value;
    }
    Service service(const CpuState&, std::uint64_t cycle) {
        const bool is_second_boundary = has_served;
        has_served = true;
        return {cycle, is_second_boundary ? Boundary::stop : Boundary::go_on};
    }
    static std::uint16_t vector(std::uint16_t address, std::uint64_t) { return address; }
    static void interrupt_flag_changed() {}
    static void handler_entered() {}
    static std::uint64_t skip_self_jump(std::uint64_t cycle) { return cycle; }
    static std::uint64_t skip_poll(std::uint8_t, std::uint16_t, std::uint8_t, std::uint64_t cycle) { return cycle; }

private:
    void record(std::uint16_t address, std::uint8_t value, std::uint8_t is_write) {
        for (const unsigned byte : {address & 0xFFu, unsigned{address} >> 8u, unsigned{value}, unsigned{is_write}}) {
            trace_hash = (trace_hash ^ byte) * 0x01000193u;
        }
    }
};

/// Executes one instruction; the cycles it took.
std::uint64_t step(CpuState& cpu, FlatBus& bus) {
    bus.has_served = false;
    bus.trace_hash = 0x811C9DC5;
    return Interpreter<FlatBus>(cpu, bus, 0).run();
}

class Vectors {
public:
    explicit Vectors(const std::string& path) {
        std::ifstream file(path, std::ios::binary);
        bytes_.assign(std::istreambuf_iterator<char>(file), {});
    }
    [[nodiscard]] bool at_end() const { return at_ >= bytes_.size(); }
    std::uint8_t byte() { return static_cast<std::uint8_t>(bytes_.at(at_++)); }
    std::uint16_t word() {
        const unsigned low = byte();
        return static_cast<std::uint16_t>(low | (byte() << 8u));
    }
    std::uint32_t double_word() {
        const std::uint32_t low = word();
        return low | (static_cast<std::uint32_t>(word()) << 16u);
    }
    CpuState registers() {
        CpuState cpu{};
        cpu.pc = word();
        cpu.s = byte(), cpu.a = byte(), cpu.x = byte(), cpu.y = byte(), cpu.p = byte();
        return cpu;
    }

private:
    std::vector<char> bytes_;
    std::size_t at_ = 0;
};

bool same_registers(const CpuState& left, const CpuState& right) {
    return left.pc == right.pc && left.s == right.s && left.a == right.a && left.x == right.x && left.y == right.y &&
           left.p == right.p;
}

TEST(every_single_step_vector_holds_in_registers_memory_cycles_and_bus_order) {
    Vectors vectors(MARIO_TEST_DATA "/singlestep.bin");
    FlatBus bus;
    unsigned cases = 0, wrong = 0;
    std::array<bool, 256> seen{};
    for (; !vectors.at_end(); ++cases) {
        CpuState cpu = vectors.registers();
        std::vector<std::uint16_t> touched;
        for (unsigned count = vectors.byte(); count > 0; --count) {
            const std::uint16_t address = vectors.word();
            bus.memory[address] = vectors.byte();
            touched.push_back(address);
        }
        const std::uint8_t opcode = bus.memory[cpu.pc];
        seen[opcode] = true;
        CpuState expected = vectors.registers();
        std::array<std::uint8_t, 65536>& memory = bus.memory;
        std::vector<std::uint8_t> before;
        for (const auto address : touched) before.push_back(memory[address]);
        const std::uint64_t cycles = step(cpu, bus);
        bool holds = same_registers(cpu, expected);
        std::vector<bool> may_differ(touched.size(), false);
        for (unsigned count = vectors.byte(); count > 0; --count) {
            const std::uint16_t address = vectors.word();
            holds = holds && memory[address] == vectors.byte();
            for (std::size_t i = 0; i < touched.size(); ++i) may_differ[i] = may_differ[i] || touched[i] == address;
        }
        for (std::size_t i = 0; i < touched.size(); ++i) {
            holds = holds && (may_differ[i] || memory[touched[i]] == before[i]);
        }
        holds = holds && cycles == vectors.byte();
        holds = (bus.trace_hash == vectors.double_word()) && holds;
        if (!holds && ++wrong <= 5) std::fprintf(stderr, "opcode %02x, case %u\n", opcode, cases);
    }
    unsigned opcodes = 0;
    for (const bool is_seen : seen) opcodes += is_seen;
    CHECK(cases == 22802);
    CHECK(opcodes == 151);
    CHECK(wrong == 0);
}

struct Unofficial {
    const char* what;
    std::vector<std::uint8_t> code;
    CpuState before, after;
    std::uint8_t cell_before, cell_after;  // at $0280
    unsigned cycles;
};

// Registers: pc, a, x, y, s, p.
constexpr CpuState regs(unsigned pc, unsigned a, unsigned x, unsigned y, unsigned s, unsigned p) {
    return {static_cast<std::uint16_t>(pc), static_cast<std::uint8_t>(a), static_cast<std::uint8_t>(x),
            static_cast<std::uint8_t>(y), static_cast<std::uint8_t>(s), static_cast<std::uint8_t>(p), 0, 0, 0};
}

TEST(unofficial_opcodes_do_what_the_chip_does) {
    const std::vector<Unofficial> cases{
        {"SLO abs", {0x0F, 0x80, 0x02}, regs(0x400, 1, 0, 0, 9, 0x20), regs(0x403, 3, 0, 0, 9, 0x21), 0x81, 0x02, 6},
        {"RLA abs", {0x2F, 0x80, 0x02}, regs(0x400, 3, 0, 0, 9, 0x21), regs(0x403, 3, 0, 0, 9, 0x21), 0x81, 0x03, 6},
        {"SRE abs", {0x4F, 0x80, 0x02}, regs(0x400, 1, 0, 0, 9, 0x20), regs(0x403, 0x41, 0, 0, 9, 0x21), 0x81, 0x40, 6},
        {"RRA abs", {0x6F, 0x80, 0x02}, regs(0x400, 1, 0, 0, 9, 0x20), regs(0x403, 0x42, 0, 0, 9, 0x20), 0x81, 0x40, 6},
        {"DCP abs", {0xCF, 0x80, 0x02}, regs(0x400, 0x80, 0, 0, 9, 0x20), regs(0x403, 0x80, 0, 0, 9, 0x23), 0x81, 0x80, 6},
        {"ISC abs,x", {0xFF, 0x7F, 0x02}, regs(0x400, 5, 1, 0, 9, 0x21), regs(0x403, 3, 1, 0, 9, 0x21), 0x01, 0x02, 7},
        {"LAX abs", {0xAF, 0x80, 0x02}, regs(0x400, 0, 0, 0, 9, 0x20), regs(0x403, 0x81, 0x81, 0, 9, 0xA0), 0x81, 0x81, 4},
        {"SAX abs", {0x8F, 0x80, 0x02}, regs(0x400, 0x3C, 0x0F, 0, 9, 0x20), regs(0x403, 0x3C, 0x0F, 0, 9, 0x20), 0, 0x0C, 4},
        {"ANC", {0x0B, 0x80}, regs(0x400, 0xFF, 0, 0, 9, 0x20), regs(0x402, 0x80, 0, 0, 9, 0xA1), 0, 0, 2},
        {"ALR", {0x4B, 0x03}, regs(0x400, 0xFF, 0, 0, 9, 0x20), regs(0x402, 1, 0, 0, 9, 0x21), 0, 0, 2},
        {"ARR", {0x6B, 0xC0}, regs(0x400, 0xFF, 0, 0, 9, 0x21), regs(0x402, 0xE0, 0, 0, 9, 0xA1), 0, 0, 2},
        {"AXS", {0xCB, 0x02}, regs(0x400, 0x0F, 0x05, 0, 9, 0x20), regs(0x402, 0x0F, 3, 0, 9, 0x21), 0, 0, 2},
        {"LAS abs,y", {0xBB, 0x7F, 0x02}, regs(0x400, 0, 0, 1, 0xF3, 0x20), regs(0x403, 0x81, 0x81, 1, 0x81, 0xA0), 0x89, 0x89, 4},
        {"SHX abs,y", {0x9E, 0x7F, 0x02}, regs(0x400, 0, 0xFF, 1, 9, 0x20), regs(0x403, 0, 0xFF, 1, 9, 0x20), 0, 0x03, 5},
        {"XAA", {0x8B, 0xFF}, regs(0x400, 0x11, 0xF0, 0, 9, 0x20), regs(0x402, 0xF0, 0xF0, 0, 9, 0xA0), 0, 0, 2},
        {"NOP abs,x over a page", {0x1C, 0xFF, 0x02}, regs(0x400, 0, 1, 0, 9, 0x20), regs(0x403, 0, 1, 0, 9, 0x20), 0, 0, 5},
        {"NOP abs,x", {0x1C, 0x7F, 0x02}, regs(0x400, 0, 1, 0, 9, 0x20), regs(0x403, 0, 1, 0, 9, 0x20), 0, 0, 4},
    };
    for (const auto& expected : cases) {
        FlatBus bus;
        std::copy(expected.code.begin(), expected.code.end(), bus.memory.begin() + 0x400);
        bus.memory[0x280] = expected.cell_before;
        CpuState cpu = expected.before;
        const auto cycles = step(cpu, bus);
        const bool holds = same_registers(cpu, expected.after) && bus.memory[0x280] == expected.cell_after &&
                           cycles == expected.cycles;
        check::report(holds, expected.what, __FILE__, __LINE__);
    }
}

TEST(every_opcode_is_defined_and_only_the_twelve_jams_stop) {
    unsigned jams = 0;
    for (unsigned opcode = 0; opcode < 256; ++opcode) {
        FlatBus bus;
        bus.memory[0x400] = static_cast<std::uint8_t>(opcode);
        CpuState cpu = regs(0x400, 0, 0, 0, 0x80, 0x20);
        const auto cycles = step(cpu, bus);
        jams += cpu.is_jammed;
        CHECK(cycles >= 1 && cycles <= 8);
        if (cpu.is_jammed) CHECK(cpu.pc == 0x400);
    }
    CHECK(jams == 12);
}

}  // namespace

int main() { return check::run_all(); }
