// What a search has reached: per cell the state that took the fewest steps and another one, with the actions that lead there.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "exploration/cell.h"
#include "exploration/kept_state.h"
#include "exploration/random.h"

namespace mario::exploration {

/// An index into the action set, one per step.
using Actions = std::vector<std::uint8_t>;

inline constexpr std::uint32_t no_cell = ~std::uint32_t{0};

/// From the start to somewhere: the actions, and the cell in which each was chosen.
struct Path {
    Actions actions;
    std::vector<std::uint32_t> cells;
};

/// The best path to the goal so far, to go along.
struct Route {
    Path path;
    std::unordered_map<std::uint32_t, std::uint32_t> last_steps;  ///< by cell, the last step that was chosen there
};

/// Cells are numbered in the order of their discovery and never go away. Every function may be called by any thread; what is handed
/// out is a copy.
class Archive {
public:
    Archive(const nes::Console& start, std::uint32_t max_cells);

    /// Takes the state into its cell where the cell is new, or was reached in more steps, or holds a state that only dies, or where the
    /// other state has been gone on from often enough: what a cell does not tell apart (a block that was hit, a lift that is near)
    /// may be what matters. Returns the cell's number, no_cell where it is new and the archive is full, and
    /// whether it is new or was never reached in so few steps.
    struct Offer {
        std::uint32_t cell;
        bool is_new, is_faster;
    };
    Offer offer(CellKey key, const Path& path, const nes::Console& console);

    /// Chooses where to go on: cells that were rarely chosen before, often among the newest or those of a region; or, with a route, one
    /// of its cells, to go along it from there.
    struct Pick {
        std::uint32_t cell;
        bool is_other;
        std::shared_ptr<const Route> route;  ///< null: anywhere
    };
    Pick pick(Random& random, nes::Console& console, Path& path);
    /// What came of the pick. Death follows a doomed state whatever is done.
    void report(const Pick& pick, bool has_died_soon);

    void set_route(std::shared_ptr<const Route> route);

    [[nodiscard]] std::uint32_t num_cells() const { return num_cells_.load(std::memory_order_acquire); }
    [[nodiscard]] bool is_full() const { return num_cells() == max_cells_; }
    [[nodiscard]] std::size_t num_bytes() const;
    /// The cell's part of a record, its steps and how often it was picked.
    [[nodiscard]] mario_cell describe(std::uint32_t cell) const;
    [[nodiscard]] std::vector<CellKey> keys() const;
    [[nodiscard]] Actions actions(std::uint32_t cell) const;
    void restore(std::uint32_t cell, nes::Console& console) const;

private:
    struct Arrival {
        Path path;
        KeptState state;
        std::uint32_t num_picks = 0, num_soon_dead = 0;
    };
    struct Entry {
        CellKey key = 0;
        std::uint32_t num_picks = 0;
        Arrival fastest, other;  ///< the other one has no state before there is one
    };
    /// A place of the hash table. The number is written before the key, so who sees the key sees the number.
    struct Slot {
        std::atomic<CellKey> key{0};
        std::atomic<std::uint32_t> cell{0};
    };

    [[nodiscard]] Slot& slot_of(CellKey key) const noexcept;
    std::uint32_t choose(Random& random) const;
    void fill(Arrival& arrival, const Path& path, const nes::Console& console);

    const nes::Console& start_;  ///< the caller's
    std::uint32_t max_cells_;
    std::size_t slot_mask_;
    std::unique_ptr<Slot[]> slots_;
    /// An arrival with fewer steps replaces the fastest: its steps, or no_cell where that is doomed; and one with fewer replaces the
    /// other: 0 where none is wanted.
    struct Wanted {
        std::atomic<std::uint32_t> steps{0}, other_steps{0};
    };
    std::unique_ptr<Wanted[]> wanted_;
    std::atomic<std::uint32_t> num_cells_{0};

    mutable std::mutex mutex_;  // guards what follows
    std::vector<Entry> entries_;
    std::shared_ptr<const Route> route_;
    std::unordered_map<CellKey, std::size_t> region_numbers_;  ///< by region_of
    std::vector<std::vector<std::uint32_t>> regions_;          ///< their cells
    std::size_t num_state_bytes_ = 0;
};

}  // namespace mario::exploration
