"""What is wrong with the words of a command line, and how to write them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from cyclopts import CycloptsError, UnknownOptionError, UnusedCliTokensError

from safdr.errors import meant

# Options that take one value at a time, and may be repeated.
REPEATED = (
    *("--drop", "--id", "--keep", "--number", "--categorical", "--text", "--na", "--time"),
    *("--always-include", "--never-include", "--group", "--at-most-one-of", "--cost", "--export"),
    "--sign",
)

# Of these, options whose value is several names.
WITH_COMMAS = ("--group", "--at-most-one-of")


def explain_usage(error: CycloptsError, arguments: Sequence[str]) -> str:
    """Say what is wrong."""
    if isinstance(error, UnknownOptionError):
        return _unknown(error)
    if not isinstance(error, UnusedCliTokensError) or not error.unused_tokens:
        return str(error)
    unused = error.unused_tokens[0]
    before = list(arguments[: arguments.index(unused)]) if unused in arguments else []
    options = [i for i, word in enumerate(before) if word.startswith("-")]
    if options and before[options[-1]] in REPEATED:
        option, *values = before[options[-1] :]
        if option in WITH_COMMAS:
            return f"{option} takes names set apart by commas, so {unused!r} is left over."
        repeated = " ".join(f"{option} {shlex.quote(value)}" for value in (*values, unused))
        return f"{option} takes one value at a time, so {unused!r} is left over. Use: {repeated}"
    return f"{unused!r} is left over: it belongs to no option, and the command takes one file."


def _unknown(error: UnknownOptionError) -> str:
    """Name the option that this one is a slip of, if it is one."""
    name = (error.token.keyword or error.token.value).partition("=")[0]
    known = {_bare(each): each for option in error.argument_collection for each in option.names}
    near = meant(_bare(name), known)
    guess = "" if near is None else f" Did you mean {known[near]}?"
    return f"Unknown option: {name}.{guess} safdr select --help-all shows all."


def _bare(option: str) -> str:
    return option.lstrip("-")
