"""What can go wrong in a way that the user can mend; the message says how."""


class PaperError(Exception):
    """Base of the errors that the command line prints without a traceback."""

    exit_code = 1


class UsageError(PaperError):
    """An option has a value that makes no sense."""

    exit_code = 2


class MethodError(UsageError):
    """A method is unknown, misspelled or not installed."""


class DataError(PaperError):
    """A data file is missing, damaged or not what it should be."""


class UnknownDataError(DataError, UsageError):
    """No data set has this name."""

    exit_code = UsageError.exit_code


class SettingsError(PaperError):
    """Rows of different settings met."""


class CorruptRowError(PaperError):
    """A row file is cut short or was changed."""


class WorkerError(PaperError):
    """A worker process was killed."""
