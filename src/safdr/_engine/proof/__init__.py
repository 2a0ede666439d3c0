"""Branch and bound on a criterion: the best subset of a size, and all that come near it."""
