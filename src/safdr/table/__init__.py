"""Tables as files and data frames hold them become columns of numbers."""
