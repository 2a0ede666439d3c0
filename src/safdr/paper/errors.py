"""What can go wrong in a way that the user can mend; the message says how."""


class PaperError(Exception):
    """Base of the errors that the command line prints without a traceback."""


class DataError(PaperError):
    """A data file is missing, damaged or not what it should be."""


class MethodError(PaperError):
    """A method is unknown, misspelled or not installed."""


class SettingsError(PaperError):
    """Rows of different settings met."""


class CorruptRowError(PaperError):
    """A row file is cut short or was changed."""
