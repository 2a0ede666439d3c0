"""Methods at equal k: who chooses the better features, where all choose as many of them."""
