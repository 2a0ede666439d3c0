"""Rows on disk, one small JSON file for each cell.

One file a cell, and not one growing file, since then a rename makes each row appear whole, workers
never write to the same file, and doing a cell again touches no other. Each row carries a checksum,
so that a damaged one is seen even where it still parses. `pack` merges the files of a data set and
a method into one file with a line for each row, to be kept.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
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
    """The rows below one folder, as rows/DATA/METHOD/NUMBER.json or lines of DATA/METHOD.jsonl.

    A row in a file of its own is newer than a line.
    """

    folder: Path

    def path(self, cell: Cell) -> Path:
        """Where the row of a cell is, or would be."""
        return self._rows / cell.data / cell.method / f"{cell.repeat:03d}.json"

    def packed_path(self, data: str, method: str) -> Path:
        """Return where the packed rows of a method are, or would be."""
        return self._rows / data / f"{method}.jsonl"

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
            self.packed_path(name, method).unlink(missing_ok=True)

    def pack(self) -> None:
        """Merge the rows of each data set and method into one file; damaged rows stay outside."""
        for folder in sorted(path for path in self._rows.glob("*/*") if path.is_dir()):
            self._pack(folder, self.packed_path(folder.parent.name, folder.name))

    def _pack(self, folder: Path, packed: Path) -> None:
        lines = {row["repeat"]: row for _, row in _lines(packed) if row is not None}
        merged = []
        for path in folder.glob("*.json"):
            with suppress(CorruptRowError):
                row = self._read(path)
                lines[row["repeat"]] = row
                merged.append(path)
        if merged:
            text = "".join(f"{_envelope(lines[repeat])}\n" for repeat in sorted(lines))
            write_whole(packed, text.encode())
        for path in merged:
            path.unlink()
        if not any(folder.iterdir()):
            folder.rmdir()

    def write(self, cell: Cell, settings: Mapping[str, Any], content: Mapping[str, Any]) -> None:
        """Keep a row; what a damaged file held is replaced."""
        row = {
            "data": cell.data,
            "method": cell.method,
            "repeat": cell.repeat,
            "settings": settings,
            **content,
        }
        write_whole(self.path(cell), _envelope(row).encode())

    def read(self, cell: Cell) -> Row | None:
        """The row of a cell; None if it was not made yet."""
        path = self.path(cell)
        if path.exists():
            return self._read(path)
        packed = _lines(self.packed_path(cell.data, cell.method))
        return next((row for _, row in packed if row and _cell_of(row) == cell), None)

    def read_all(self) -> tuple[list[Row], list[str]]:
        """All rows in the order of their names, and a line for each damaged file."""
        rows: dict[Cell, Row] = {}
        problems = []
        for path in sorted(self._rows.glob("*/*.jsonl")):
            for number, row in _lines(path):
                if row is None or self.packed_path(row["data"], row["method"]) != path:
                    problems.append(_damaged(f"Line {number} of {path}"))
                else:
                    rows[_cell_of(row)] = row
        for path in sorted(self._rows.glob("*/*/*.json")):
            try:
                row = self._read(path)
                rows[_cell_of(row)] = row
            except CorruptRowError as error:
                problems.append(str(error))
        return [rows[cell] for cell in sorted(rows)], problems

    def _read(self, path: Path) -> Row:
        """A whole row that is in its place, or an error."""
        row = _row_of(path.read_bytes())
        if row is None or self.path(_cell_of(row)) != path:
            raise CorruptRowError(_damaged(str(path)))
        return row


def _damaged(where: str) -> str:
    return f"{where} is damaged (cut short, changed or moved); the next run makes it again."


def _envelope(row: Row) -> str:
    return json.dumps({"sha256": _checksum(row), "row": row}, ensure_ascii=False)


def _row_of(text: bytes) -> Row | None:
    """Return the row in an envelope; None if it is damaged."""
    try:
        envelope = json.loads(text)
        row: Row = envelope["row"]
        whole = envelope["sha256"] == _checksum(row)
        _cell_of(row)
    except (ValueError, KeyError, TypeError):
        return None
    return row if whole else None


def _lines(path: Path) -> Iterator[tuple[int, Row | None]]:
    """Yield the number and the row of each line of a packed file; None for a damaged row."""
    if path.exists():
        about = path.stat()
        version = (about.st_ino, about.st_mtime_ns, about.st_size)
        yield from enumerate(_parsed(path, version), start=1)


@lru_cache(maxsize=16)
def _parsed(path: Path, version: tuple[int, ...]) -> list[Row | None]:
    del version
    return [_row_of(line) for line in path.read_bytes().splitlines()]


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
