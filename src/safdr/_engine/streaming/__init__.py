"""What is learnt from rows that pass by in chunks: a sample, exact models, scores."""
