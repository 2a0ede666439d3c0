"""The search on a torch device, such as a GPU, which moves all replicas at once."""
