// Which bytes of a cartridge are code: everything that can be reached from the vectors without knowing what the program computes.
//
// Too little or too much harms nobody: what is missed is interpreted, and what is no code is translated and never run.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "nes/instruction_set.h"

namespace mario::recompiler {

using Rom = std::span<const std::uint8_t, 0x8000>;  ///< $8000-$FFFF

/// How an engine does an instruction.
enum class Kind : std::uint8_t {
    plain,        ///< in place, RAM and ROM alone
    bus,          ///< through the machine's bus; the deadline may have moved afterwards
    branch, jump, call, ret, indirect_jump,
    interpreted,  ///< not at all
};

/// An instruction whose bytes all lie in ROM.
struct Decoded {
    std::uint8_t opcode;
    nes::Operation operation;
    nes::Mode mode;
    unsigned num_bytes;
    unsigned operand;  ///< the byte or word behind the opcode; for branches the target
    Kind kind;
};

[[nodiscard]] Decoded decode(Rom rom, unsigned address);

struct Code {
    std::array<bool, 0x10000> is_head{};  ///< where a block begins; always in ROM
    std::array<bool, 0x10000> is_entry{};  ///< those that are reached by more than branches and jumps: calls, returns, tables
    unsigned num_instructions = 0;
    unsigned num_tables = 0;  ///< of addresses, behind calls
};

[[nodiscard]] Code discover(Rom rom);

}  // namespace mario::recompiler
