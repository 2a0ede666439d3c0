"""The paper's experiments and the comparisons with other methods."""
