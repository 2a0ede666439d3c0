"""Side-by-side timings: contestants take turns in one run, and ratios of medians are kept."""
