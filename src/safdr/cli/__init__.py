"""The command line; nothing imports it."""

from __future__ import annotations

import codecs
import os
import signal
import sys
import unicodedata
from collections.abc import Sequence
from importlib import import_module
from typing import Any

# Exit codes. Python itself ends with 130 and 143 after these signals only from a shell.
FAILED, INTERRUPTED, TERMINATED = 1, 130, 143
# For terminals that are not UTF-8.
PLAIN = {"−": "-", "×": "x", "±": "+/-", "█": "#", "…": "...", "→": "->", "–": "-", "€": "EUR"}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run ``safdr``."""
    given = [str(each) for each in (sys.argv[1:] if arguments is None else arguments)]
    _make_printable()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    command = given[0] if given else ""
    try:
        from safdr.cli.app import parse

        options = parse(given)
        import_module(f"safdr.cli.{command}").run(options)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader, such as head, has closed the pipe; later output must go somewhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(FAILED)
    except KeyboardInterrupt:
        _end(command, "Interrupted. No file is half written.", INTERRUPTED)
    except Exception as error:
        if "--debug" in given:
            raise
        from safdr.cli.errors import explain

        _end(command, *explain(error))


def _end(command: str, text: str, code: int) -> None:
    print(f"safdr {command}: {text}", file=sys.stderr)
    sys.exit(code)


def _make_printable() -> None:
    """Print what the encoding of the terminal lacks in plain characters."""
    codecs.register_error("plain", _plain)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="plain")


def _plain(error: Any) -> tuple[str, int]:
    found = error.object[error.start : error.end]
    # R^2 and 10^-5.
    power = "^" if unicodedata.category(found[0]) == "No" or found[0] == "⁻" else ""
    text = unicodedata.normalize("NFKC", "".join(PLAIN.get(each, each) for each in found))
    plain = "".join(PLAIN.get(each, each) for each in text)
    return power + plain.encode("ascii", "replace").decode(), error.end
