// A console as bytes that may be kept in a file and come back from anywhere.
//
// 32 bytes of header (magic, version, length, hash of the board, checksum), then the struct as it is. It is read by the same version
// of this library on the same kind of machine (little-endian); the version is raised whenever the struct or its meaning changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>

#include "nes/console.h"

namespace mario::nes {

inline constexpr std::uint32_t save_state_version = 1;
inline constexpr std::size_t save_state_header_bytes = 32;
inline constexpr std::size_t save_state_bytes = save_state_header_bytes + sizeof(Console);

/// Bytes that are not a state of this console; what() says why, for people.
struct SaveStateError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Equal consoles give equal bytes: the log's unused part is written as zeros.
void write_save_state(const Console& console, const Board& board, std::span<std::uint8_t, save_state_bytes> out) noexcept;

/// Throws SaveStateError and leaves the console as it was, or replaces it. The bytes are untrusted: whatever is let through can be
/// run, saved and drawn safely.
void read_save_state(Console& console, const Board& board, std::span<const std::uint8_t> bytes);

/// Makes header and checksum fit the struct in the same buffer, which need not be a possible state (for tests that damage it).
void seal_save_state(const Board& board, std::span<std::uint8_t, save_state_bytes> bytes) noexcept;

}  // namespace mario::nes
