// Local search: swaps of one group for another, as long as they raise the criterion.
#pragma once

#include <cstdint>

#include "chains/replicas.hpp"
#include "criterion.hpp"

namespace safdr {

// Moves each replica until no swap of one group raises its value.
void local_search(const Criterion& criterion, const Groups& groups, const Replicas& replicas, std::int64_t n_threads);

}  // namespace safdr
