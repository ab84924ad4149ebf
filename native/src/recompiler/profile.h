// A short game, played by the interpreter, to know which instructions a program executes all the time.
#pragma once

#include <array>

#include "nes/board.h"

namespace mario::recompiler {

/// The addresses from $0000 on that are executed in most frames. This decides where the engine's code lies in memory, for the
/// processor's caches, and nothing else: a program that plays differently is as right, and a little slower.
using HotAddresses = std::array<bool, 0x10000>;

[[nodiscard]] HotAddresses find_hot_addresses(const nes::Board& board);

}  // namespace mario::recompiler
