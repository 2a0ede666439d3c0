"""Errors as messages with an exit code."""

from __future__ import annotations

import re

FAILED, WRONG_USAGE = 1, 2

# The options that set parameters of the selector.
OPTION_OF = {
    "sizes": "-k",
    "min_features": "-k",
    "max_features": "-k",
    "feature_cost": "--cost",
    "signs": "--sign",
    "always_include": "--include",
    "groups": "--as-one",
    "at_most_one_of": "--at-most-one-of",
    "points": "--points",
}


class UsageError(Exception):
    """An option has a value that cannot work."""


def explain(error: Exception) -> tuple[str, int]:
    """Return the message of an error and the exit code."""
    from safdr.errors import ParameterError
    from safdr.table.errors import ColumnError, MissingValuesError, TableError
    from safdr.text import one_line

    if isinstance(error, MissingValuesError):
        from safdr.cli.terminal import missing_text

        return missing_text(error.report), FAILED
    if isinstance(error, ModuleNotFoundError):
        return f"This needs {error.name}. Install it: pip install {error.name}.", FAILED
    text = "\n".join(map(one_line, str(error).split("\n")))
    if isinstance(error, UsageError | ColumnError):
        return text, WRONG_USAGE
    if isinstance(error, ParameterError) and error.parameter in OPTION_OF:
        names = re.compile(rf"\b({'|'.join(OPTION_OF)})\b")
        return names.sub(lambda found: OPTION_OF[found[0]], text), WRONG_USAGE
    if isinstance(error, TableError | ValueError | OSError | MemoryError | ImportError):
        return text, FAILED
    return f"Unexpected {type(error).__name__}: {text}. Use --debug for the traceback.", FAILED
