// A console in as few bytes as possible: a search keeps thousands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "nes/console.h"

namespace mario::exploration {

/// About 5 KB: the memories of the cartridge are left out where they are as they were at the start, which most games never change.
/// Every call for one state gets the same start.
class KeptState {
public:
    void keep(const nes::Console& console, const nes::Console& start);
    void restore(nes::Console& console, const nes::Console& start) const noexcept;
    [[nodiscard]] bool is_empty() const { return bytes_.empty(); }
    [[nodiscard]] std::size_t num_bytes() const { return bytes_.capacity(); }

private:
    std::vector<std::uint8_t> bytes_;
    bool has_prg_ram_ = false, has_chr_ram_ = false;
};

}  // namespace mario::exploration
