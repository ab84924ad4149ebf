// Writes a cartridge's program as C++: one function per block, or for several hot ones that belong together, which ends by jumping to
// the next (a tail call), with the 6502's registers in those of the machine.
//
// A block begins only when the deadline lies behind its last cycle, so nothing in it has to look whether an interrupt or the end
// of the frame is due. Where it is too near, or where an instruction is not translated, the engine leaves, and the interpreter goes on.
#pragma once

#include <string>
#include <string_view>

#include "nes/board.h"
#include "recompiler/discovery.h"

namespace mario::recompiler {

/// One of `num_parts` files, which are compiled separately and linked together. Each is complete: it includes the standard
/// library alone. What is executed all the time lies together, at the beginning of the first. What it says derives from the ROM: it stays on the user's machine.
[[nodiscard]] std::string write_engine(const nes::Board& board, std::string_view source_hash, unsigned part, unsigned num_parts);

}  // namespace mario::recompiler
