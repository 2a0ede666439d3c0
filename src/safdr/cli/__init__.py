"""The command line; nothing imports it."""

import sys


def main() -> None:
    """Run ``safdr``."""
    try:
        from safdr.cli.root import app
    except ModuleNotFoundError as error:
        if error.name not in ("cyclopts", "rich"):
            raise
        sys.exit(f"The command line needs {error.name}. Install it with: pip install 'safdr[cli]'")
    app()
