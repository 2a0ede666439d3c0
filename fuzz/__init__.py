"""Random inputs, each checked by something slower and simpler than what it is given to."""
