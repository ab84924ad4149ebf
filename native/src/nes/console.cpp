#include "nes/console.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "nes/raster.h"

namespace mario::nes {
namespace {

constexpr std::uint16_t dma_cycles = 513;
constexpr std::uint64_t dmc_stall_cycles = 4;

/// The address bus of one console while it runs. See Interpreter for what each function is for.
class ConsoleBus {
public:
    /// Stops at the end of the frame, or at the first boundary at or after `limit`.
    ConsoleBus(Console& console, const Board& board, IdleLoops idle_loops, std::uint64_t limit = never)
        : ram_(console.ram.data()), prg_rom_(board.prg_rom.data()), console_(console), board_(board), ppu_(console.ppu, board),
          limit_(limit), skips_idle_loops_(idle_loops == IdleLoops::skipped) {}

    /// The boundary at which the last frame ended still has to be served.
    std::uint64_t deadline = 0;

    [[gnu::always_inline]] std::uint8_t read(std::uint16_t address, std::uint64_t cycle) {
        if (address < 0x2000) return ram_[address & 0x7FFu];
        if (address >= 0x8000) return prg_rom_[address & 0x7FFFu];
        return read_io(address, cycle);
    }

    [[gnu::always_inline]] void write(std::uint16_t address, std::uint8_t value, std::uint64_t cycle) {
        if (address < 0x2000) ram_[address & 0x7FFu] = value;
        else write_io(address, value, cycle);
    }

    /// A register, $2000-$3FFF or $4000-$4017; where the caller knows which one, only that one's part is compiled.
    /// True: the deadline may have moved.
    [[gnu::always_inline]] bool write_register(std::uint16_t address, std::uint8_t value, std::uint64_t cycle);

    [[gnu::noinline]] Service service(const CpuState& cpu, std::uint64_t cycle) {
        ppu_.catch_up_with_frame(cycle * 3 - 1);
        if (console_.ppu.has_frame_ended || cycle >= limit_) {
            ppu_.catch_up(cycle * 3 - 1);
            return {cycle, Boundary::stop};
        }
        const Boundary boundary = sampled_interrupt(cpu, cycle);
        if (console_.dma_stall != 0) cycle = run_oam_dma(cycle);
        for (; console_.apu.dmc_cycle <= cycle; cycle += dmc_stall_cycles) console_.apu.fetch_sample();
        is_irq_masked_ = (cpu.p & flag_interrupt) != 0;
        update_deadline();
        return {cycle, boundary};
    }

    std::uint16_t vector(std::uint16_t address, std::uint64_t cycle) {
        // An NMI that comes while the vector of another interrupt is being fetched takes it over, up to two cycles before.
        ppu_.catch_up_with_frame(cycle * 3 - 1);
        if (address == irq_vector && console_.ppu.nmi_cycle < cycle - 1) address = nmi_vector;
        if (address == nmi_vector) console_.ppu.nmi_cycle = never;
        return address;
    }

    /// The next boundary looks at the interrupts again.
    void interrupt_flag_changed() { deadline = 0; }

    void handler_entered() {
        is_irq_masked_ = true;
        update_deadline();
    }

    /// JMP to itself, 3 cycles a round: goes on until the first boundary at which something is due.
    [[gnu::noinline]] std::uint64_t skip_self_jump(std::uint64_t cycle) const {
        if (!skips_idle_loops_ || cycle >= deadline) return cycle;
        return cycle + (deadline - cycle + 2) / 3 * 3;
    }

    [[gnu::noinline]] std::uint64_t skip_poll(std::uint8_t opcode, std::uint16_t pc, std::uint8_t value, std::uint64_t cycle);

private:
    [[gnu::noinline]] std::uint8_t read_io(std::uint16_t address, std::uint64_t cycle);
    [[gnu::noinline]] void write_io(std::uint16_t address, std::uint8_t value, std::uint64_t cycle);
    void start_oam_dma(std::uint8_t page, std::uint64_t cycle);
    [[nodiscard]] std::uint64_t run_oam_dma(std::uint64_t cycle);
    [[nodiscard]] Boundary sampled_interrupt(const CpuState& cpu, std::uint64_t cycle);
    void update_deadline();

    std::uint8_t* const ram_;
    const std::uint8_t* const prg_rom_;
    Console& console_;
    const Board& board_;
    Ppu ppu_;
    const std::uint64_t limit_;
    const bool skips_idle_loops_;
    bool is_irq_masked_ = false;  ///< at worst a deadline too many
};

/// Interrupts are sampled in the cycle before an instruction's last.
Boundary ConsoleBus::sampled_interrupt(const CpuState& cpu, std::uint64_t cycle) {
    const std::uint64_t sampled = cycle - 2 - cpu.sampled_early;
    const std::uint8_t flag = cpu.sampled_flag == no_sampled_flag ? cpu.p & flag_interrupt : cpu.sampled_flag;
    if (console_.ppu.nmi_cycle <= sampled) return Boundary::nmi;
    console_.apu.catch_up(cycle);
    if (!flag && console_.apu.irq_cycle <= sampled) return Boundary::irq;
    return Boundary::go_on;
}

void ConsoleBus::update_deadline() {
    const auto sampled_by = [](std::uint64_t cycle) { return cycle == never ? never : cycle + 2; };
    deadline = std::min(ppu_.frame_end_cycle(), sampled_by(console_.ppu.nmi_cycle));
    deadline = std::min({deadline, console_.apu.dmc_cycle, limit_});
    if (!is_irq_masked_) deadline = std::min(deadline, sampled_by(console_.apu.next_irq()));
    if (console_.dma_stall != 0 || console_.ppu.has_frame_ended) deadline = 0;
}

std::uint8_t ConsoleBus::read_io(std::uint16_t address, std::uint64_t cycle) {
    // Where nothing answers, the last byte on the bus does: the address's upper half, for every way to address that far.
    const auto open_bus = static_cast<std::uint8_t>(address >> 8);
    // Reading takes interrupts away and never brings one: the deadline stays, at worst too early.
    if (address < 0x4000) return ppu_.read(address & 7u, cycle);
    switch (address) {
        case 0x4015: return console_.apu.read_status(cycle);
        case 0x4016:
        case 0x4017: return static_cast<std::uint8_t>((open_bus & 0xE0) | console_.controller.read(address & 1u));
        default: break;
    }
    if (address >= 0x6000 && board_.has_prg_ram) return console_.prg_ram[address & 0x1FFFu];
    return open_bus;
}

inline bool ConsoleBus::write_register(std::uint16_t address, std::uint8_t value, std::uint64_t cycle) {
    bool may_be_due_sooner = false;
    if (address < 0x4000) {
        ppu_.write(address & 7u, value, cycle);
        may_be_due_sooner = (address & 7u) < 2;  // an NMI that waits, or the length of the frame
    } else if (address == 0x4014) {
        start_oam_dma(value, cycle);
        may_be_due_sooner = true;
    } else if (address == 0x4016) {
        console_.controller.write_strobe(value);
    } else {
        console_.apu.write(address, value, cycle);
        may_be_due_sooner = address >= 0x4010;
    }
    if (may_be_due_sooner) update_deadline();
    return may_be_due_sooner;
}

void ConsoleBus::write_io(std::uint16_t address, std::uint8_t value, std::uint64_t cycle) {
    if (address < 0x4018) write_register(address, value, cycle);
    else if (address >= 0x6000 && address < 0x8000 && board_.has_prg_ram) console_.prg_ram[address & 0x1FFFu] = value;
}

/// The CPU is halted before its next instruction. DMA and the frame counter share a clock of half the CPU's: a write in an odd cycle
/// waits for it there (ApuState::reset_frame_counter), one in an even cycle here.
void ConsoleBus::start_oam_dma(std::uint8_t page, std::uint64_t cycle) {
    console_.dma_page = page;
    console_.dma_stall = static_cast<std::uint16_t>(dma_cycles + (~cycle & 1));
}

/// A page of registers is read register by register, in the cycles in which the machine does it.
std::uint64_t ConsoleBus::run_oam_dma(std::uint64_t cycle) {
    const auto base = static_cast<std::uint16_t>(console_.dma_page << 8);
    const std::uint64_t end = cycle + console_.dma_stall;
    console_.dma_stall = 0;
    std::array<std::uint8_t, 256> bytes;
    if (base < 0x2000) std::memcpy(bytes.data(), ram_ + (base & 0x7FFu), bytes.size());
    else for (unsigned i = 0; i < 256; ++i) bytes[i] = read(static_cast<std::uint16_t>(base + i), end - 512 + 2 * i);
    ppu_.write_oam_page(bytes, end - 1);
    return end;
}

/// A loop that waits for the PPU: LDA $2002 (AND #mask) Bxx, or BIT $2002 Bxx, back to its beginning, in ROM. Once a round has
/// gone by, each further round does the same until the status changes, so whole rounds are skipped: none whose read could see
/// another status, and none that would pass the deadline.
std::uint64_t ConsoleBus::skip_poll(std::uint8_t opcode, std::uint16_t pc, std::uint8_t value, std::uint64_t cycle) {
    constexpr std::uint8_t lda_absolute = 0xAD, and_immediate = 0x29, bpl = 0x10, bmi = 0x30, bvc = 0x50, bvs = 0x70, bne = 0xD0,
                           beq = 0xF0;
    constexpr std::uint8_t status_bits = status_vblank | status_sprite0 | status_overflow;
    const bool status_stays = ((console_.ppu.status ^ value) & status_bits) == 0;
    if (!skips_idle_loops_ || !status_stays || pc < 0x8003 || pc > 0xFFF0) return cycle;
    const auto code = [&](unsigned address) { return prg_rom_[address & 0x7FFFu]; };

    const bool is_load = opcode == lda_absolute;
    unsigned at = pc;
    std::uint64_t round = 4 + 3;
    std::uint8_t tested = value;
    if (is_load && code(at) == and_immediate) tested = static_cast<std::uint8_t>(tested & code(at + 1)), at += 2, round += 2;
    bool is_taken = false;
    switch (code(at)) {
        case bpl: is_taken = !(tested & 0x80); break;
        case bmi: is_taken = tested & 0x80; break;
        case bvc: is_taken = !is_load && !(value & 0x40); break;
        case bvs: is_taken = !is_load && (value & 0x40); break;
        case bne: is_taken = is_load && tested != 0; break;
        case beq: is_taken = is_load && tested == 0; break;
        default: break;
    }
    const unsigned after = at + 2, target = after + static_cast<unsigned>(static_cast<std::int8_t>(code(at + 1)));
    if (!is_taken || (target & 0xFFFFu) != pc - 3u) return cycle;
    if ((after ^ target) & 0xFF00u) ++round;

    const std::uint64_t last_read = cycle - 1;
    const std::uint64_t last_same_read = (ppu_.next_status_change() - 3) / 3;
    if (last_same_read <= last_read || deadline <= cycle) return cycle;
    const std::uint64_t rounds = std::min((last_same_read - last_read) / round, (deadline - 1 - cycle) / round);
    return cycle + rounds * round;
}

// ---- an engine's way to the bus

using recompiler::Machine;

ConsoleBus& bus_of(Machine* machine) { return *static_cast<ConsoleBus*>(machine->bus); }

/// Never fewer than none, nor more than a frame has.
std::int32_t cycles_left(Machine* machine, std::uint64_t cycle) {
    machine->deadline = std::max(bus_of(machine).deadline, cycle);
    return static_cast<std::int32_t>(machine->deadline - cycle);
}

std::uint64_t cycle_of(const Machine* machine, std::int32_t left) {
    return machine->deadline - static_cast<std::uint64_t>(std::int64_t{left});
}

std::int32_t read_for_engine(Machine* machine, std::int32_t left, std::uint32_t address) noexcept {
    // Reading leaves the deadline where it is.
    machine->value = bus_of(machine).read(static_cast<std::uint16_t>(address), cycle_of(machine, left));
    return left;
}

std::int32_t write_for_engine(Machine* machine, std::int32_t left, std::uint32_t address, std::uint32_t value) noexcept {
    const std::uint64_t cycle = cycle_of(machine, left);
    bus_of(machine).write(static_cast<std::uint16_t>(address), static_cast<std::uint8_t>(value), cycle);
    return cycles_left(machine, cycle);
}

template <unsigned index>
std::int32_t write_register_for_engine(Machine* machine, std::int32_t left, std::uint32_t value) noexcept {
    constexpr auto address = static_cast<std::uint16_t>(index < 8 ? 0x2000 + index : 0x4000 + index - 8);
    const std::uint64_t cycle = cycle_of(machine, left);
    const bool may_have_moved = bus_of(machine).write_register(address, static_cast<std::uint8_t>(value), cycle);
    return may_have_moved ? cycles_left(machine, cycle) : left;
}

constexpr recompiler::RegisterWrites register_writes = []<unsigned... index>(std::integer_sequence<unsigned, index...>) {
    return recompiler::RegisterWrites{{write_register_for_engine<index>...}};
}(std::make_integer_sequence<unsigned, recompiler::num_registers>());

std::int32_t poll_for_engine(Machine* machine, std::int32_t left, std::uint32_t opcode, std::uint32_t pc) noexcept {
    const std::uint64_t cycle = cycle_of(machine, left);
    ConsoleBus& bus = bus_of(machine);
    machine->value = bus.read(0x2002, cycle);
    const std::uint64_t next = bus.skip_poll(static_cast<std::uint8_t>(opcode), static_cast<std::uint16_t>(pc), machine->value, cycle + 1);
    return cycles_left(machine, next);
}

/// An engine leaves registers as it pleases that others preserve, which spares it pushing and popping them in every block. Nothing of
/// this function is in them during the call, and the compiler saves them around it.
[[gnu::noinline]] void call_engine(const recompiler::Program& engine, Machine* machine) {
    engine.run(machine);
#if defined(__x86_64__)
    asm volatile("" ::: "rbx", "r12", "r13", "r14", "r15");
#endif
}

void enter_engine(Machine& machine, const recompiler::Program& engine, CpuState& cpu, std::uint64_t& cycle) {
    machine.left = cycles_left(&machine, cycle);
    machine.pc = cpu.pc;
    machine.a = cpu.a, machine.x = cpu.x, machine.y = cpu.y, machine.s = cpu.s;
    machine.carry = cpu.p & flag_carry;
    machine.overflow = static_cast<std::uint8_t>((cpu.p & flag_overflow) >> 6);
    machine.nz = static_cast<std::uint16_t>(((cpu.p & flag_negative) << 8) | ((cpu.p & flag_zero) ? 0 : 1));
    call_engine(engine, &machine);
    cycle = cycle_of(&machine, machine.left);
    cpu.pc = machine.pc;
    cpu.a = machine.a, cpu.x = machine.x, cpu.y = machine.y, cpu.s = machine.s;
    cpu.p = static_cast<std::uint8_t>((cpu.p & (flag_interrupt | flag_decimal)) | flag_unused | machine.carry |
                                      ((machine.nz & 0xFFu) == 0 ? flag_zero : 0) | ((machine.nz & 0x8080u) ? flag_negative : 0) |
                                      (machine.overflow << 6 & flag_overflow));
}

/// The engine where it has code and time, the interpreter elsewhere: boundaries at which something is due are the interpreter's.
[[gnu::noinline]] void run_with_engine(Console& console, ConsoleBus& bus, const recompiler::Program& engine) {
    Machine machine{};
    machine.ram = console.ram.data();
    machine.bus = &bus;
    machine.read = read_for_engine, machine.write = write_for_engine, machine.poll = poll_for_engine;
    machine.registers = &register_writes;
    const auto is_entry = [&](std::uint16_t pc, std::uint64_t cycle) {
        if (pc < 0x8000) return false;
        const std::uint8_t needed = engine.entry_cycles[pc & 0x7FFFu];
        return needed != 0 && cycle + needed < bus.deadline;
    };
    for (;;) {
        bool is_stopped;
        console.cycle = Interpreter<ConsoleBus>(console.cpu, bus, console.cycle).run_to_entry(is_entry, is_stopped);
        if (is_stopped) return;
        enter_engine(machine, engine, console.cpu, console.cycle);
    }
}

std::uint16_t read_vector(const Board& board, std::uint16_t address) {
    return static_cast<std::uint16_t>(board.prg_rom[address & 0x7FFFu] | board.prg_rom[(address + 1) & 0x7FFFu] << 8);
}

/// The reset sequence reads the stack three times without writing to it, then takes its vector.
void begin_program(Console& console, const Board& board) {
    console.cpu.s = static_cast<std::uint8_t>(console.cpu.s - 3);
    console.cpu.p |= flag_interrupt | flag_unused;
    console.cpu.pc = read_vector(board, reset_vector);
    console.cpu.is_jammed = 0;
    console.cpu.sampled_early = 0;
    console.cpu.sampled_flag = no_sampled_flag;
    console.dma_stall = 0;
    console.cycle += 7;
}

void pass_time_if_jammed(Console& console, const Board& board) {
    if (!console.cpu.is_jammed || console.ppu.has_frame_ended) return;
    Ppu ppu(console.ppu, board);
    console.cycle = std::max(console.cycle, ppu.frame_end_cycle());
    ppu.catch_up(console.cycle * 3 - 1);
    // Nobody answers it any more; unanswered it would be held for ever.
    console.ppu.nmi_cycle = never;
    console.apu.dmc_cycle = never;
}

void end_frame(Console& console) {
    console.apu.catch_up(console.cycle);
    ++console.frame_count;
    console.lag_frames += !console.controller.was_read;
    console.controller.was_read = 0;
    console.ppu.has_frame_ended = 0;
}

}  // namespace

void Console::power_on(const Board& board, std::uint8_t ram_fill) noexcept {
    *this = Console{};
    ram.fill(ram_fill);
    Ppu(ppu, board).power_on();
    apu.power_on(cycle);
    begin_program(*this, board);
}

void Console::reset(const Board& board) noexcept {
    Ppu(ppu, board).reset();
    apu.reset(cycle);
    begin_program(*this, board);
}

void Console::run_frame(const Board& board, Buttons buttons, IdleLoops idle_loops, const recompiler::Program* engine) noexcept {
    controller.held = {buttons, 0};
    ConsoleBus bus(*this, board, idle_loops);
    if (!cpu.is_jammed) {
        if (engine != nullptr) run_with_engine(*this, bus, *engine);
        else cycle = Interpreter<ConsoleBus>(cpu, bus, cycle).run();
    }
    pass_time_if_jammed(*this, board);
    end_frame(*this);
}

void Console::run_frame_counting(const Board& board, Buttons buttons, ExecutionCounts& counts) noexcept {
    controller.held = {buttons, 0};
    ConsoleBus bus(*this, board, IdleLoops::skipped);
    bool is_stopped = false;
    const auto count = [&](std::uint16_t pc, std::uint64_t) { return ++counts[pc], false; };
    if (!cpu.is_jammed) cycle = Interpreter<ConsoleBus>(cpu, bus, cycle).run_to_entry(count, is_stopped);
    pass_time_if_jammed(*this, board);
    end_frame(*this);
}

void Console::run_to_cycle(const Board& board, Buttons buttons, std::uint64_t target) noexcept {
    controller.held = {buttons, 0};
    while (cycle < target && !cpu.is_jammed) {
        ConsoleBus bus(*this, board, IdleLoops::executed, target);
        cycle = Interpreter<ConsoleBus>(cpu, bus, cycle).run();
        if (ppu.has_frame_ended) end_frame(*this);
    }
}

void copy_console(Console& to, const Console& from, const Board& board) noexcept {
    const std::size_t logged = std::min(from.ppu.num_logged, max_logged) * sizeof(LoggedAccess);
    std::memcpy(static_cast<void*>(&to), &from, offsetof(Console, ppu) + offsetof(PpuState, log) + logged);
    if (board.has_chr_ram) to.ppu.chr_ram = from.ppu.chr_ram;
}

}  // namespace mario::nes
