// What the bytes of Super Mario Bros. mean. The record and the meaning of its fields are in mario_native.h.
#pragma once

#include <array>
#include <cstdint>

#include "mario_native.h"

namespace mario::smb {

/// Any memory is allowed, also one that no game has left there.
[[nodiscard]] mario_game read_game(const std::array<std::uint8_t, 2048>& ram) noexcept;

}  // namespace mario::smb
