// The 6502 of the NES (no decimal mode): registers, and an interpreter over any bus.
//
// Every cycle of the chip is one bus access, made in the chip's order, dummy reads and double writes included, so that a
// register that minds being read is read exactly when and as often as on the machine.
#pragma once

#include <cstdint>

#include "nes/instruction_set.h"

namespace mario::nes {

inline constexpr std::uint8_t flag_carry = 0x01;
inline constexpr std::uint8_t flag_zero = 0x02;
inline constexpr std::uint8_t flag_interrupt = 0x04;
inline constexpr std::uint8_t flag_decimal = 0x08;
inline constexpr std::uint8_t flag_break = 0x10;
inline constexpr std::uint8_t flag_unused = 0x20;
inline constexpr std::uint8_t flag_overflow = 0x40;
inline constexpr std::uint8_t flag_negative = 0x80;

inline constexpr std::uint16_t nmi_vector = 0xFFFA;
inline constexpr std::uint16_t reset_vector = 0xFFFC;
inline constexpr std::uint16_t irq_vector = 0xFFFE;

struct CpuState {
    std::uint16_t pc;
    std::uint8_t a, x, y, s;
    std::uint8_t p;          ///< bit 5 set, bit 4 clear
    std::uint8_t is_jammed;  ///< an opcode that stops the chip was executed: only reset helps
    /// How many cycles earlier than others the last instruction sampled interrupts: 1 after a taken branch within its page,
    /// brk_sampled_early after BRK, which does not sample at all.
    std::uint8_t sampled_early;
    /// The last instruction changed the interrupt flag after interrupts were sampled: what the flag was, else 0xFF.
    std::uint8_t sampled_flag;
};

inline constexpr std::uint8_t no_sampled_flag = 0xFF;
/// Back to before BRK began: what came then was taken before it, and what came later waits for the handler's first instruction.
inline constexpr std::uint8_t brk_sampled_early = 7;

/// What the console wants at a boundary between two instructions.
enum class Boundary : std::uint8_t { go_on, nmi, irq, stop };

struct Service {
    std::uint64_t cycle;
    Boundary boundary;
};

/// Runs instructions on a Bus until its service() says stop or the chip jams. A Bus has
///   read(address, cycle), write(address, value, cycle)   one bus access in that CPU cycle
///   deadline                                             service() is called at the first boundary at or after it
///   service(cpu, cycle) -> Service                       the cycle may move on (the chip is halted during DMA)
///   vector(address, cycle)                               which interrupt vector is really taken (an NMI overtakes)
///   interrupt_flag_changed()                             the I flag is another one now
///   handler_entered()                                    the chip has just answered an interrupt: no IRQ is let in
///   skip_self_jump(cycle), skip_poll(opcode, pc, value, cycle)   the cycle at which the loop has to go on for real
/// Registers live in local variables while it runs; the bus sees them in service() alone.
template <typename Bus>
class Interpreter {
public:
    [[gnu::always_inline]] Interpreter(CpuState& state, Bus& bus, std::uint64_t cycle)
        : state_(state), bus_(bus), cycle_(cycle), pc_(state.pc), a_(state.a), x_(state.x), y_(state.y), s_(state.s) {
        unpack(state.p);
    }

    /// The cycle at which the next instruction begins.
    [[gnu::always_inline]] std::uint64_t run() {
        for (;;) {
            if (cycle_ >= bus_.deadline) [[unlikely]] {
                if (!serve()) break;
            }
            dispatch(fetch());
        }
        keep_registers();
        return cycle_;
    }

    /// The same, but returns also where somebody else can go on: at a boundary with nothing due at which is_entry(pc, cycle) says so.
    /// It does not return where it began without having done anything. is_stopped tells the two ways to return apart.
    template <typename IsEntry>
    [[gnu::always_inline]] std::uint64_t run_to_entry(IsEntry&& is_entry, bool& is_stopped) {
        is_stopped = false;
        for (bool has_moved = false;; has_moved = true) {
            if (cycle_ >= bus_.deadline) [[unlikely]] {
                is_stopped = !serve();
                if (is_stopped) break;
                has_moved = true;
            }
            if (has_moved && is_entry(pc_, cycle_)) break;
            dispatch(fetch());
        }
        keep_registers();
        return cycle_;
    }

private:
    // ---- boundaries

    [[gnu::always_inline]] bool serve() {
        if (state_.is_jammed) return false;
        keep_registers();
        const Service service = bus_.service(state_, cycle_);
        cycle_ = service.cycle;
        switch (service.boundary) {
            case Boundary::go_on: break;
            case Boundary::nmi:
            case Boundary::irq:
                interrupt(service.boundary == Boundary::nmi ? nmi_vector : irq_vector);
                bus_.handler_entered();
                break;
            case Boundary::stop: return false;
        }
        state_.sampled_early = 0;
        state_.sampled_flag = no_sampled_flag;
        return true;
    }

    [[gnu::always_inline]] void interrupt(std::uint16_t vector) {
        (void)read(pc_);
        (void)read(pc_);
        enter_handler(vector, pack());
    }

    [[gnu::always_inline]] void enter_handler(std::uint16_t vector, std::uint8_t pushed_flags) {
        push_word(pc_);
        push(pushed_flags);
        const std::uint16_t taken = bus_.vector(vector, cycle_);
        flags_ |= flag_interrupt;
        bus_.interrupt_flag_changed();
        pc_ = read_word(taken);
    }

    [[gnu::always_inline]] void keep_registers() {
        state_.pc = pc_;
        state_.a = a_, state_.x = x_, state_.y = y_, state_.s = s_;
        state_.p = pack();
    }

    // ---- flags: N and Z are kept as the value that set them, which costs nothing until somebody asks

    [[gnu::always_inline]] bool zero() const { return (nz_ & 0xFFu) == 0; }
    [[gnu::always_inline]] bool negative() const { return (nz_ & 0x8080u) != 0; }
    [[gnu::always_inline]] void set_nz(std::uint8_t value) { nz_ = value; }

    [[gnu::always_inline]] std::uint8_t pack() const {
        return static_cast<std::uint8_t>(flags_ | flag_unused | carry_ | (zero() ? flag_zero : 0) |
                                         (negative() ? flag_negative : 0) | (overflow_ ? flag_overflow : 0));
    }

    [[gnu::always_inline]] void unpack(std::uint8_t p) {
        flags_ = static_cast<std::uint8_t>(p & (flag_interrupt | flag_decimal));
        carry_ = p & flag_carry;
        overflow_ = (p & flag_overflow) != 0;
        // N in the upper half, so that N and Z can both be set, as PLP and BIT may.
        nz_ = static_cast<std::uint16_t>(((p & flag_negative) << 8) | ((p & flag_zero) ? 0 : 1));
    }

    // ---- bus

    [[gnu::always_inline]] std::uint8_t read(std::uint16_t address) { return bus_.read(address, cycle_++); }
    [[gnu::always_inline]] void write(std::uint16_t address, std::uint8_t value) { bus_.write(address, value, cycle_++); }
    [[gnu::always_inline]] std::uint8_t fetch() { return read(pc_++); }

    [[gnu::always_inline]] std::uint16_t fetch_word() {
        const std::uint8_t low = fetch();
        return word(low, fetch());
    }

    [[gnu::always_inline]] std::uint16_t read_word(std::uint16_t address) {
        const std::uint8_t low = read(address);
        return word(low, read(static_cast<std::uint16_t>(address + 1)));
    }

    [[gnu::always_inline]] std::uint16_t read_zero_page_word(std::uint8_t address) {
        const std::uint8_t low = read(address);
        return word(low, read(static_cast<std::uint8_t>(address + 1)));
    }

    [[gnu::always_inline]] static std::uint16_t word(std::uint8_t low, std::uint8_t high) {
        return static_cast<std::uint16_t>(low | (high << 8));
    }

    [[gnu::always_inline]] std::uint16_t stack() const { return static_cast<std::uint16_t>(0x100 | s_); }
    [[gnu::always_inline]] void push(std::uint8_t value) { write(stack(), value), --s_; }
    [[gnu::always_inline]] std::uint8_t pull() { return ++s_, read(stack()); }

    [[gnu::always_inline]] void push_word(std::uint16_t value) {
        push(static_cast<std::uint8_t>(value >> 8));
        push(static_cast<std::uint8_t>(value));
    }

    [[gnu::always_inline]] std::uint16_t pull_word() {
        const std::uint8_t low = pull();
        return word(low, pull());
    }

    // ---- addresses

    /// Adds an index; the chip reads from the wrong page while it carries, always for writes and on a carry for reads.
    template <bool carries_always>
    [[gnu::always_inline]] std::uint16_t indexed(std::uint16_t base, std::uint8_t index) {
        const auto address = static_cast<std::uint16_t>(base + index);
        const auto uncarried = static_cast<std::uint16_t>((base & 0xFF00) | (address & 0xFF));
        if (carries_always || address != uncarried) (void)read(uncarried);
        return address;
    }

    template <Mode mode, bool carries_always>
    [[gnu::always_inline]] std::uint16_t operand_address() {
        if constexpr (mode == Mode::zero_page) {
            return fetch();
        } else if constexpr (mode == Mode::zero_page_x || mode == Mode::zero_page_y) {
            const std::uint8_t base = fetch();
            (void)read(base);
            return static_cast<std::uint8_t>(base + (mode == Mode::zero_page_x ? x_ : y_));
        } else if constexpr (mode == Mode::absolute) {
            return fetch_word();
        } else if constexpr (mode == Mode::absolute_x || mode == Mode::absolute_y) {
            const std::uint16_t base = fetch_word();
            return indexed<carries_always>(base, mode == Mode::absolute_x ? x_ : y_);
        } else if constexpr (mode == Mode::indexed_indirect) {
            const std::uint8_t base = fetch();
            (void)read(base);
            return read_zero_page_word(static_cast<std::uint8_t>(base + x_));
        } else {
            static_assert(mode == Mode::indirect_indexed);
            return indexed<carries_always>(read_zero_page_word(fetch()), y_);
        }
    }

    template <Mode mode>
    [[gnu::always_inline]] std::uint8_t operand() {
        if constexpr (mode == Mode::immediate) return fetch();
        else return read(operand_address<mode, false>());
    }

    // ---- kinds of instruction

    /// Reads a byte, writes it back while it works, then writes the result; returns the result.
    template <Mode mode, typename Change>
    [[gnu::always_inline]] std::uint8_t modify(Change change) {
        if constexpr (mode == Mode::accumulator) {
            (void)read(pc_);
            return a_ = change(a_);
        } else {
            const std::uint16_t address = operand_address<mode, true>();
            const std::uint8_t old = read(address);
            write(address, old);
            const std::uint8_t changed = change(old);
            write(address, changed);
            return changed;
        }
    }

    template <Mode mode>
    [[gnu::always_inline]] void store(std::uint8_t value) {
        write(operand_address<mode, true>(), value);
    }

    [[gnu::always_inline]] void load(std::uint8_t& target, std::uint8_t value) { set_nz(target = value); }

    [[gnu::always_inline]] void branch(bool taken) {
        const auto offset = static_cast<std::int8_t>(fetch());
        if (!taken) return;
        (void)read(pc_);
        const auto target = static_cast<std::uint16_t>(pc_ + offset);
        const auto uncarried = static_cast<std::uint16_t>((pc_ & 0xFF00) | (target & 0xFF));
        if (target != uncarried) {
            (void)read(uncarried);
        } else if (cycle_ >= bus_.deadline) [[unlikely]] {
            state_.sampled_early = 1;
        }
        pc_ = target;
    }

    /// Stores value & (high byte of the operand + 1). On a carry the value also becomes the address's high byte:
    /// the one outcome of several that the chip shows most often, taken always.
    template <Mode mode>
    [[gnu::always_inline]] void store_with_high_byte(std::uint8_t value) {
        std::uint16_t base;
        std::uint8_t index = y_;
        if constexpr (mode == Mode::indirect_indexed) base = read_zero_page_word(fetch());
        else base = fetch_word(), index = mode == Mode::absolute_x ? x_ : y_;
        std::uint16_t address = indexed<true>(base, index);
        const auto stored = static_cast<std::uint8_t>(value & ((base >> 8) + 1));
        if ((address ^ base) & 0xFF00) address = word(static_cast<std::uint8_t>(address), stored);
        write(address, stored);
    }

    // ---- arithmetic

    [[gnu::always_inline]] void add(std::uint8_t value) {
        const unsigned sum = a_ + value + carry_;
        overflow_ = ((~(a_ ^ value) & (a_ ^ sum)) & 0x80) != 0;
        carry_ = static_cast<std::uint8_t>(sum >> 8);
        load(a_, static_cast<std::uint8_t>(sum));
    }

    [[gnu::always_inline]] void subtract(std::uint8_t value) { add(static_cast<std::uint8_t>(~value)); }

    [[gnu::always_inline]] void compare(std::uint8_t left, std::uint8_t right) {
        carry_ = left >= right;
        set_nz(static_cast<std::uint8_t>(left - right));
    }

    [[gnu::always_inline]] std::uint8_t shift_left(std::uint8_t value, std::uint8_t carry_in) {
        carry_ = value >> 7;
        return static_cast<std::uint8_t>((value << 1) | carry_in);
    }

    [[gnu::always_inline]] std::uint8_t shift_right(std::uint8_t value, std::uint8_t carry_in) {
        carry_ = value & 1;
        return static_cast<std::uint8_t>((value >> 1) | (carry_in << 7));
    }

    [[gnu::always_inline]] void rotate_and(std::uint8_t value) {  // ARR
        load(a_, static_cast<std::uint8_t>(((a_ & value) >> 1) | (carry_ << 7)));
        carry_ = (a_ >> 6) & 1;
        overflow_ = (((a_ >> 6) ^ (a_ >> 5)) & 1) != 0;
    }

    // ---- the I flag: interrupts were sampled before these instructions changed it

    [[gnu::always_inline]] void set_flags_late(std::uint8_t p) {
        state_.sampled_flag = flags_ & flag_interrupt;
        unpack(p);
        bus_.interrupt_flag_changed();
    }

    // ---- one function per opcode

    template <std::uint8_t opcode>
    [[gnu::always_inline]] void execute() {
        using enum Operation;
        constexpr Operation op = instruction_set[opcode].operation;
        constexpr Mode mode = instruction_set[opcode].mode;
        constexpr bool is_single_byte = mode == Mode::implied && op != BRK;
        if constexpr (is_single_byte && op != JAM) (void)read(pc_);

        // Loads, stores, transfers.
        if constexpr (op == LDA || op == BIT) {
            read_and_watch<opcode>();
        } else if constexpr (op == LDX) load(x_, operand<mode>());
        else if constexpr (op == LDY) load(y_, operand<mode>());
        else if constexpr (op == STA) store<mode>(a_);
        else if constexpr (op == STX) store<mode>(x_);
        else if constexpr (op == STY) store<mode>(y_);
        else if constexpr (op == TAX) load(x_, a_);
        else if constexpr (op == TAY) load(y_, a_);
        else if constexpr (op == TSX) load(x_, s_);
        else if constexpr (op == TXA) load(a_, x_);
        else if constexpr (op == TYA) load(a_, y_);
        else if constexpr (op == TXS) s_ = x_;
        // Arithmetic.
        else if constexpr (op == ADC) add(operand<mode>());
        else if constexpr (op == SBC) subtract(operand<mode>());
        else if constexpr (op == AND) load(a_, a_ & operand<mode>());
        else if constexpr (op == ORA) load(a_, a_ | operand<mode>());
        else if constexpr (op == EOR) load(a_, a_ ^ operand<mode>());
        else if constexpr (op == CMP) compare(a_, operand<mode>());
        else if constexpr (op == CPX) compare(x_, operand<mode>());
        else if constexpr (op == CPY) compare(y_, operand<mode>());
        else if constexpr (op == INX) load(x_, static_cast<std::uint8_t>(x_ + 1));
        else if constexpr (op == INY) load(y_, static_cast<std::uint8_t>(y_ + 1));
        else if constexpr (op == DEX) load(x_, static_cast<std::uint8_t>(x_ - 1));
        else if constexpr (op == DEY) load(y_, static_cast<std::uint8_t>(y_ - 1));
        // Read, modify, write.
        else if constexpr (op == INC) set_nz(modify<mode>(increment));
        else if constexpr (op == DEC) set_nz(modify<mode>(decrement));
        else if constexpr (op == ASL) set_nz(modify_asl<mode>());
        else if constexpr (op == LSR) set_nz(modify_lsr<mode>());
        else if constexpr (op == ROL) set_nz(modify_rol<mode>());
        else if constexpr (op == ROR) set_nz(modify_ror<mode>());
        // Flags.
        else if constexpr (op == CLC) carry_ = 0;
        else if constexpr (op == SEC) carry_ = 1;
        else if constexpr (op == CLV) overflow_ = false;
        else if constexpr (op == CLD) flags_ &= static_cast<std::uint8_t>(~flag_decimal);
        else if constexpr (op == SED) flags_ |= flag_decimal;
        else if constexpr (op == CLI) set_flags_late(static_cast<std::uint8_t>(pack() & ~flag_interrupt));
        else if constexpr (op == SEI) set_flags_late(static_cast<std::uint8_t>(pack() | flag_interrupt));
        // Branches.
        else if constexpr (op == BPL) branch(!negative());
        else if constexpr (op == BMI) branch(negative());
        else if constexpr (op == BVC) branch(!overflow_);
        else if constexpr (op == BVS) branch(overflow_);
        else if constexpr (op == BCC) branch(!carry_);
        else if constexpr (op == BCS) branch(carry_);
        else if constexpr (op == BNE) branch(!zero());
        else if constexpr (op == BEQ) branch(zero());
        // Stack and calls.
        else if constexpr (op == PHA) push(a_);
        else if constexpr (op == PHP) push(pack() | flag_break);
        else if constexpr (op == PLA) (void)read(stack()), load(a_, pull());
        else if constexpr (op == PLP) (void)read(stack()), set_flags_late(pull());
        else if constexpr (op == JMP) jump<mode>();
        else if constexpr (op == JSR) call();
        else if constexpr (op == RTS) return_from_call();
        else if constexpr (op == RTI) return_from_interrupt();
        else if constexpr (op == BRK) (void)fetch(), enter_handler(irq_vector, pack() | flag_break), state_.sampled_early = brk_sampled_early;
        else if constexpr (op == NOP) { if constexpr (mode != Mode::implied) (void)operand<mode>(); }
        // What the chip does unasked.
        else if constexpr (op == LAX) load(a_, operand<mode>()), x_ = a_;
        else if constexpr (op == SAX) store<mode>(a_ & x_);
        else if constexpr (op == SLO) load(a_, a_ | modify_asl<mode>());
        else if constexpr (op == RLA) load(a_, a_ & modify_rol<mode>());
        else if constexpr (op == SRE) load(a_, a_ ^ modify_lsr<mode>());
        else if constexpr (op == RRA) add(modify_ror<mode>());
        else if constexpr (op == DCP) compare(a_, modify<mode>(decrement));
        else if constexpr (op == ISC) subtract(modify<mode>(increment));
        else if constexpr (op == ANC) load(a_, a_ & operand<mode>()), carry_ = a_ >> 7;
        else if constexpr (op == ALR) load(a_, shift_right(a_ & operand<mode>(), 0));
        else if constexpr (op == ARR) rotate_and(operand<mode>());
        else if constexpr (op == AXS) compare_and_subtract(operand<mode>());
        else if constexpr (op == LAS) load(a_, s_ & operand<mode>()), x_ = s_ = a_;
        // Unstable on the chip (analogue effects); here always as if the loose lines read 0xEE.
        else if constexpr (op == XAA) load(a_, (a_ | 0xEE) & x_ & operand<mode>());
        else if constexpr (op == LXA) load(a_, (a_ | 0xEE) & operand<mode>()), x_ = a_;
        else if constexpr (op == AHX) store_with_high_byte<mode>(a_ & x_);
        else if constexpr (op == SHX) store_with_high_byte<mode>(x_);
        else if constexpr (op == SHY) store_with_high_byte<mode>(y_);
        else if constexpr (op == TAS) s_ = a_ & x_, store_with_high_byte<mode>(s_);
        else if constexpr (op == JAM) --pc_, state_.is_jammed = 1, bus_.deadline = 0;
        else static_assert(op == JAM, "an operation without a meaning");
    }

    /// LDA and BIT, whose absolute forms are how programs wait for the PPU.
    template <std::uint8_t opcode>
    [[gnu::always_inline]] void read_and_watch() {
        constexpr Mode mode = instruction_set[opcode].mode;
        std::uint8_t value;
        if constexpr (mode == Mode::absolute) {
            const std::uint16_t address = fetch_word();
            value = read(address);
            if (address == 0x2002) cycle_ = bus_.skip_poll(opcode, pc_, value, cycle_);
        } else {
            value = operand<mode>();
        }
        if constexpr (instruction_set[opcode].operation == Operation::LDA) {
            load(a_, value);
        } else {
            overflow_ = (value & 0x40) != 0;
            nz_ = static_cast<std::uint16_t>(((value & 0x80) << 8) | ((value & a_) ? 1 : 0));
        }
    }

    template <Mode mode>
    [[gnu::always_inline]] void jump() {
        const auto self = static_cast<std::uint16_t>(pc_ - 1);
        const std::uint16_t operand_word = fetch_word();
        if constexpr (mode == Mode::absolute) {
            pc_ = operand_word;
            if (pc_ == self) cycle_ = bus_.skip_self_jump(cycle_);
        } else {
            // The chip does not carry into the pointer's page.
            const std::uint8_t low = read(operand_word);
            const auto next = static_cast<std::uint16_t>((operand_word & 0xFF00) | ((operand_word + 1) & 0xFF));
            pc_ = word(low, read(next));
        }
    }

    [[gnu::always_inline]] void call() {
        const std::uint8_t low = fetch();
        (void)read(stack());
        push_word(pc_);
        pc_ = word(low, read(pc_));
    }

    [[gnu::always_inline]] void return_from_call() {
        (void)read(stack());
        pc_ = pull_word();
        (void)read(pc_++);
    }

    [[gnu::always_inline]] void return_from_interrupt() {
        (void)read(stack());
        unpack(pull());
        pc_ = pull_word();
        bus_.interrupt_flag_changed();
    }

    [[gnu::always_inline]] void compare_and_subtract(std::uint8_t value) {  // AXS
        const auto both = static_cast<std::uint8_t>(a_ & x_);
        compare(both, value);
        x_ = static_cast<std::uint8_t>(both - value);
    }

    static constexpr auto increment = [](std::uint8_t value) { return static_cast<std::uint8_t>(value + 1); };
    static constexpr auto decrement = [](std::uint8_t value) { return static_cast<std::uint8_t>(value - 1); };

    template <Mode mode>
    [[gnu::always_inline]] std::uint8_t modify_asl() {
        return modify<mode>([&](std::uint8_t value) __attribute__((always_inline)) { return shift_left(value, 0); });
    }
    template <Mode mode>
    [[gnu::always_inline]] std::uint8_t modify_lsr() {
        return modify<mode>([&](std::uint8_t value) __attribute__((always_inline)) { return shift_right(value, 0); });
    }
    template <Mode mode>
    [[gnu::always_inline]] std::uint8_t modify_rol() {
        return modify<mode>([&](std::uint8_t value) __attribute__((always_inline)) { return shift_left(value, carry_); });
    }
    template <Mode mode>
    [[gnu::always_inline]] std::uint8_t modify_ror() {
        return modify<mode>([&](std::uint8_t value) __attribute__((always_inline)) { return shift_right(value, carry_); });
    }

    [[gnu::always_inline]] void dispatch(std::uint8_t opcode) {
        switch (opcode) {
#define MARIO_ONE(n) case n: execute<n>(); break;
#define MARIO_FOUR(n) MARIO_ONE(n) MARIO_ONE(n + 1) MARIO_ONE(n + 2) MARIO_ONE(n + 3)
#define MARIO_SIXTEEN(n) MARIO_FOUR(n) MARIO_FOUR(n + 4) MARIO_FOUR(n + 8) MARIO_FOUR(n + 12)
            MARIO_SIXTEEN(0x00) MARIO_SIXTEEN(0x10) MARIO_SIXTEEN(0x20) MARIO_SIXTEEN(0x30)
            MARIO_SIXTEEN(0x40) MARIO_SIXTEEN(0x50) MARIO_SIXTEEN(0x60) MARIO_SIXTEEN(0x70)
            MARIO_SIXTEEN(0x80) MARIO_SIXTEEN(0x90) MARIO_SIXTEEN(0xA0) MARIO_SIXTEEN(0xB0)
            MARIO_SIXTEEN(0xC0) MARIO_SIXTEEN(0xD0) MARIO_SIXTEEN(0xE0) MARIO_SIXTEEN(0xF0)
#undef MARIO_SIXTEEN
#undef MARIO_FOUR
#undef MARIO_ONE
        }
    }

    CpuState& state_;
    Bus& bus_;
    std::uint64_t cycle_;
    std::uint16_t pc_;
    std::uint16_t nz_ = 0;
    std::uint8_t a_, x_, y_, s_;
    std::uint8_t carry_ = 0;
    bool overflow_ = false;
    std::uint8_t flags_ = 0;  ///< I and D alone
};

}  // namespace mario::nes
