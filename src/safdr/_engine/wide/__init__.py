"""Many columns: a criterion whose matrix A is never formed."""

# With more columns than this, A is formed for the screened columns only.
WIDE = 2000
