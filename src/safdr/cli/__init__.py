"""The command line; nothing imports it."""

import os
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Run ``safdr``."""
    try:
        from cyclopts import CycloptsError, CycloptsPanel
        from rich.console import Console

        from safdr.cli.root import app
        from safdr.cli.stopping import stop_on_sigterm
        from safdr.cli.usage import explain_usage
        from safdr.cli.words import printable_lines
    except ModuleNotFoundError as error:
        if error.name not in ("cyclopts", "rich"):
            raise
        sys.exit(f"The command line needs {error.name}. Install it with: pip install 'safdr[cli]'")
    words = sys.argv[1:] if arguments is None else list(arguments)
    try:
        with stop_on_sigterm():
            app(words, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        text = printable_lines(explain_usage(error, words))
        Console(stderr=True).print(CycloptsPanel(text))
        # Not all versions end with the code of wrong usage.
        sys.exit(2)
    except BrokenPipeError:
        # The reader, such as head, has seen enough. What is left to flush must go somewhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
