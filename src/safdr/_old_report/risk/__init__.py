"""What model validation asks of the model: all of it on rows that did not choose it."""
