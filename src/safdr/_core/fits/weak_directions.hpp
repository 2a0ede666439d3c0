// What sums of products can't tell about a softmax model, from the rows themselves: which columns others make up,
// Newton's step along directions of next to no curvature, and whether directions without any separate the classes.
#pragma once

#include <cstdint>
#include <vector>

#include "fits/subset_rows.hpp"

namespace safdr {

// Columns that others make up in every row: neither its weight nor its size counts.
std::vector<std::int64_t> collinear_columns(const SubsetRows& rows);

struct WeakStep {
  Direction step;
  double decrement;             // what the directions add to it
  std::vector<Direction> flat;  // mixtures of the directions along which nothing bends, as far as can be told
};

// A step of the other unknowns, and Newton's along directions that don't bend with these.
WeakStep weak_step(const SubsetRows& rows, const Probabilities& now, const std::vector<Direction>& directions,
                   const Direction& of_others);

// Whether along some mixture of flat directions no row that is on its way out comes back, and some go on.
bool directions_separate(const SubsetRows& rows, const Probabilities& now, const std::vector<Direction>& flat);

// The same along some mixture of all directions that move no row that stays.
bool rows_separate(const SubsetRows& rows, const Probabilities& now);

// Whether a step takes rows that are on their way out farther, none of them back, and moves no other.
bool step_separates(const SubsetRows& rows, const Probabilities& now, const Direction& step);

}  // namespace safdr
