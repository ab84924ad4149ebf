#include "recompiler/blocks.h"

#include <algorithm>
#include <map>

namespace mario::recompiler {

using nes::Mode;
using nes::Operation;

namespace {

/// Blocks are cut here: what an entry needs must fit into a byte, and near a deadline short ones waste less.
constexpr unsigned max_block_cycles = 120;
constexpr unsigned max_needed_cycles = 250;
constexpr unsigned max_region_instructions = 150;

unsigned most_cycles(const Decoded& decoded, unsigned address) {
    if (decoded.kind == Kind::branch) return branch_cycles(address, decoded.operand);
    return cycles_of(decoded) + may_cross(decoded);
}

bool ends_block(Kind kind) { return kind != Kind::plain && kind != Kind::branch; }

}  // namespace

Access access_of(Operation operation) {
    using enum Operation;
    switch (operation) {
        case ADC: case AND: case BIT: case CMP: case CPX: case CPY: case EOR: case LDA: case LDX: case LDY: case ORA: case SBC:
            return Access::read;
        case STA: case STX: case STY: return Access::write;
        case ASL: case DEC: case INC: case LSR: case ROL: case ROR: return Access::modify;
        default: return Access::none;
    }
}

unsigned cycles_of(const Decoded& decoded) {
    switch (decoded.kind) {
        case Kind::branch: return 2;
        case Kind::jump: return 3;
        case Kind::indirect_jump: return 5;
        case Kind::call:
        case Kind::ret: return 6;
        case Kind::interpreted: return 0;
        default: break;
    }
    if (decoded.operation == Operation::PHA) return 3;
    if (decoded.operation == Operation::PLA) return 4;
    const Access access = access_of(decoded.operation);
    const unsigned writes = access == Access::modify ? 2 : 0;
    const bool carries_always = access == Access::write || access == Access::modify;
    switch (decoded.mode) {
        case Mode::zero_page: return 3 + writes;
        case Mode::zero_page_x:
        case Mode::zero_page_y:
        case Mode::absolute: return 4 + writes;
        case Mode::absolute_x:
        case Mode::absolute_y: return 4 + writes + carries_always;
        case Mode::indexed_indirect: return 6;
        case Mode::indirect_indexed: return 5 + carries_always;
        default: return 2;
    }
}

bool may_cross(const Decoded& decoded) {
    const bool is_indexed = decoded.mode == Mode::absolute_x || decoded.mode == Mode::absolute_y || decoded.mode == Mode::indirect_indexed;
    return is_indexed && access_of(decoded.operation) == Access::read;
}

unsigned branch_cycles(unsigned address, unsigned target) { return ((address + 2) ^ target) & 0xFF00u ? 4 : 3; }

std::vector<Block> cut_blocks(Rom rom, Code& code) {
    std::vector<Block> blocks;
    for (unsigned head = 0x8000; head < 0x10000; ++head) {
        if (!code.is_head[head]) continue;
        Block block{head, 0, 0, {}};
        // A branch in the middle may be the longest way; adding all of them up is at worst a little too careful.
        for (unsigned at = head;;) {
            const Decoded decoded = decode(rom, at);
            const unsigned next = at + decoded.num_bytes;
            ++block.num_instructions;
            block.most_cycles += most_cycles(decoded, at);
            const bool jumps = decoded.kind == Kind::branch || decoded.kind == Kind::jump;
            if (jumps && decoded.operand != at) block.ways.push_back({decoded.operand, decoded.operand <= head});
            const bool is_too_long = block.most_cycles >= max_block_cycles;
            if (is_too_long && !ends_block(decoded.kind) && next < 0x10000) code.is_head[next] = true;  // lies ahead: the loop comes to it
            if (ends_block(decoded.kind) || next >= 0x10000 || code.is_head[next]) {
                const bool goes_on = decoded.kind == Kind::plain || decoded.kind == Kind::branch || decoded.kind == Kind::bus;
                if (goes_on && next < 0x10000) block.ways.push_back({next, decoded.kind == Kind::bus});
                break;
            }
            at = next;
        }
        blocks.push_back(block);
    }
    return blocks;
}

bool Region::holds(unsigned address) const {
    return std::any_of(members.begin(), members.end(), [&](const Member& member) { return member.block->address == address; });
}

unsigned Region::num_instructions() const {
    unsigned sum = 0;
    for (const Member& member : members) sum += member.block->num_instructions;
    return sum;
}

namespace {

/// Where the function begins that each hot block belongs to: by dominance, as far as it is worth it.
class RegionFinder {
public:
    RegionFinder(const std::vector<Block>& blocks, const Code& code, const HotAddresses& is_hot) : code_(code) {
        for (const Block& block : blocks) {
            if (is_hot[block.address]) hot_.emplace(block.address, &block);
        }
        for (const auto& [address, block] : hot_) {
            for (const Way& way : block->ways) {
                if (hot_.contains(way.target)) ways_to_[way.target].push_back(address);
            }
        }
    }

    std::vector<Region> run() {
        find_roots();
        std::map<unsigned, Region> regions;
        for (const auto& [address, block] : hot_) {
            Region& region = regions[root_of(address)];
            const bool is_root = root_of(address) == address;
            region.members.insert(is_root ? region.members.begin() : region.members.end(), {block, 0, is_root});
        }
        std::vector<Region> found;
        for (auto& [root, region] : regions) {
            check_deadlines(region);
            found.push_back(std::move(region));
        }
        return found;
    }

private:
    static constexpr unsigned unknown = 0;

    [[nodiscard]] unsigned root_of(unsigned address) const { return roots_.at(address); }

    void find_roots() {
        for (const auto& [address, block] : hot_) roots_[address] = code_.is_entry[address] ? address : unknown;
        do agree();
        while (cut_largest());
    }

    /// A block belongs where all that lead to it belong. What is not known yet is taken to agree, until it is known better.
    void agree() {
        for (bool is_changed = true; is_changed;) {
            is_changed = false;
            for (auto& [address, root] : roots_) {
                const unsigned common = common_root(address);
                is_changed |= common != root;
                root = common;
            }
            if (is_changed) continue;
            // What is left is reached from code alone that is not hot.
            const auto left = std::find_if(roots_.begin(), roots_.end(), [](const auto& each) { return each.second == unknown; });
            if (left == roots_.end()) return;
            left->second = left->first;
            is_changed = true;
        }
    }

    [[nodiscard]] unsigned common_root(unsigned address) const {
        const unsigned own = root_of(address);
        if (own == address) return address;
        unsigned common = unknown;
        for (const unsigned from : ways_to_.contains(address) ? ways_to_.at(address) : std::vector<unsigned>{}) {
            const unsigned root = root_of(from);
            if (root == unknown || root == common) continue;
            if (common != unknown) return address;
            common = root;
        }
        return common;
    }

    /// Compilers take more than their share of time for large functions: what lies behind the limit begins another.
    bool cut_largest() {
        std::map<unsigned, unsigned> sizes;
        for (const auto& [address, block] : hot_) {
            unsigned& size = sizes[root_of(address)];
            size += block->num_instructions;
            if (size <= max_region_instructions || root_of(address) == address) continue;
            roots_[address] = address;
            return true;
        }
        return false;
    }

    /// From the last block to the first: what goes ahead without a look at the deadline is paid for before.
    static void check_deadlines(Region& region) {
        std::map<unsigned, Region::Member*> members;
        for (Region::Member& member : region.members) members[member.block->address] = &member;
        const auto member_at = [&](unsigned address) { return members.contains(address) ? members[address] : nullptr; };
        for (const Region::Member& member : region.members) {
            for (const Way& way : member.block->ways) {
                if (Region::Member* const target = member_at(way.target)) target->is_checked |= way.is_checked;
            }
        }
        for (auto each = members.rbegin(); each != members.rend(); ++each) {
            Region::Member& member = *each->second;
            member.needed_cycles = std::max(member.block->most_cycles, 1u);
            unsigned ahead = 0;
            for (const Way& way : member.block->ways) {
                Region::Member* const target = member_at(way.target);
                if (target == nullptr || target->is_checked) continue;
                if (member.needed_cycles + target->needed_cycles > max_needed_cycles) target->is_checked = true;
                else ahead = std::max(ahead, target->needed_cycles);
            }
            member.needed_cycles += ahead;
        }
    }

    const Code& code_;
    std::map<unsigned, const Block*> hot_;
    std::map<unsigned, std::vector<unsigned>> ways_to_;
    std::map<unsigned, unsigned> roots_;
};

}  // namespace

std::vector<Region> find_hot_regions(const std::vector<Block>& blocks, const Code& code, const HotAddresses& is_hot) {
    return RegionFinder(blocks, code, is_hot).run();
}

}  // namespace mario::recompiler
