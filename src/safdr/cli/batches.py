"""Parquet tables bigger than memory: learnt on a sample of the rows, encoded batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from safdr._memory import available_memory
from safdr.sources import Source, SourceError, open_source
from safdr.table.missing import complete_rows
from safdr.table.split import Since, latest, row_weights
from safdr.table.types import decode_table

if TYPE_CHECKING:
    import pyarrow as pa

    from safdr.table.encoder import TableEncoder
    from safdr.table.target import Target

# Memory at the peak for each byte of values, measured on a million rows of 60 numbers: the file,
# the table, its two parts, their doubles, and standardised columns. Others need memory too.
PEAK, SHARE = 6, 0.5
# Rows of the sample.
SAMPLE_ROWS = 200_000
# Random streams: which rows are held out, which are sampled.
FOR_TEST, FOR_SAMPLE = 1, 2
# Names of encoded columns beside x0, x1, ..., which are those of arrays.
TARGET, WEIGHT = "target", "weight"


@dataclass(frozen=True)
class BigTable:
    """A Parquet file or folder that is read in batches."""

    source: Source
    n_rows: int

    @property
    def column_names(self) -> list[str]:
        """Return the names of the columns."""
        names: list[str] = self.source.schema.names
        return names

    def sample(
        self, test_size: float, time: str | None, seed: int
    ) -> tuple[pa.Table, NDArray[np.bool_], Since | None]:
        """Return random rows, which of them are held out, and from which time on."""
        import pyarrow as pa

        tables, held_out, start = [], [], 0
        for table in self.source.tables(self.column_names):
            rows = _draws(seed, FOR_SAMPLE, start, table.num_rows) < SAMPLE_ROWS / self.n_rows
            tables.append(table.filter(rows))
            held_out.append(_draws(seed, FOR_TEST, start, table.num_rows)[rows] < test_size)
            start += table.num_rows
        sample = decode_table(pa.concat_tables(tables))
        if time is None:
            return sample, np.concatenate(held_out), None
        since = latest(sample, time, test_size)
        return sample, since.rows(sample), since


def open_big(path: str) -> BigTable | None:
    """Return a Parquet file or folder that does not fit comfortably in memory, else None."""
    if not _is_parquet(Path(path)):
        return None
    import pyarrow.parquet as pq

    try:
        source = open_source(path)
        files = [Path(path)] if Path(path).is_file() else sorted(Path(path).rglob("*.parquet"))
        all_metadata = [pq.read_metadata(file) for file in files]
    except (SourceError, OSError, ValueError):
        # read_table says what is wrong.
        return None
    n_rows = sum(each.num_rows for each in all_metadata)
    groups = [each.row_group(i) for each in all_metadata for i in range(each.num_row_groups)]
    n_bytes = sum(group.total_byte_size for group in groups)
    if n_rows <= SAMPLE_ROWS or n_bytes * PEAK <= available_memory() * SHARE:
        return None
    return BigTable(source, n_rows)


def _is_parquet(path: Path) -> bool:
    if not path.is_file():
        return path.is_dir()
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"


def _draws(seed: int, stream: int, start: int, n_rows: int) -> NDArray[np.float64]:
    """Return random numbers of rows: a function of the seed and their positions."""
    bits = np.random.PCG64([seed, stream]).advance(start)
    return np.random.Generator(bits).random(n_rows)


@dataclass(eq=False)
class TrainingBatches:
    """The training rows of a bigger table, encoded; call it to begin a pass."""

    table: BigTable
    encoder: TableEncoder
    target: Target
    since: Since | None
    weight: str | None
    test_size: float
    seed: int
    drop_rows: bool
    # Rows of the last pass: of training, held out.
    n_rows: list[int] = field(default_factory=lambda: [0, 0])

    def __call__(self) -> Iterator[pa.Table]:
        """Read all rows once."""
        start, self.n_rows = 0, [0, 0]
        for table in self.table.source.tables(self._columns()):
            batch = decode_table(table)
            held_out = self._held_out(batch, start)
            start += batch.num_rows
            usable = self._usable(batch)
            self.n_rows[0] += int((usable & ~held_out).sum())
            self.n_rows[1] += int((usable & held_out).sum())
            yield self._encode(batch.filter(usable & ~held_out))

    def _columns(self) -> list[str]:
        used = [each["column"] for each in self.encoder.terms()]
        others = [self.target.name, self.weight, self.since.column if self.since else None]
        return list(dict.fromkeys([*used, *(name for name in others if name is not None)]))

    def _held_out(self, batch: pa.Table, start: int) -> NDArray[np.bool_]:
        if self.since is not None:
            return self.since.rows(batch)
        return _draws(self.seed, FOR_TEST, start, batch.num_rows) < self.test_size

    def _usable(self, batch: pa.Table) -> NDArray[np.bool_]:
        """Return rows with a target and, if others are dropped, with all values."""
        columns = [self.target.column.read(batch.column(self.target.name))]
        if self.drop_rows:
            columns += self.encoder.read(batch).values()
        return complete_rows(columns, batch.num_rows)

    def _encode(self, batch: pa.Table) -> pa.Table:
        import pyarrow as pa

        encoded = self.encoder.transform(batch)
        values: dict[str, Any] = {f"x{j}": each for j, each in enumerate(encoded.T)}
        values[TARGET] = self.target.read(batch.column(self.target.name))
        if self.weight is not None:
            values[WEIGHT] = row_weights(batch, self.weight)
        return pa.table(values)
