"""Packages that only some tests need."""

import importlib
import os

import pytest


def optional(name):
    """Import a module, or skip the test; fail if SAFDR_REQUIRE_ALL is set."""
    if os.environ.get("SAFDR_REQUIRE_ALL"):
        return importlib.import_module(name)
    return pytest.importorskip(name)
