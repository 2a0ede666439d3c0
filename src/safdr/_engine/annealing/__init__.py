"""Replicas, and the loop that cools them."""
