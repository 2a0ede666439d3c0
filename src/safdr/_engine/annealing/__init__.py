"""Replicas, schedule and the annealing loop."""
