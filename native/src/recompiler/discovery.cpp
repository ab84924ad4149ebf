#include "recompiler/discovery.h"

#include <algorithm>

#include "nes/cpu.h"

namespace mario::recompiler {
namespace {

using nes::Mode;
using nes::Operation;

constexpr unsigned rom_start = 0x8000, rom_end = 0x10000;
constexpr unsigned max_table_entries = 256;

unsigned length_of(Operation operation, Mode mode) {
    if (operation == Operation::BRK) return 2;
    switch (mode) {
        case Mode::implied:
        case Mode::accumulator: return 1;
        case Mode::absolute:
        case Mode::absolute_x:
        case Mode::absolute_y:
        case Mode::indirect: return 3;
        default: return 2;
    }
}

bool is_memory(unsigned address) { return address < 0x2000 || (address >= rom_start && address < rom_end); }

/// Whether an operand that does not depend on pointers stays in RAM or stays in ROM, wherever the index takes it.
bool stays_in_memory(const Decoded& decoded) {
    switch (decoded.mode) {
        case Mode::absolute: return is_memory(decoded.operand);
        case Mode::absolute_x:
        case Mode::absolute_y: {
            const unsigned last = decoded.operand + 0xFF;
            return last < 0x2000 || (decoded.operand >= rom_start && last < rom_end);
        }
        default: return true;
    }
}

bool is_store(Operation operation) {
    return operation == Operation::STA || operation == Operation::STX || operation == Operation::STY;
}

bool is_modify(const Decoded& decoded) {
    using enum Operation;
    switch (decoded.operation) {
        case INC: case DEC: case ASL: case LSR: case ROL: case ROR: return decoded.mode != Mode::accumulator;
        default: return false;
    }
}

Kind kind_of(const Decoded& decoded) {
    using enum Operation;
    switch (decoded.operation) {
        case BCC: case BCS: case BEQ: case BNE: case BMI: case BPL: case BVC: case BVS: return Kind::branch;
        case JMP: return decoded.mode == Mode::indirect ? Kind::indirect_jump : Kind::jump;
        case JSR: return Kind::call;
        case RTS: return Kind::ret;
        // Rare, or they change which interrupts are let in.
        case BRK: case CLD: case CLI: case PHP: case PLP: case RTI: case SED: case SEI: return Kind::interpreted;
        case NOP: return decoded.mode == Mode::implied ? Kind::plain : Kind::interpreted;
        default: break;
    }
    if (decoded.operation >= JAM) return Kind::interpreted;
    if (is_store(decoded.operation) && decoded.mode == Mode::absolute && decoded.operand >= rom_start) return Kind::plain;
    if (is_modify(decoded)) {
        return stays_in_memory(decoded) && (decoded.operand < 0x2000) ? Kind::plain : Kind::interpreted;
    }
    if (!stays_in_memory(decoded)) return Kind::bus;
    return is_store(decoded.operation) && decoded.operand >= 0x2000 ? Kind::bus : Kind::plain;
}

/// A routine that takes its return address off the stack and jumps through a pointer reads what lies behind the call: addresses.
bool reads_table_behind_call(Rom rom, unsigned address) {
    int depth = 0;
    for (unsigned count = 0; count < 32 && address >= rom_start && address + 3 <= rom_end; ++count) {
        const Decoded decoded = decode(rom, address);
        if (decoded.operation == Operation::PHA) ++depth;
        if (decoded.operation == Operation::PLA) --depth;
        if (decoded.kind == Kind::indirect_jump) return depth == -2;
        const bool goes_on = decoded.kind == Kind::plain || decoded.kind == Kind::bus;
        if (!goes_on) return false;
        address += decoded.num_bytes;
    }
    return false;
}

class Discovery {
public:
    explicit Discovery(Rom rom) : rom_(rom) {}

    Code run() {
        for (const unsigned vector : {nes::reset_vector, nes::nmi_vector, nes::irq_vector}) add_entry(word(vector));
        follow_all();
        // Tables last, and the first first: what is known to be code by then ends them.
        while (!tables_.empty()) {
            const auto first = std::min_element(tables_.begin(), tables_.end());
            const unsigned table = *first;
            tables_.erase(first);
            read_table(table);
            follow_all();
        }
        return code_;
    }

private:
    [[nodiscard]] unsigned word(unsigned address) const {
        return rom_[address & 0x7FFFu] | static_cast<unsigned>(rom_[(address + 1) & 0x7FFFu] << 8);
    }

    void add_entry(unsigned address) {
        add_head(address);
        if (address >= rom_start && address < rom_end) code_.is_entry[address] = true;
    }

    void add_head(unsigned address) {
        if (address < rom_start || address >= rom_end || code_.is_head[address]) return;
        code_.is_head[address] = true;
        if (!is_known_[address]) pending_.push_back(address);
    }

    void follow_all() {
        while (!pending_.empty()) {
            const unsigned address = pending_.back();
            pending_.pop_back();
            follow(address);
        }
    }

    void follow(unsigned address) {
        while (address < rom_end) {
            if (is_known_[address]) {
                code_.is_head[address] = true;
                return;
            }
            const Decoded decoded = decode(rom_, address);
            is_known_[address] = true;
            ++code_.num_instructions;
            const unsigned next = address + decoded.num_bytes;
            switch (decoded.kind) {
                case Kind::plain: break;
                case Kind::branch: add_head(decoded.operand); break;
                case Kind::jump: add_head(decoded.operand); return;
                case Kind::ret:
                case Kind::indirect_jump: return;
                case Kind::call:
                    add_entry(decoded.operand);
                    if (reads_table_behind_call(rom_, decoded.operand)) tables_.push_back(next);
                    else add_entry(next);
                    return;
                case Kind::bus: add_head(next); return;
                case Kind::interpreted:
                    if (decoded.operation != Operation::RTI && decoded.operation != Operation::JAM) add_entry(next);
                    return;
            }
            address = next;
        }
    }

    /// Ends where code is known to begin, be it by the table itself, and at what is no address in ROM.
    void read_table(unsigned table) {
        ++code_.num_tables;
        unsigned end = rom_end - 1;
        for (unsigned entry = 0, at = table; entry < max_table_entries && at < end && !is_known_[at]; ++entry, at += 2) {
            const unsigned target = word(at);
            if (target < rom_start) return;
            if (target > at) end = std::min(end, target);
            add_entry(target);
        }
    }

    Rom rom_;
    Code code_;
    std::array<bool, 0x10000> is_known_{};
    std::vector<unsigned> pending_, tables_;
};

}  // namespace

Decoded decode(Rom rom, unsigned address) {
    const auto byte = [&](unsigned at) { return static_cast<unsigned>(rom[at & 0x7FFFu]); };
    Decoded decoded{};
    decoded.opcode = static_cast<std::uint8_t>(byte(address));
    const nes::Instruction instruction = nes::instruction_set[decoded.opcode];
    decoded.operation = instruction.operation;
    decoded.mode = instruction.mode;
    decoded.num_bytes = length_of(instruction.operation, instruction.mode);
    if (address + decoded.num_bytes > rom_end) {
        decoded.kind = Kind::interpreted;  // goes on in RAM
        return decoded;
    }
    if (decoded.num_bytes >= 2) decoded.operand = byte(address + 1);
    if (decoded.num_bytes == 3) decoded.operand |= byte(address + 2) << 8;
    if (decoded.mode == Mode::relative) {
        decoded.operand = (address + 2 + decoded.operand - (decoded.operand & 0x80 ? 0x100 : 0)) & 0xFFFFu;
    }
    decoded.kind = kind_of(decoded);
    return decoded;
}

Code discover(Rom rom) { return Discovery(rom).run(); }

}  // namespace mario::recompiler
