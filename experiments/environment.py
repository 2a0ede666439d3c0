"""What a row was made with: versions, and a checksum of the engine."""

from __future__ import annotations

import hashlib
import platform
import sys
from collections.abc import Iterable
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import safdr
from experiments.store import Row

# Folders of the package that show results and have no part in them.
READERS = {"cli", "display", "export", "report", "table", "testing"}
PACKAGES = ("safdr", "numpy", "scikit-learn", "abess")


def environment() -> dict[str, str]:
    """Versions that a row was made with, for the record; they don't tell rows apart."""
    found = {
        "python": platform.python_version(),
        "platform": f"{sys.platform} {platform.machine()}",
    }
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return {**found, "engine": _engine()}


@lru_cache(maxsize=1)
def _engine() -> str:
    """Checksum of the code that searches and fits: versions stay the same while it is worked on."""
    core = find_spec("safdr._core")
    package = Path(safdr.__file__).parent
    paths = sorted(
        p for p in package.rglob("*.py") if p.relative_to(package).parts[0] not in READERS
    )
    if core is not None and core.origin is not None:
        paths.append(Path(core.origin))
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def mixed_engines(rows: Iterable[Row], method: str = "sa-fdr") -> str | None:
    """Say which versions of the engine made the rows of SA-FDR, if it was more than one.

    The other methods owe it their unpenalised refits alone.
    """
    made_with = [row.get("environment", {}) for row in rows if row["method"].startswith(method)]
    names = [
        f"{e.get('safdr', 'unknown')} (engine {e.get('engine', 'unknown')})" for e in made_with
    ]
    kinds = sorted(set(names))
    if len(kinds) < 2:
        return None
    listed = ", ".join(f"{names.count(kind)} with {kind}" for kind in kinds)
    return f"Warning: the rows were made with different versions of safdr: {listed}."
