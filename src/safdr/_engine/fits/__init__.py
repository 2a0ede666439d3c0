"""Models fitted on candidate subsets: columns, shortlist, and one module a model."""
