"""Side-by-side measurements of safdr and its peers."""
