// A compiled engine: a shared object made from what the writer wrote.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include "nes/board.h"
#include "recompiler/machine.h"

namespace mario::recompiler {

struct EngineError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Loads the file and keeps it loaded as long as the pointer lives. Refuses, with EngineError, what was not written by this library
/// for this board. The file itself is trusted: its code runs.
[[nodiscard]] std::shared_ptr<const Program> open_engine(const std::string& path, const nes::Board& board, const char* source_hash);

}  // namespace mario::recompiler
