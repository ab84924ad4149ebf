// A program's blocks: instructions that are entered at the first alone, and what leads from block to block.
#pragma once

#include <vector>

#include "recompiler/discovery.h"
#include "recompiler/profile.h"

namespace mario::recompiler {

enum class Access { none, read, write, modify };

[[nodiscard]] Access access_of(nes::Operation operation);
/// Without what crossing a page adds.
[[nodiscard]] unsigned cycles_of(const Decoded& decoded);
[[nodiscard]] bool may_cross(const Decoded& decoded);
/// Of a branch that is taken.
[[nodiscard]] unsigned branch_cycles(unsigned address, unsigned target);

/// A way from a block to another that does not depend on what the program computes. Calls and returns are none.
struct Way {
    unsigned target;
    bool is_checked;  ///< the deadline may be another one there: the console was touched, or time is not bounded
};

struct Block {
    unsigned address;
    unsigned num_instructions;
    unsigned most_cycles;
    std::vector<Way> ways;
};

/// All blocks, by address. Those that would grow too long are cut, which makes new heads.
[[nodiscard]] std::vector<Block> cut_blocks(Rom rom, Code& code);

/// Blocks that become one function. The first is its beginning; from outside nobody gets to the others, or rarely.
struct Region {
    struct Member {
        const Block* block;
        unsigned needed_cycles;  ///< until the next place that looks at the deadline, at most
        bool is_checked;         ///< it looks at the deadline itself
    };
    std::vector<Member> members;

    [[nodiscard]] bool holds(unsigned address) const;
    [[nodiscard]] unsigned num_instructions() const;
};

/// One per hot block that several hot blocks lead to, or what is no plain way: with the hot blocks to which only that one leads.
/// The compiler sees more at once, and the deadline is looked at once for all of it.
[[nodiscard]] std::vector<Region> find_hot_regions(const std::vector<Block>& blocks, const Code& code, const HotAddresses& is_hot);

}  // namespace mario::recompiler
