"""Rows on disk, one small JSON file for each cell.

One file a cell, and not one growing file, since then a rename makes each row appear whole, workers
never write to the same file, and doing a cell again touches no other. Each file carries a checksum
of its row, so that a damaged one is seen even where it still parses.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.errors import CorruptRowError, SettingsError
from experiments.whole_files import remove_stale, write_whole

Row = dict[str, Any]


@dataclass(frozen=True, order=True)
class Cell:
    """What one row is about."""

    data: str
    method: str
    repeat: int

    def __str__(self) -> str:
        return f"{self.data}, {self.method}, repeat {self.repeat}"


@dataclass(frozen=True)
class RowStore:
    """The rows below one folder, as rows/DATA/METHOD/NUMBER.json."""

    folder: Path

    def path(self, cell: Cell) -> Path:
        """Where the row of a cell is, or would be."""
        return self._rows / cell.data / cell.method / f"{cell.repeat:03d}.json"

    @property
    def _rows(self) -> Path:
        return self.folder / "rows"

    def clean_up(self) -> None:
        """Remove the halves of rows that killed runs left behind."""
        remove_stale(self._rows, ".json")

    def remove(self, data: Iterable[str], methods: Iterable[str]) -> None:
        """Forget all rows of these methods on these data sets, so that they are made anew."""
        for name, method in itertools.product(data, methods):
            for path in (self._rows / name / method).glob("*.json"):
                path.unlink()

    def write(self, cell: Cell, settings: Mapping[str, Any], content: Mapping[str, Any]) -> None:
        """Keep a row; what a damaged file held is replaced."""
        row = {
            "data": cell.data,
            "method": cell.method,
            "repeat": cell.repeat,
            "settings": settings,
            **content,
        }
        text = json.dumps({"sha256": _checksum(row), "row": row}, ensure_ascii=False)
        write_whole(self.path(cell), text.encode())

    def read(self, cell: Cell) -> Row | None:
        """The row of a cell; None if it was not made yet."""
        path = self.path(cell)
        return self._read(path) if path.exists() else None

    def read_all(self) -> tuple[list[Row], list[str]]:
        """All rows in the order of their names, and a line for each damaged file."""
        rows, problems = [], []
        for path in sorted(self._rows.glob("*/*/*.json")):
            try:
                rows.append(self._read(path))
            except CorruptRowError as error:
                problems.append(str(error))
        return rows, problems

    def _read(self, path: Path) -> Row:
        """A whole row that is in its place, or an error."""
        try:
            envelope = json.loads(path.read_bytes())
            row: Row = envelope["row"]
            whole = envelope["sha256"] == _checksum(row) and self.path(_cell_of(row)) == path
        except (ValueError, KeyError, TypeError):
            whole = False
        if not whole:
            raise CorruptRowError(
                f"{path} is damaged (cut short, changed or moved); the next run makes it again."
            )
        return row


def _checksum(row: Mapping[str, Any]) -> str:
    text = json.dumps(row, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def check_same_settings(path: Path, row: Row, settings: Mapping[str, Any]) -> None:
    """Refuse a row that was made with other settings."""
    # Through JSON, as the row went: a tuple there is a list here.
    differences = _differences(row["settings"], json.loads(json.dumps(settings)))
    if differences:
        raise SettingsError(
            f"{path} was made with other settings: {'; '.join(differences)}. Rows are never "
            "mixed. Give the settings of those rows, or another folder with --out."
        )


def check_comparable(rows: Iterable[Row]) -> None:
    """Refuse rows that can't stand in one table.

    Rows of one method must share its settings; rows of one data set must share its values and the
    protocol. Data sets may differ in the protocol: a large one is scanned to larger sizes.
    """
    first_of: dict[tuple[str, str], Row] = {}
    for row in rows:
        settings = row["settings"]
        scopes: dict[tuple[str, str], dict[str, Any]] = {
            ("data", row["data"]): {key: settings[key] for key in ("protocol", "data")},
            ("method", row["method"]): {"method": settings["method"]},
        }
        for scope, wanted in scopes.items():
            first = first_of.setdefault(scope, row)
            differences = _differences({key: first["settings"][key] for key in wanted}, wanted)
            if differences:
                raise SettingsError(
                    f"The rows of {_cell_of(first)} and {_cell_of(row)} were made with different "
                    f"settings: {'; '.join(differences)}. Move one kind to another folder."
                )


def _cell_of(row: Row) -> Cell:
    return Cell(row["data"], row["method"], row["repeat"])


def _differences(one: Any, other: Any, name: str = "") -> list[str]:
    """What differs between two nested settings, in words."""
    if isinstance(one, dict) and isinstance(other, dict):
        return [
            line
            for key in sorted(one.keys() | other.keys())
            for line in _differences(one.get(key), other.get(key), f"{name}.{key}".strip("."))
        ]
    return [] if one == other else [f"{name} {one!r} there, {other!r} here"]
