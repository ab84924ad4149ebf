#include "recompiler/writer.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <vector>

#include "machine_text.h"
#include "recompiler/blocks.h"
#include "recompiler/profile.h"

namespace mario::recompiler {
namespace {

using nes::Mode;
using nes::Operation;

constexpr const char* declarations = R"(
#include <cstring>
#pragma GCC visibility push(hidden)
using namespace mario::recompiler;
using u64 = std::uint64_t;
using i32 = std::int32_t;
using i64 = std::int64_t;
constexpr i64 ram_bias = 0x80;
struct Tables;
struct __attribute__((packed, may_alias)) Word { std::uint16_t value; };

#if defined(__has_cpp_attribute)
#if __has_cpp_attribute(clang::musttail)
#define GO [[clang::musttail]] return
#elif __has_cpp_attribute(gnu::musttail)
#define GO [[gnu::musttail]] return
#endif
#endif
#ifndef GO
#define GO return
#endif

#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define IS_MEMORY(address) ((((address) + 0x8000) & 0xFFFF) < 0xA000)

// Registers travel from block to block as arguments, and there are more of them than arguments. GCC can pin the rest to registers
// that nobody else uses; elsewhere the carry is bit 8 of `ac`, and the others stay in the machine.
// What a frame executes does not fit into the first cache, so bytes count: what is used most has registers with short encodings, and
// `ram` points into the middle of the zero page, all of which is a byte's distance away from there.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && !defined(MARIO_ENGINE_PORTABLE)
#define PINNED
register u64 c asm("rbx");
register u64 s asm("r12");
register const Tables* tables asm("r13");
register Machine* m asm("r15");
#define ARGUMENTS std::uint8_t *ram, i32 left, u64 a, u64 x, u64 y, u64 nz
#define PASSED(cycles) ram, left - (cycles), a, x, y, nz
#define TAKE_REGISTERS u64 v, t, p
#define KEEP_S
#define TABLES (*tables)
// The chip's carry and overflow are this processor's, of the same sum; and what a comparison carries can be added to what is left.
#define SUM(carry_out, instructions, ...) do { \
        bool carry, overflow; \
        asm(instructions : "+q"(a), "=@cc" carry_out(carry), "=@cco"(overflow) : "qn"(t), ##__VA_ARGS__); \
        c = carry, v = overflow, nz = a; \
    } while (0)
#define ADC SUM("c", "btl $0, %k4\n\tadcb %b3, %b0", "q"(c))
#define ADC_CLEAR SUM("c", "addb %b3, %b0")
#define SBC SUM("nc", "cmpb $1, %b4\n\tsbbb %b3, %b0", "q"(c))
#define SBC_SET SUM("nc", "subb %b3, %b0")
#define UNLESS_CROSSED(index, first) asm("cmpb %2, %b1\n\tadcl $0, %0" : "+r"(left) : "q"(index), "n"(first) : "cc")
#else
#define ADC p = a + t + c; v = ((a ^ p) & (t ^ p)) >> 7; c = p >> 8; a = nz = p & 0xFF
#define ADC_CLEAR ADC
#define SBC t ^= 0xFF; ADC
#define SBC_SET SBC
#define UNLESS_CROSSED(index, first) left += index < first
#define ARGUMENTS Machine *m, i32 left, u64 ac, u64 x, u64 y, u64 nz
#define PASSED(cycles) m, left - (cycles), a | c << 8, x, y, nz
#define TAKE_REGISTERS \
    std::uint8_t* const ram = m->ram + ram_bias; \
    u64 a = ac & 0xFF, c = ac >> 8, s = m->s, v, t, p; \
    (void)ram, (void)a, (void)c, (void)s
#define KEEP_S m->s = static_cast<std::uint8_t>(s);
#define TABLES all_tables
#endif
#define KEEP_V m->overflow = static_cast<std::uint8_t>(v);

#define BLOCK(name) void name(ARGUMENTS) noexcept
#define COLD __attribute__((cold))
// Arguments that a function does not use stay where they are for others as well.
#ifdef PINNED
#define UNCHANGED __attribute__((noipa))
#else
#define UNCHANGED __attribute__((noinline))
#endif
using Block = void (*)(ARGUMENTS) noexcept;
struct Tables {
    Block behind[0x10000];  ///< per address: the block that begins behind it, as a return wants it
    std::uint8_t rom[0x8000];
};
extern Tables all_tables;
#define RAM(address) ram[static_cast<i64>(address) - ram_bias]
#define ROM(address) TABLES.rom[address]
#define WORD(address) reinterpret_cast<Word&>(RAM(address)).value
UNCHANGED COLD BLOCK(leave);
/// Instead of a block behind an address that was not translated.
UNCHANGED COLD BLOCK(return_elsewhere);
#define LEAVE(at, cycles) do { m->pc = at; GO leave(PASSED(cycles)); } while (0)
#define BEGIN \
    TAKE_REGISTERS; \
    (void)v, (void)t, (void)p
#define CHECK(at, cycles) if (UNLIKELY(left <= cycles)) LEAVE(at, 0)
#define JUMP(block, cycles) GO block(PASSED(cycles))
#define RETURN(cycles) do { \
        t = WORD(0x101 + s); \
        s += 2; \
        KEEP_S \
        JUMP(TABLES.behind[t], cycles); \
    } while (0)
#define JUMP_TO_PC(cycles) do { \
        const Block block = TABLES.behind[(t - 1) & 0xFFFF]; \
        if (UNLIKELY(block == return_elsewhere)) LEAVE(static_cast<std::uint16_t>(t), cycles); \
        JUMP(block, cycles); \
    } while (0)
)";

constexpr const char* entrance = R"(
BLOCK(leave) {
    TAKE_REGISTERS;
    (void)v, (void)t, (void)p;
    m->left = left;
    m->a = static_cast<std::uint8_t>(a);
    m->carry = static_cast<std::uint8_t>(c);
    m->s = static_cast<std::uint8_t>(s);
    m->x = static_cast<std::uint8_t>(x);
    m->y = static_cast<std::uint8_t>(y);
    m->nz = static_cast<std::uint16_t>(nz);
}

BLOCK(return_elsewhere) {
    TAKE_REGISTERS;
    (void)v, (void)p;
    t = WORD(0xFF + s);
    // In its last cycle the chip reads there, before it adds one.
    if (!IS_MEMORY(t)) m->read(m, left + 1, static_cast<std::uint32_t>(t));
    LEAVE(static_cast<std::uint16_t>(t + 1), 0);
}

static void run(Machine* machine) noexcept {
#ifdef PINNED
    m = machine, tables = &all_tables, c = m->carry, s = m->s;
    std::uint8_t* const ram = m->ram + ram_bias;
    const u64 a = m->a;
#else
    Machine* const m = machine;
    const u64 a = m->a, c = m->carry;
#endif
    const u64 x = m->x, y = m->y, nz = m->nz;
    const i32 left = m->left;
    all_tables.behind[(m->pc - 1) & 0xFFFF](PASSED(0));
}

__attribute__((constructor)) static void fill_tables() {
    for (Block& block : all_tables.behind) block = return_elsewhere;
    std::memcpy(all_tables.rom, rom, sizeof rom);
    for (const Entry& entry : entries) all_tables.behind[entry.address - 1] = entry.block;
}

#pragma GCC visibility pop
extern "C" __attribute__((visibility("default"))) const Program mario_engine;
const Program mario_engine = {engine_version, sizeof(Machine), source_hash, rom, entry_cycles, run};
)";

class BlockWriter {
public:
    BlockWriter(Rom rom, const Code& code, std::string& out) : rom_(rom), code_(code), out_(out) {}

    void write(const Region& region) {
        region_ = &region;
        const unsigned root = region.members.front().block->address;
        print("BLOCK(b%04X) {\n    BEGIN;\n", root);
        for (const Region::Member& member : region.members) write(member);
        print("}\n");
    }

private:
    [[gnu::format(printf, 2, 3)]] void print(const char* format, ...) {
        char text[512];
        std::va_list arguments;
        va_start(arguments, format);
        std::vsnprintf(text, sizeof text, format, arguments);
        va_end(arguments);
        out_ += text;
    }

    void write(const Region::Member& member) {
        const Block& block = *member.block;
        cycles_ = 0;
        is_s_changed_ = is_v_changed_ = is_carry_clear_ = is_carry_set_ = false;
        print("l%04X:\n", block.address);
        if (member.is_checked) print("    CHECK(0x%04X, %u);\n", block.address, member.needed_cycles);
        unsigned at = block.address;
        Decoded decoded{};
        for (unsigned i = 0; i < block.num_instructions; ++i) {
            decoded = decode(rom_, at);
            write_instruction(decoded, at);
            at += decoded.num_bytes;
        }
        if (decoded.kind == Kind::plain || decoded.kind == Kind::bus || decoded.kind == Kind::branch) go_to(at);
    }

    // ---- ways out

    void keep_rare_registers() {
        if (is_s_changed_) print(" KEEP_S");
        if (is_v_changed_) print(" KEEP_V");
    }

    void go_to(unsigned target) {
        print("   ");
        keep_rare_registers();
        if (target != root() && region_->holds(target)) print(" left -= %u; goto l%04X;\n", cycles_, target);
        else if (target >= 0x8000 && target < 0x10000 && code_.is_head[target]) print(" JUMP(b%04X, %u);\n", target, cycles_);
        else leave_at(target & 0xFFFFu);
    }

    [[nodiscard]] unsigned root() const { return region_->members.front().block->address; }

    void leave_at(unsigned address) { print(" LEAVE(0x%04X, %u);\n", address, cycles_); }

    void leave_unless(const char* condition, unsigned address) {
        print("    if (UNLIKELY(!(%s))) {", condition);
        keep_rare_registers();
        leave_at(address);
        print("    }\n");
    }

    // ---- instructions

    void write_instruction(const Decoded& decoded, unsigned address) {
        switch (decoded.kind) {
            case Kind::plain: write_plain(decoded, address); break;
            case Kind::bus: write_bus(decoded, address); break;
            case Kind::branch: write_branch(decoded, address); break;
            case Kind::jump: write_jump(decoded, address); break;
            case Kind::call: write_call(decoded, address); break;
            case Kind::ret: write_return(address); break;
            case Kind::indirect_jump: write_indirect_jump(decoded, address); break;
            case Kind::interpreted:
                print("   ");
                keep_rare_registers();
                leave_at(address);
                break;
        }
    }

    void write_plain(const Decoded& decoded, unsigned address) {
        const std::string place = operand(decoded, address);
        const Access access = access_of(decoded.operation);
        if (access == Access::write) {
            const char* value = stored(decoded.operation);
            if (is_pointer(decoded.mode)) print("    if (p < 0x2000) RAM(p & 0x7FF) = static_cast<std::uint8_t>(%s);\n", value);
            else if (decoded.operand < 0x2000) print("    %s = static_cast<std::uint8_t>(%s);\n", place.c_str(), value);
        } else if (access == Access::modify && decoded.mode != Mode::accumulator) {
            print("    t = %s;\n", place.c_str());
            write_change(decoded.operation);
            print("    %s = static_cast<std::uint8_t>(t); nz = t;\n", place.c_str());
        } else if (access == Access::modify) {
            print("    t = a;\n");
            write_change(decoded.operation);
            print("    a = nz = t;\n");
        } else if (access == Access::read) {
            print("    t = %s;\n", place.c_str());
            write_read(decoded.operation);
        } else {
            write_implied(decoded.operation);
        }
        cycles_ += cycles_of(decoded);
        if (changes_carry(decoded.operation)) is_carry_clear_ = is_carry_set_ = false;
    }

    static bool changes_carry(Operation operation) {
        using enum Operation;
        switch (operation) {
            case ADC: case ASL: case CMP: case CPX: case CPY: case LSR: case ROL: case ROR: case SBC: return true;
            default: return false;
        }
    }

    static bool is_pointer(Mode mode) { return mode == Mode::indexed_indirect || mode == Mode::indirect_indexed; }

    static const char* stored(Operation operation) {
        return operation == Operation::STA ? "a" : operation == Operation::STX ? "x" : "y";
    }

    static const char* index_of(Mode mode) {
        return mode == Mode::absolute_x || mode == Mode::zero_page_x || mode == Mode::indexed_indirect ? "x" : "y";
    }

    /// An expression for the byte that is read or changed; what it needs first is printed.
    std::string operand(const Decoded& decoded, unsigned address) {
        char text[128] = "0";
        const char* index = index_of(decoded.mode);
        const unsigned base = decoded.operand;
        switch (decoded.mode) {
            case Mode::immediate: std::snprintf(text, sizeof text, "0x%02X", base); break;
            case Mode::zero_page: std::snprintf(text, sizeof text, "RAM(0x%02X)", base); break;
            case Mode::zero_page_x:
            case Mode::zero_page_y: std::snprintf(text, sizeof text, "RAM((%s %+d) & 0xFF)", index, static_cast<std::int8_t>(base)); break;
            case Mode::absolute:
                if (base < 0x2000) std::snprintf(text, sizeof text, "RAM(0x%03X)", base & 0x7FF);
                else std::snprintf(text, sizeof text, "0x%02X", static_cast<unsigned>(rom_[base & 0x7FFF]));
                break;
            case Mode::absolute_x:
            case Mode::absolute_y:
                if (may_cross(decoded) && (base & 0xFF)) {
                    print("    UNLESS_CROSSED(%s, 0x%02X);\n", index, 0x100 - (base & 0xFF));
                    ++cycles_;
                }
                if (base >= 0x8000) std::snprintf(text, sizeof text, "ROM(0x%04X + %s)", base - 0x8000, index);
                else if ((base & 0x7FF) + 0xFF < 0x800) std::snprintf(text, sizeof text, "RAM(0x%03X + %s)", base & 0x7FF, index);
                else std::snprintf(text, sizeof text, "RAM((0x%03X + %s) & 0x7FF)", base & 0x7FF, index);
                break;
            case Mode::indexed_indirect:
                print("    t = (0x%02X + x) & 0xFF; p = RAM(t) | u64{RAM((t + 1) & 0xFF)} << 8;\n", base);
                leave_unless("IS_MEMORY(p)", address);
                return "(p < 0x2000 ? RAM(p & 0x7FF) : ROM(p & 0x7FFF))";
            case Mode::indirect_indexed:
                print("    t = RAM(0x%02X) | u64{RAM(0x%02X)} << 8; p = (t + y) & 0xFFFF;\n", base, (base + 1) & 0xFF);
                // While the chip carries it reads from the pointer's page. Where the sum lies in memory and that page does not, it is
                // $7F00, which nobody minds.
                leave_unless("IS_MEMORY(p)", address);
                if (may_cross(decoded)) print("    left -= static_cast<i32>(((t & 0xFF) + y) >> 8);\n");
                return "(p < 0x2000 ? RAM(p & 0x7FF) : ROM(p & 0x7FFF))";
            default: break;
        }
        return text;
    }

    /// What is done with the byte in t.
    void write_read(Operation operation) {
        using enum Operation;
        switch (operation) {
            case LDA: print("    a = nz = t;\n"); break;
            case LDX: print("    x = nz = t;\n"); break;
            case LDY: print("    y = nz = t;\n"); break;
            case AND: print("    a = nz = a & t;\n"); break;
            case ORA: print("    a = nz = a | t;\n"); break;
            case EOR: print("    a = nz = a ^ t;\n"); break;
            case CMP: print("    c = a >= t; nz = (a - t) & 0xFF;\n"); break;
            case CPX: print("    c = x >= t; nz = (x - t) & 0xFF;\n"); break;
            case CPY: print("    c = y >= t; nz = (y - t) & 0xFF;\n"); break;
            case SBC:
                print("    SBC%s;\n", is_carry_set_ ? "_SET" : "");
                is_v_changed_ = true;
                break;
            case ADC:
                print("    ADC%s;\n", is_carry_clear_ ? "_CLEAR" : "");
                is_v_changed_ = true;
                break;
            case BIT:
                print("    v = t >> 6; nz = (t & 0x80) << 8 | ((t & a) != 0);\n");
                is_v_changed_ = true;
                break;
            default: break;
        }
    }

    /// Changes the byte in t.
    void write_change(Operation operation) {
        using enum Operation;
        switch (operation) {
            case INC: print("    t = (t + 1) & 0xFF;\n"); break;
            case DEC: print("    t = (t - 1) & 0xFF;\n"); break;
            case ASL: print("    c = t >> 7; t = (t << 1) & 0xFF;\n"); break;
            case LSR: print("    c = t & 1; t >>= 1;\n"); break;
            case ROL: print("    t = t << 1 | c; c = t >> 8; t &= 0xFF;\n"); break;
            case ROR: print("    t |= c << 8; c = t & 1; t >>= 1;\n"); break;
            default: break;
        }
    }

    void write_implied(Operation operation) {
        using enum Operation;
        switch (operation) {
            case TAX: print("    x = nz = a;\n"); break;
            case TAY: print("    y = nz = a;\n"); break;
            case TXA: print("    a = nz = x;\n"); break;
            case TYA: print("    a = nz = y;\n"); break;
            case TSX: print("    x = nz = s;\n"); break;
            case TXS: print("    s = x;\n"), is_s_changed_ = true; break;
            case INX: print("    x = nz = (x + 1) & 0xFF;\n"); break;
            case INY: print("    y = nz = (y + 1) & 0xFF;\n"); break;
            case DEX: print("    x = nz = (x - 1) & 0xFF;\n"); break;
            case DEY: print("    y = nz = (y - 1) & 0xFF;\n"); break;
            case CLC: print("    c = 0;\n"), is_carry_clear_ = true, is_carry_set_ = false; break;
            case SEC: print("    c = 1;\n"), is_carry_set_ = true, is_carry_clear_ = false; break;
            case CLV: print("    v = 0;\n"), is_v_changed_ = true; break;
            case PHA:
                print("    RAM(0x100 + s) = static_cast<std::uint8_t>(a); s = (s - 1) & 0xFF;\n");
                is_s_changed_ = true;
                break;
            case PLA:
                print("    s = (s + 1) & 0xFF; a = nz = RAM(0x100 + s);\n");
                is_s_changed_ = true;
                break;
            default: break;  // NOP
        }
    }

    /// One access to a register of the console, in its cycle, with the dummy read before it. Time goes on from there.
    void write_bus(const Decoded& decoded, unsigned address) {
        const bool is_write = access_of(decoded.operation) == Access::write;
        const bool is_indexed = decoded.mode == Mode::absolute_x || decoded.mode == Mode::absolute_y;
        const unsigned base = decoded.operand;
        const bool is_watched = decoded.operation == Operation::LDA || decoded.operation == Operation::BIT;
        if (!is_indexed && base == 0x2002 && is_watched) {
            print("    left = m->poll(m, left - %u, 0x%02X, 0x%04X); t = m->value;\n", cycles_ + 3, decoded.opcode, address + 3);
            write_read(decoded.operation);
            cycles_ = 0;
            return;
        }
        if (!is_indexed && is_write && base < 0x4018) {
            print("    left = m->registers->at[%u](m, left - %u, static_cast<std::uint32_t>(%s));\n",
                  base < 0x4000 ? base & 7 : 8 + (base & 0x1F), cycles_ + 3, stored(decoded.operation));
            cycles_ = 1;
            return;
        }
        print("    left -= %u;\n", cycles_ + 3);
        if (is_indexed) {
            print("    p = (0x%04X + %s) & 0xFFFF; t = 0x%04X | (p & 0xFF);\n", base, index_of(decoded.mode), base & 0xFF00);
            if (!is_write) print("    if (t != p) ");
            print("    left = m->read(m, left, static_cast<std::uint32_t>(t)) - 1;\n");
        } else {
            print("    p = 0x%04X;\n", base);
        }
        if (is_write) {
            print("    left = m->write(m, left, static_cast<std::uint32_t>(p), static_cast<std::uint32_t>(%s));\n",
                  stored(decoded.operation));
        } else {
            print("    left = m->read(m, left, static_cast<std::uint32_t>(p)); t = m->value;\n");
            write_read(decoded.operation);
        }
        cycles_ = 1;
    }

    void write_branch(const Decoded& decoded, unsigned address) {
        print("    if (%s) {\n", condition_of(decoded.operation, is_v_changed_));
        const unsigned before = cycles_;
        cycles_ += branch_cycles(address, decoded.operand);
        go_to(decoded.operand);
        cycles_ = before + 2;
        print("    }\n");
    }

    static const char* condition_of(Operation operation, bool is_v_local) {
        using enum Operation;
        switch (operation) {
            case BCC: return "c == 0";
            case BCS: return "c != 0";
            case BEQ: return "(nz & 0xFF) == 0";
            case BNE: return "(nz & 0xFF) != 0";
            case BMI: return "(nz & 0x8080) != 0";
            case BPL: return "(nz & 0x8080) == 0";
            case BVC: return is_v_local ? "(v & 1) == 0" : "(m->overflow & 1) == 0";
            default: return is_v_local ? "(v & 1) != 0" : "(m->overflow & 1) != 0";
        }
    }

    /// A jump to itself waits for an interrupt: the interpreter knows how to skip it.
    void write_jump(const Decoded& decoded, unsigned address) {
        if (decoded.operand != address) {
            cycles_ += 3;
            go_to(decoded.operand);
        } else {
            print("   ");
            keep_rare_registers();
            leave_at(address);
        }
    }

    /// What is pushed lies in two bytes side by side, unless the stack wraps, which is the interpreter's.
    void write_call(const Decoded& decoded, unsigned address) {
        leave_unless("s >= 2", address);
        print("    WORD(0xFF + s) = 0x%04X; s -= 2;\n", (address + 2) & 0xFFFFu);
        is_s_changed_ = true;
        cycles_ += 6;
        go_to(decoded.operand);
    }

    void write_return(unsigned address) {
        leave_unless("s <= 0xFD", address);
        print("   ");
        if (is_v_changed_) print(" KEEP_V");
        print(" RETURN(%u);\n", cycles_ + 6);
    }

    /// The chip does not carry into the pointer's page.
    void write_indirect_jump(const Decoded& decoded, unsigned address) {
        const unsigned low = decoded.operand, high = (low & 0xFF00u) | ((low + 1) & 0xFFu);
        if (low >= 0x2000) {
            print("   ");
            keep_rare_registers();
            leave_at(address);
            return;
        }
        print("    t = RAM(0x%03X) | u64{RAM(0x%03X)} << 8;\n   ", low & 0x7FF, high & 0x7FF);
        cycles_ += 5;
        keep_rare_registers();
        print(" JUMP_TO_PC(%u);\n", cycles_);
    }

    Rom rom_;
    const Code& code_;
    std::string& out_;
    const Region* region_ = nullptr;
    unsigned cycles_ = 0;  ///< since `left` was last brought up to date, page crossings apart
    bool is_s_changed_ = false, is_v_changed_ = false;
    bool is_carry_clear_ = false, is_carry_set_ = false;  ///< for certain
};

void append_bytes(std::string& out, const char* declaration, std::span<const std::uint8_t> bytes) {
    out += declaration;
    out += " = {";
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (i % 32 == 0) out += '\n';
        out += std::to_string(bytes[i]) + ',';
    }
    out += "\n};\n";
}

void append_tables(std::string& out, Rom rom, const std::vector<Region>& regions, std::string_view source_hash) {
    std::vector<std::uint8_t> entry_cycles(0x8000);
    for (const Region& region : regions) {
        const Region::Member& first = region.members.front();
        entry_cycles[first.block->address - 0x8000] = static_cast<std::uint8_t>(first.needed_cycles);
    }
    append_bytes(out, "static const std::uint8_t rom[0x8000]", rom);
    append_bytes(out, "static const std::uint8_t entry_cycles[0x8000]", entry_cycles);
    out += "Tables all_tables;\nstatic const struct Entry { unsigned address; Block block; } entries[] = {\n";
    for (const Region& region : regions) {
        char entry[32];
        const unsigned address = region.members.front().block->address;
        std::snprintf(entry, sizeof entry, "{0x%04X, b%04X},\n", address, address);
        out += entry;
    }
    out += "};\nstatic const char source_hash[] = \"";
    out += source_hash;
    out += "\";\n";
    out += entrance;
}

}  // namespace

std::string write_engine(const nes::Board& board, std::string_view source_hash, unsigned part, unsigned num_parts) {
    const Rom rom = board.prg_rom;
    Code code = discover(rom);
    const std::vector<Block> blocks = cut_blocks(rom, code);
    std::vector<Region> regions = find_hot_regions(blocks, code, find_hot_addresses(board));
    const std::size_t num_hot = regions.size();
    std::array<bool, 0x10000> has_function{};
    for (const Region& region : regions) has_function[region.members.front().block->address] = true;
    for (const Block& block : blocks) {
        if (!has_function[block.address]) regions.push_back({{{&block, std::max(block.most_cycles, 1u), true}}});
    }
    std::string out = machine_text;
    out += declarations;
    for (std::size_t i = 0; i < regions.size(); ++i) {
        char declaration[32];
        std::snprintf(declaration, sizeof declaration, "%sBLOCK(b%04X);\n", i < num_hot ? "" : "COLD ",
                      regions[i].members.front().block->address);
        out += declaration;
    }
    BlockWriter writer(rom, code, out);
    const std::size_t first = regions.size() * part / num_parts, end = regions.size() * (part + 1) / num_parts;
    for (std::size_t i = first; i < end; ++i) writer.write(regions[i]);
    if (part == 0) append_tables(out, rom, regions, source_hash);
    else out += "#pragma GCC visibility pop\n";
    return out;
}

}  // namespace mario::recompiler
