"""The engine on arrays: moments, criterion, annealing, fits. Imports NumPy, SciPy and the core."""
