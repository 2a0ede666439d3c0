"""Errors for people: what is wrong, what to do next, and an exit code; no traceback."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

FAILED, WRONG_USAGE, STOPPED = 1, 2, 130

# What sets each parameter of the selector.
OPTION_OF = {
    "min_features": "-k",
    "max_features": "--k-max",
    "n_features_to_select": "-k",
    "random_state": "--seed",
    "n_jobs": "--jobs",
    "feature_cost": "--cost",
    "signs": "--sign",
    # A category is a group that nobody asked for.
    "groups": "grouped columns",
    **{
        name: f"--{name.replace('_', '-')}"
        for name in (
            *("always_include", "never_include", "at_most_one_of", "cost_strength", "class_weight"),
            *("prove", "rule", "tolerance", "pdo", "base_points", "base_odds"),
        )
    },
}
# What to do next, by the kind of error, in words of the command line.
NEXT_STEP = {
    "DuplicateColumnsError": "Rename them, or leave them out with --drop NAME.",
    "ManyLabelsError": "Up to 50 are classes if you say so, with --task classification; text of "
    "which most is numbers is read as such with --number NAME.",
    "NoClassesError": "Leave out --positive; or, up to 50 values, say --task classification.",
    "OneClassError": "Take more rows, or another --target.",
    "RareClassError": "Take more rows, join it with another class, or leave its rows out; if the "
    "numbers are a quantity, say --task regression.",
    "TaskError": "Leave out --task, or name another --target.",
}
WRONG_CHOICES = {
    "UnknownColumnError",
    "ColumnUseError",
    "UnknownLabelError",
    "TaskError",
    "NoClassesError",
}


class UsageError(Exception):
    """An option has a value that makes no sense."""


@contextmanager
def clear_errors(debug: bool, command: str = "select") -> Iterator[None]:
    """End the program as the error asks for; with `debug`, let it through."""
    try:
        yield
    except KeyboardInterrupt as stop:
        # A proof that was under way tells the bound so far.
        notes = getattr(stop, "__notes__", [])
        _end(command, "\n".join(["Stopped. No file is half written.", *notes]), STOPPED)
    except BrokenPipeError:
        raise
    except Exception as error:
        if debug:
            raise
        _end(command, *_told(error))


def _told(error: Exception) -> tuple[str, int]:
    """What to say, and the exit code."""
    from safdr.errors import ParameterError
    from safdr._old_export.errors import ExportError
    from safdr._old_table.errors import ClassLostError, MissingValuesError, TableError

    if isinstance(error, MissingValuesError | ClassLostError):
        from safdr.cli.gaps import print_gaps

        print_gaps(str(error), error.report, getattr(error, "notes", ()))
        sys.exit(FAILED)
    if isinstance(error, TableError):
        from safdr.cli.words import printable

        kind = type(error).__name__
        # One line, even where the name of a file holds more.
        text = f"{printable(error)} {NEXT_STEP.get(kind, '')}".strip()
        return text, WRONG_USAGE if kind in WRONG_CHOICES else FAILED
    if isinstance(error, UsageError):
        return str(error), WRONG_USAGE
    if isinstance(error, ParameterError) and error.parameter in OPTION_OF:
        return error.in_words(OPTION_OF), WRONG_USAGE
    if isinstance(error, ExportError | MemoryError | OSError | ValueError):
        return str(error), FAILED
    return f"Unexpected: {type(error).__name__}: {error}\nShow more with --debug.", FAILED


def _end(command: str, text: str, code: int) -> None:
    """Print a message, from which no text of a file reaches the terminal as a command to it."""
    from safdr.cli.words import printable_lines

    print(f"safdr {command}: {printable_lines(text)}", file=sys.stderr)
    sys.exit(code)
