"""Errors that the command prints without a traceback."""


class ExperimentError(Exception):
    """A data file, a name or an option is wrong; the message says what to do."""
