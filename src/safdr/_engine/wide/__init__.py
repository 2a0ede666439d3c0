"""Many columns: a criterion without the products of each with each, and a search that grows."""

# With more columns than this, replicas choose from some of them at a time.
WIDE = 2000
