"""How good predictions are: arrays of outcomes and predictions become numbers, and nothing else."""
