#include "exploration/remaining.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <queue>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace mario::exploration {
namespace {

constexpr std::uint32_t unknown = ~std::uint32_t{0};
constexpr int hop_cells = 5;  // how high a player jumps

struct Place {
    std::uint32_t region;
    int x, y;

    [[nodiscard]] bool is_within(int cells, const Place& other) const {
        return region == other.region && std::abs(x - other.x) <= cells && std::abs(y - other.y) <= cells;
    }
};

/// Cells with their places and regions numbered.
struct Places {
    std::vector<std::uint32_t> of_cell;
    std::vector<Place> places;
    std::uint32_t num_regions = 0;

    explicit Places(std::span<const CellKey> keys) {
        std::unordered_map<CellKey, std::uint32_t> numbers, regions;
        for (const CellKey key : keys) {
            const auto [place, is_new] = numbers.try_emplace(place_of(key), static_cast<std::uint32_t>(places.size()));
            of_cell.push_back(place->second);
            if (!is_new) continue;
            mario_cell cell{};
            read_cell(key, cell);
            const auto region = regions.try_emplace(region_of(key), static_cast<std::uint32_t>(regions.size())).first->second;
            places.push_back({region, cell.x, cell.y});
        }
        num_regions = static_cast<std::uint32_t>(regions.size());
    }
    [[nodiscard]] std::uint32_t at(std::uint32_t cell) const { return cell < of_cell.size() ? of_cell[cell] : unknown; }
};

struct Stay {
    std::uint32_t place, num_steps;
};

/// The best path without its loops, and the time that is left from each of its places.
struct Way {
    std::vector<Stay> stays;  ///< where the path came back to a place, what lay between is left out

    Way(const Places& places, std::span<const std::uint32_t> best_path) {
        std::vector<bool> is_kept(places.places.size());
        for (const std::uint32_t cell : best_path) {
            const std::uint32_t place = places.at(cell);
            if (place == unknown) continue;
            visits_.push_back(place);
            for (; is_kept[place] && stays.back().place != place; stays.pop_back()) is_kept[stays.back().place] = false;
            if (!is_kept[place]) stays.push_back({place, 0});
            is_kept[place] = true;
            ++stays.back().num_steps;
        }
    }

    void mark(std::vector<std::uint32_t>& known) const {
        std::uint32_t left = 1;  // from the last step in a place
        for (auto stay = stays.rbegin(); stay != stays.rend(); ++stay) {
            known[stay->place] = left;
            left += stay->num_steps;
        }
        level_loops(known);
    }

    /// Steps for a column of cells, by region; where the path does not go, as on the whole of it.
    [[nodiscard]] std::vector<std::uint32_t> column_steps(const Places& places) const {
        std::vector<std::uint32_t> steps(places.num_regions + 1), columns(places.num_regions + 1);
        for (std::size_t i = 1; i < stays.size(); ++i) {
            const Place &from = places.places[stays[i - 1].place], &to = places.places[stays[i].place];
            if (!from.is_within(hop_cells, to)) continue;
            for (const std::uint32_t region : {to.region, places.num_regions}) {
                steps[region] += stays[i].num_steps;
                columns[region] += static_cast<std::uint32_t>(std::abs(to.x - from.x));
            }
        }
        constexpr std::uint32_t fastest = 2;  // running takes 1.6
        const auto mean = [&](std::uint32_t region) { return (steps[region] + columns[region] - 1) / columns[region]; };
        std::vector<std::uint32_t> means;
        for (std::uint32_t region = 0; region < places.num_regions; ++region) {
            const std::uint32_t measured = columns[region] > 0 ? region : places.num_regions;
            means.push_back(std::max(fastest, columns[measured] > 0 ? mean(measured) : fastest));
        }
        return means;
    }

private:
    /// Along the path time only ever falls. From the first time in a place to the last nothing was gained, so all places between have
    /// what is left at the end of it, as do those of loops that overlap.
    void level_loops(std::vector<std::uint32_t>& known) const {
        std::vector<std::size_t> last(known.size());
        for (std::size_t at = 0; at < visits_.size(); ++at) last[visits_[at]] = at;
        for (std::size_t begin = 0; begin < visits_.size();) {
            std::size_t end = last[visits_[begin]];
            for (std::size_t at = begin; at <= end; ++at) end = std::max(end, last[visits_[at]]);
            for (std::size_t at = begin; at <= end; ++at) known[visits_[at]] = known[visits_[end]];
            begin = end + 1;
        }
    }

    std::vector<std::uint32_t> visits_;  ///< the place of every step
};

/// Offers to every place without a number what it takes to come to one with a number.
bool extend(const Trace& trace, const Places& places, std::span<const std::uint32_t> known, std::span<std::uint32_t> candidates) {
    bool has_found = false;
    std::uint32_t left = unknown;
    for (std::size_t at = trace.size(); at-- > 0;) {
        const std::uint32_t cell = trace[at];
        if (cell == begin_mark) left = unknown;
        else if (cell == goal_mark) left = 0;
        else {
            if (left != unknown) ++left;
            const std::uint32_t place = places.at(cell);
            if (place == unknown) continue;  // the archive was full
            if (known[place] != unknown) left = std::min(left, known[place]);
            else if (left < candidates[place]) candidates[place] = left, has_found = true;
        }
    }
    return has_found;
}

/// Where one was seen to come from a place in one step, backward: a list of places before each.
std::vector<std::vector<std::uint32_t>> steps_back(const Places& places, std::span<const Trace* const> traces) {
    std::vector<std::vector<std::uint32_t>> before(places.places.size());
    std::unordered_set<std::uint64_t> seen;
    for (const Trace* const trace : traces) {
        for (std::size_t at = 1; at < trace->size(); ++at) {
            const std::uint32_t from = places.at((*trace)[at - 1]), to = places.at((*trace)[at]);
            if (from == unknown || to == unknown || from == to) continue;
            if (seen.insert(std::uint64_t{from} << 32u | to).second) before[to].push_back(from);
        }
    }
    return before;
}

/// Lowers numbers that are further above a neighbour's than the distance accounts for; those of the path stay.
void smooth(const Places& places, const Way& way, std::span<const Trace* const> traces, const std::vector<std::uint32_t>& fixed,
            std::vector<std::uint32_t>& known) {
    const auto before = steps_back(places, traces);
    const auto column_steps = way.column_steps(places);
    using Item = std::pair<std::uint32_t, std::uint32_t>;  // steps, place
    std::priority_queue<Item, std::vector<Item>, std::greater<>> queue;
    for (std::uint32_t place = 0; place < known.size(); ++place) {
        if (known[place] != unknown) queue.emplace(known[place], place);
    }
    while (!queue.empty()) {
        const auto [steps, place] = queue.top();
        queue.pop();
        if (steps > known[place]) continue;
        const Place& to = places.places[place];
        for (const std::uint32_t earlier : before[place]) {
            if (fixed[earlier] != unknown) continue;
            const Place& from = places.places[earlier];
            const bool is_walk = std::abs(to.x - from.x) <= hop_cells && std::abs(to.y - from.y) <= hop_cells;
            const std::uint32_t distance =
                static_cast<std::uint32_t>(std::abs(to.x - from.x)) * column_steps[from.region] + static_cast<std::uint32_t>(std::abs(to.y - from.y));
            const std::uint32_t offered = steps + (is_walk ? std::max(1u, distance) : 1u);
            if (offered >= known[earlier]) continue;
            known[earlier] = offered;
            queue.emplace(offered, earlier);
        }
    }
}

}  // namespace

std::vector<std::uint32_t> remaining_steps(std::span<const CellKey> keys, std::span<const std::uint32_t> best_path,
                                           std::span<const Trace* const> traces) {
    const Places places(keys);
    const Way way(places, best_path);
    std::vector<std::uint32_t> known(places.places.size(), unknown);
    way.mark(known);
    const std::vector<std::uint32_t> fixed = known;
    for (bool goes_on = true; goes_on;) {
        goes_on = false;
        std::vector<std::uint32_t> candidates(known.size(), unknown);
        for (const Trace* const trace : traces) goes_on |= extend(*trace, places, known, candidates);
        for (std::size_t place = 0; place < known.size(); ++place) known[place] = std::min(known[place], candidates[place]);
    }
    smooth(places, way, traces, fixed, known);
    std::vector<std::uint32_t> remaining;
    for (const std::uint32_t place : places.of_cell) remaining.push_back(known[place]);
    return remaining;
}

}  // namespace mario::exploration
