"""The command line run in this process, and a small table to run it on."""

import pytest

from helpers.cli import columns, ended, safdr, select, select_two, write

__all__ = ["columns", "ended", "safdr", "select", "select_two", "write"]

pytest.importorskip("cyclopts")
pytest.importorskip("rich")
pytest.importorskip("pyarrow")
