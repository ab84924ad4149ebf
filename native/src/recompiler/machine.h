// What the library and a generated engine share. Its text is also the head of every generated file, so it includes nothing of ours.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mario::recompiler {

/// Raised with every change to the two structs below.
inline constexpr std::uint32_t engine_version = 3;

struct Machine;

/// $2000-$2007 and $4000-$4017, in this order.
inline constexpr unsigned num_registers = 8 + 0x18;

/// Writes to registers that are known when an engine is written; as Machine::write.
struct RegisterWrites {
    std::int32_t (*at[num_registers])(Machine*, std::int32_t left, std::uint32_t value) noexcept;
};

/// One console's CPU while an engine runs it. Time is counted down: `left` is how many cycles the deadline is away, so an access
/// happens in cycle `deadline - left`.
struct Machine {
    std::uint64_t deadline;
    std::uint8_t* ram;
    void* bus;
    /// One bus access. They return `left` again, for the access may have moved the deadline.
    std::int32_t (*read)(Machine*, std::int32_t left, std::uint32_t address) noexcept;  ///< into `value`
    std::int32_t (*write)(Machine*, std::int32_t left, std::uint32_t address, std::uint32_t value) noexcept;
    const RegisterWrites* registers;
    /// Reads $2002 for the LDA or BIT before pc, and skips the rounds of a loop that waits for it. For the next boundary.
    std::int32_t (*poll)(Machine*, std::int32_t left, std::uint32_t opcode, std::uint32_t pc) noexcept;
    std::int32_t left;
    std::uint16_t pc;
    std::uint16_t nz;  ///< as in Interpreter
    std::uint8_t a, x, y, s;
    std::uint8_t carry;     ///< 0 or 1
    std::uint8_t overflow;  ///< in bit 0
    std::uint8_t value;
};

/// What a shared object exports as `mario_engine`.
struct Program {
    std::uint32_t version;
    std::uint32_t machine_bytes;
    const char* source_hash;   ///< of the library that wrote it
    const std::uint8_t* rom;   ///< the 32 KB it was written from
    /// Per address from $8000 on: 0 where nothing begins, else a number of cycles which must be fewer than are left to begin there.
    const std::uint8_t* entry_cycles;
    /// Runs from machine->pc, an entry with enough cycles left, to an instruction that somebody else has to execute, or at which the
    /// deadline is too near. On x86-64 it need not preserve rbx and r12 to r15.
    void (*run)(Machine*) noexcept;
};

}  // namespace mario::recompiler
