"""The search on a device of torch's, such as a GPU, where all replicas move at once."""
