#include "exploration/remaining.h"

#include <algorithm>

namespace mario::exploration {
namespace {

constexpr std::uint32_t unknown = ~std::uint32_t{0};

/// Where the path goes without its detours: where it came back to a place, what lay between is dropped.
std::vector<bool> without_detours(std::span<const std::uint32_t> path, std::size_t num_places) {
    std::vector<std::uint32_t> kept;
    std::vector<bool> is_kept(num_places);
    for (const std::uint32_t place : path) {
        if (place == unknown) continue;
        while (is_kept[place] && kept.back() != place) {
            is_kept[kept.back()] = false;
            kept.pop_back();
        }
        if (!is_kept[place]) kept.push_back(place);
        is_kept[place] = true;
    }
    return is_kept;
}

/// Offers to every place without a number what it takes to come to one with a number.
bool extend(const Trace& trace, std::span<const std::uint32_t> places, std::span<const std::uint32_t> known,
            std::span<std::uint32_t> candidates) {
    bool has_found = false;
    std::uint32_t left = unknown;
    for (std::size_t at = trace.size(); at-- > 0;) {
        const std::uint32_t cell = trace[at];
        if (cell == begin_mark) left = unknown;
        else if (cell == goal_mark) left = 0;
        else {
            if (left != unknown) ++left;
            if (cell >= places.size()) continue;  // the archive was full
            const std::uint32_t place = places[cell];
            if (known[place] != unknown) left = std::min(left, known[place]);
            else if (left < candidates[place]) candidates[place] = left, has_found = true;
        }
    }
    return has_found;
}

}  // namespace

std::vector<std::uint32_t> remaining_steps(std::span<const std::uint32_t> places, std::span<const std::uint32_t> best_path,
                                           std::span<const Trace* const> traces) {
    const std::size_t num_places = places.empty() ? 0 : *std::max_element(places.begin(), places.end()) + std::size_t{1};
    std::vector<std::uint32_t> path, known(num_places, unknown);
    for (const std::uint32_t cell : best_path) path.push_back(cell < places.size() ? places[cell] : unknown);
    const std::vector<bool> is_kept = without_detours(path, num_places);
    for (std::size_t at = 0; at < path.size(); ++at) {
        if (path[at] != unknown && is_kept[path[at]]) known[path[at]] = static_cast<std::uint32_t>(path.size() - at);
    }
    for (bool goes_on = true; goes_on;) {
        goes_on = false;
        std::vector<std::uint32_t> candidates(num_places, unknown);
        for (const Trace* const trace : traces) goes_on |= extend(*trace, places, known, candidates);
        for (std::size_t place = 0; place < num_places; ++place) known[place] = std::min(known[place], candidates[place]);
    }
    std::vector<std::uint32_t> remaining;
    for (const std::uint32_t place : places) remaining.push_back(known[place]);
    return remaining;
}

}  // namespace mario::exploration
