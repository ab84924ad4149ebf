// How far it still is: steps to the goal for every cell, from what a search has seen.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace mario::exploration {

/// What happened, step by step: the number of the cell after each step, with these marks between. A piece of play begins with
/// the cell it started from.
using Trace = std::vector<std::uint32_t>;
inline constexpr std::uint32_t begin_mark = ~std::uint32_t{0} - 1, goal_mark = ~std::uint32_t{0} - 2;

/// Cells of the best path, one per step from the start, have the time that this path really took from there on (from the last visit;
/// detours that it came back from are left out). Any other cell has the fewest steps in which it was seen to lead to one of these, and
/// what is left from there; cells never seen to do so, to one of the others; and so on. Each number is thus made of few pieces of real play:
/// joining many short ones would promise ways that do not exist, since states of a cell differ in speed.
/// Unreachable cells get ~0.
///
/// `places[cell]`: cells of one place count as one here, and get the same number. Numbers of cells beyond are skipped.
[[nodiscard]] std::vector<std::uint32_t> remaining_steps(std::span<const std::uint32_t> places, std::span<const std::uint32_t> best_path,
                                                         std::span<const Trace* const> traces);

}  // namespace mario::exploration
