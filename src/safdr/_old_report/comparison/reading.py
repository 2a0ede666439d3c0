"""Result files, as `safdr select --out` writes them; or an error that says what is wrong."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safdr._old_report.content import SCHEMA_VERSION

# What a comparison reads, and of which kind it is.
NEEDED: dict[str, type | tuple[type, ...]] = {
    "title": str,
    "created": str,
    "task": str,
    "target": dict,
    "rows": dict,
    "n_features": int,
    "features": list,
    "size": dict,
    "scores": dict,
    "settings": dict,
    "versions": dict,
    "data_fingerprint": str,
}
OF_FEATURES = ("name", "group", "strength", "standardised_coefficient", "standardised_coefficients")
HOW = "Results are what safdr select --out FILE (or --json) writes."
# Of results; larger files are something else, and would fill the memory.
LARGEST = 200_000_000


class ResultFileError(Exception):
    """A file holds no result that can be compared."""


def read_result(path: Path) -> dict[str, Any]:
    """The result in a file."""
    try:
        if path.stat().st_size > LARGEST:
            raise ResultFileError(f"{str(path)!r} is too large for a result. {HOW}")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ResultFileError(f"{str(path)!r} can't be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise ResultFileError(f"{str(path)!r} is no text, so it is no result. {HOW}") from None
    try:
        content = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        where = f" in line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise ResultFileError(
            f"{str(path)!r} is no JSON, or damaged{where}. {HOW} Make it again."
        ) from None
    return _checked(path, content)


def _refuse(constant: str) -> None:
    """What JSON has no word for."""
    raise ValueError(f"{constant} is no number")


def _checked(path: Path, content: Any) -> dict[str, Any]:
    """Refuse what is no result, of another version, or incomplete."""
    if not isinstance(content, dict) or "schema_version" not in content:
        raise ResultFileError(f"{str(path)!r} is JSON, but no result. {HOW}")
    version = content["schema_version"]
    if version != SCHEMA_VERSION:
        versions = content.get("versions")
        made_by = versions.get("safdr") if isinstance(versions, dict) else None
        said = f" (made by safdr {made_by})" if isinstance(made_by, str) else ""
        raise ResultFileError(
            f"{str(path)!r} is a result of version {version!r}{said}, and this safdr reads version "
            f"{SCHEMA_VERSION}. Make it again, or use the safdr that made it."
        )
    wrong = [key for key, kind in NEEDED.items() if not isinstance(content.get(key), kind)]
    wrong = wrong or _wrong_within(content)
    if wrong:
        raise ResultFileError(
            f"{str(path)!r} is a damaged result: {', '.join(map(repr, wrong))} is missing or not "
            "what it should be. Make it again."
        )
    return content


def _wrong_within(content: Mapping[str, Any]) -> list[str]:
    """Parts whose own parts are not there."""
    parts = {
        "target": {"name", "classes"},
        "rows": {"train", "test"},
        "size": {"chosen"},
        "scores": {"scoring", "validation", "test"},
    }
    wrong = [key for key, names in parts.items() if not names <= set(content[key])]
    features = content["features"]
    if not all(isinstance(each, dict) and set(OF_FEATURES) <= set(each) for each in features):
        wrong.append("features")
    return wrong
