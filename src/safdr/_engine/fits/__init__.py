"""Models fitted on candidate subsets: columns, fitters and families."""
