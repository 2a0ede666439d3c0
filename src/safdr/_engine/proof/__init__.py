"""Branch and bound on a criterion: the best and the near-optimal subsets of a size."""
