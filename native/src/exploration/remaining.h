// How far it still is: steps to the goal for every cell, from what a search has seen.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "exploration/cell.h"

namespace mario::exploration {

/// What happened, step by step: the number of the cell after each step, with these marks between. A piece of play begins with
/// the cell it started from.
using Trace = std::vector<std::uint32_t>;
inline constexpr std::uint32_t begin_mark = ~std::uint32_t{0} - 1, goal_mark = ~std::uint32_t{0} - 2;

/// The steps from every cell to the goal; ~0 where the goal was never seen from there.
///
/// Places of the best path (`best_path` has its cells, one per step from the start) have the time that this path takes from there on,
/// without the loops from which it came back to where it had been; a loop is level, so that along the path time never grows. Any other
/// place has the fewest steps in which it was seen to lead to one of these, and what is left from there; places never seen to do so, to one of the
/// others; and so on. Each number is thus made of few pieces of real play: joining many short ones would promise ways that do not
/// exist, since states of a cell differ in speed. Where such a number is far above a neighbour's, chance alone made it so: from place
/// to place it may grow by no more than what the best path takes for such a distance.
///
/// `keys` are the cells. Cells of one place (place_of) get the same number. Numbers of cells beyond are skipped.
[[nodiscard]] std::vector<std::uint32_t> remaining_steps(std::span<const CellKey> keys, std::span<const std::uint32_t> best_path,
                                                         std::span<const Trace* const> traces);

}  // namespace mario::exploration
