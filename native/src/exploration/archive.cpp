#include "exploration/archive.h"

#include <algorithm>
#include <bit>

namespace mario::exploration {
namespace {

// Chosen on all 32 stages.
constexpr std::uint32_t num_newest = 200, newest_rounds = 2, any_rounds = 10;
constexpr std::uint32_t newest_percent = 40, region_percent = 50, route_percent = 50;
constexpr std::uint32_t min_tries_of_doomed = 6;
constexpr std::uint32_t picks_per_other = 6;
/// Others may be slower, but the clock is running, and each may follow another.
constexpr std::uint32_t max_other_steps(std::size_t fastest) { return static_cast<std::uint32_t>(fastest + fastest / 4 + 100); }

}  // namespace

Archive::Archive(const nes::Console& start, std::uint32_t max_cells)
    : start_(start), max_cells_(max_cells), slot_mask_(std::bit_ceil(std::size_t{max_cells} * 2) - 1),
      slots_(std::make_unique<Slot[]>(slot_mask_ + 1)), wanted_(std::make_unique<Wanted[]>(max_cells)) {}

Archive::Slot& Archive::slot_of(CellKey key) const noexcept {
    std::size_t at = (key * 0x9E3779B97F4A7C15u) >> 20u;
    for (;; ++at) {
        Slot& slot = slots_[at & slot_mask_];
        const CellKey there = slot.key.load(std::memory_order_acquire);
        if (there == key || there == 0) return slot;
    }
}

Archive::Offer Archive::offer(CellKey key, const Path& path, const nes::Console& console) {
    const auto steps = static_cast<std::uint32_t>(path.actions.size());
    // Most arrivals bring nothing new; they take no lock.
    const auto known = [&](const Slot& slot) { return slot.key.load(std::memory_order_acquire) == key; };
    const auto is_faster = [&](const Wanted& wanted) { return steps < wanted.steps.load(std::memory_order_relaxed); };
    const auto is_other = [&](const Wanted& wanted) { return steps < wanted.other_steps.load(std::memory_order_relaxed); };
    if (const Slot& slot = slot_of(key); known(slot)) {
        const std::uint32_t cell = slot.cell.load(std::memory_order_relaxed);
        if (!is_faster(wanted_[cell]) && !is_other(wanted_[cell])) return {cell, false, false};
    }
    const std::scoped_lock lock(mutex_);
    Slot& slot = slot_of(key);
    if (known(slot)) {
        const std::uint32_t cell = slot.cell.load(std::memory_order_relaxed);
        Entry& entry = entries_[cell];
        const bool fewer = steps < entry.fastest.path.actions.size();
        if (is_faster(wanted_[cell])) {
            wanted_[cell].steps.store(steps, std::memory_order_relaxed);
            fill(entry.fastest, path, console);
            entry.num_picks = 0;
        } else if (is_other(wanted_[cell])) {
            wanted_[cell].other_steps.store(0, std::memory_order_relaxed);
            fill(entry.other, path, console);
        }
        return {cell, false, fewer};
    }
    if (entries_.size() == max_cells_) return {no_cell, true, false};
    const auto cell = static_cast<std::uint32_t>(entries_.size());
    entries_.emplace_back().key = key;
    fill(entries_.back().fastest, path, console);
    const auto [region, is_new_region] = region_numbers_.try_emplace(region_of(key), regions_.size());
    if (is_new_region) regions_.emplace_back();
    regions_[region->second].push_back(cell);
    wanted_[cell].steps.store(steps, std::memory_order_relaxed);
    slot.cell.store(cell, std::memory_order_relaxed);
    slot.key.store(key, std::memory_order_release);
    num_cells_.store(cell + 1, std::memory_order_release);
    return {cell, true, true};
}

void Archive::fill(Arrival& arrival, const Path& path, const nes::Console& console) {
    const auto num_bytes = [&] {
        const Path& kept = arrival.path;
        return arrival.state.num_bytes() + kept.actions.capacity() + kept.cells.capacity() * sizeof(std::uint32_t);
    };
    num_state_bytes_ -= num_bytes();
    arrival.path = path;
    arrival.state.keep(console, start_);
    arrival.num_picks = arrival.num_soon_dead = 0;
    num_state_bytes_ += num_bytes();
}

std::uint32_t Archive::choose(Random& random) const {
    const auto num_cells = static_cast<std::uint32_t>(entries_.size());
    const auto rarest = [&](std::uint32_t rounds, auto draw) {
        std::uint32_t best = draw();
        for (std::uint32_t round = 1; round < rounds; ++round) {
            const std::uint32_t other = draw();
            if (entries_[other].num_picks < entries_[best].num_picks) best = other;
        }
        return best;
    };
    if (random.below(100) < newest_percent) {
        const std::uint32_t window = std::min(num_cells, num_newest);
        return rarest(newest_rounds, [&] { return num_cells - window + random.below(window); });
    }
    // A region that was just found is small; it gets its share all the same.
    if (random.below(100) < region_percent) {
        const auto& cells = regions_[random.below(static_cast<std::uint32_t>(regions_.size()))];
        return rarest(any_rounds, [&] { return cells[random.below(static_cast<std::uint32_t>(cells.size()))]; });
    }
    return rarest(any_rounds, [&] { return random.below(num_cells); });
}

Archive::Pick Archive::pick(Random& random, nes::Console& console, Path& path) {
    const std::scoped_lock lock(mutex_);
    std::uint32_t cell = no_cell;
    if (route_ && random.below(100) < route_percent) {
        cell = route_->path.cells[random.below(static_cast<std::uint32_t>(route_->path.cells.size()))];
    }
    const bool goes_along = cell != no_cell;  // a full archive does not have all cells of the route
    if (!goes_along) cell = choose(random);
    Entry& entry = entries_[cell];
    const bool is_other = !goes_along && !entry.other.state.is_empty() && random.below(2) == 0;
    Arrival& arrival = is_other ? entry.other : entry.fastest;
    ++entry.num_picks;
    ++arrival.num_picks;
    arrival.state.restore(console, start_);
    path = arrival.path;
    if ((is_other || entry.other.state.is_empty()) && arrival.num_picks >= picks_per_other) {
        wanted_[cell].other_steps.store(max_other_steps(entry.fastest.path.actions.size()), std::memory_order_relaxed);
    }
    return {cell, is_other, goes_along ? route_ : nullptr};
}

void Archive::report(const Pick& pick, bool has_died_soon) {
    if (!has_died_soon) return;
    const std::scoped_lock lock(mutex_);
    Arrival& arrival = pick.is_other ? entries_[pick.cell].other : entries_[pick.cell].fastest;
    ++arrival.num_soon_dead;
    if (!pick.is_other && arrival.num_picks >= min_tries_of_doomed && arrival.num_soon_dead >= arrival.num_picks) {
        wanted_[pick.cell].steps.store(no_cell, std::memory_order_relaxed);
    }
}

void Archive::set_route(std::shared_ptr<const Route> route) {
    const std::scoped_lock lock(mutex_);
    route_ = std::move(route);
}

std::size_t Archive::num_bytes() const {
    const std::scoped_lock lock(mutex_);
    return num_state_bytes_ + entries_.capacity() * sizeof(Entry) + (slot_mask_ + 1) * sizeof(Slot) + max_cells_ * sizeof(Wanted);
}

mario_cell Archive::describe(std::uint32_t cell) const {
    const std::scoped_lock lock(mutex_);
    const Entry& entry = entries_[cell];
    mario_cell described{};
    read_cell(entry.key, described);
    described.steps = static_cast<std::uint32_t>(entry.fastest.path.actions.size());
    described.num_picks = entry.num_picks;
    return described;
}

std::vector<CellKey> Archive::keys() const {
    const std::scoped_lock lock(mutex_);
    std::vector<CellKey> keys;
    for (const Entry& entry : entries_) keys.push_back(entry.key);
    return keys;
}

Actions Archive::actions(std::uint32_t cell) const {
    const std::scoped_lock lock(mutex_);
    return entries_[cell].fastest.path.actions;
}

void Archive::restore(std::uint32_t cell, nes::Console& console) const {
    const std::scoped_lock lock(mutex_);
    entries_[cell].fastest.state.restore(console, start_);
}

}  // namespace mario::exploration
