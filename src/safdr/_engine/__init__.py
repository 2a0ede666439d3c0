"""Arrays to answers: moments, criterion, annealing, fits. Knows NumPy, SciPy and the core."""
