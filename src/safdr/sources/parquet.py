"""A Parquet file, or a folder of them, as one table that is read a few rows at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from safdr.sources.arrow import schema_of
from safdr.sources.errors import SourceError, require
from safdr.sources.local import MOST_ROWS, LocalSource, View
from safdr.sources.parquet_part import ParquetPart, one_line, unreadable

# Other files of a folder are none of the table.
NAMES = (".parquet", ".parq", ".pq")
# s3://bucket/key, also where a Path has made one slash of two; C:/folder is none.
ADDRESS = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]+:/")


def check_local(path: str | Path) -> None:
    """Refuse addresses, such as those of buckets."""
    if ADDRESS.match(str(path)) and not Path(path).exists():
        raise SourceError(
            f"{str(path)!r} is an address: only local paths are taken. Copy the files; or, in "
            "Python, pass a pyarrow dataset of them, made by pyarrow.dataset.dataset(address)."
        )


class ParquetFiles:
    """A Parquet file, or a folder of them, whose folders may name partitions (hive)."""

    def __init__(self, path: str | Path) -> None:
        require("pyarrow", "big", "Reading Parquet in passes")
        import pyarrow as pa

        self.name = str(path)
        check_local(path)
        if not Path(path).exists():
            raise SourceError(f"There is no file or folder {self.name!r}.")
        files = self._files()
        try:
            self._check_names(files[0])
        except (pa.ArrowException, OSError) as error:
            raise unreadable(error, files[0]) from None
        try:
            self._dataset = self._opened(files)
            self._fragments = list(self._dataset.get_fragments())
            self._parts = _parts(self._fragments, self._dataset.schema)
        except (pa.ArrowException, OSError) as error:
            said = one_line(error)
            raise SourceError(f"{self.name!r} can't be read as one table: {said}.") from None
        self.schema = schema_of(self._dataset.schema.empty_table())
        self._seen = self._looks()

    def _files(self) -> list[str]:
        """The file; or those of the folder, in order."""
        from pyarrow import fs

        folder = Path(self.name)
        if not folder.is_dir():
            return [folder.as_posix()]
        found = fs.LocalFileSystem().get_file_info(
            fs.FileSelector(folder.as_posix(), recursive=True)
        )
        paths = [each.path for each in found if each.path.lower().endswith(NAMES) and each.is_file]
        # As Arrow does: such names are of what programs keep for themselves.
        own = [
            p for p in paths if not re.search(r"(^|/)[._]", Path(p).relative_to(folder).as_posix())
        ]
        if not own:
            raise SourceError(
                f"The folder {self.name!r} holds no Parquet file: no name ends in "
                f"{', '.join(NAMES[:-1])} or {NAMES[-1]}."
            )
        return sorted(own)

    def _opened(self, files: list[str]) -> Any:
        """All files as one, with the columns that the names of folders give."""
        import pyarrow.dataset as ds
        from pyarrow import fs

        path = Path(self.name)
        options = ds.FileSystemFactoryOptions(
            partitioning=ds.HivePartitioning.discover(),
            partition_base_dir=path.as_posix() if path.is_dir() else None,
        )
        kind = ds.ParquetFileFormat()
        return ds.FileSystemDatasetFactory(fs.LocalFileSystem(), files, kind, options).finish()

    def _check_names(self, path: str) -> None:
        """Refuse columns that share a name, of which datasets say something else."""
        import pyarrow.parquet as pq

        names = pq.read_schema(path).names
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise SourceError(
                f"{path!r} has several columns called {twice!r}. Rename them, so that they "
                "can be told apart."
            )

    def source(self, *, sample_rows: int, view: View | None = None) -> LocalSource:
        """The source of all columns, or of what a view makes of them."""
        rows = self if view is None else view.of(self, 0)
        return LocalSource(
            self.name,
            self.schema if view is None else view.schema,
            rows.tables,
            sample_rows=sample_rows,
            check=self.check,
            n_rows=self.n_rows() if view is None else view.n_rows,
        )

    def parts(self) -> list[tuple[ParquetPart, int]]:
        """Parts of files, in order, each with the number of its rows."""
        pairs = zip(self._parts, self._fragments, strict=True)
        return [each for file, fragment in pairs for each in file.cut(fragment.row_groups)]

    def n_rows(self) -> int:
        """Number of rows, as the files say."""
        return int(self._dataset.count_rows())

    def n_bytes(self) -> int:
        """Size of the values before they were compressed, and at least eight bytes each."""
        groups = (group for fragment in self._fragments for group in fragment.row_groups)
        written = sum(int(group.total_byte_size) for group in groups)
        # Values that repeat are written once, but read as many times as they occur.
        return max(written, 8 * len(self.schema) * self.n_rows())

    def read(self) -> Any:
        """All rows as one table."""
        import pyarrow as pa

        self.check()
        tables = list(self.tables(list(self.schema), MOST_ROWS))
        self.check()
        return pa.concat_tables(tables) if tables else self._dataset.schema.empty_table()

    def check(self) -> None:
        """Refuse files that have changed since they were first looked at."""
        now = self._looks()
        for path, look in self._seen.items():
            if now[path] != look:
                raise SourceError(
                    f"{path!r} has changed while it was read: start again once it is whole."
                )

    def _looks(self) -> dict[str, Any]:
        """Size and time of each file."""
        looks: dict[str, Any] = {}
        for fragment in self._fragments:
            try:
                stat = Path(fragment.path).stat()
                looks[fragment.path] = (stat.st_size, stat.st_mtime_ns)
            except OSError:
                looks[fragment.path] = None
        return looks

    def tables(self, columns: list[str], n_rows: int) -> Iterator[Any]:
        """Tables of at most so many rows, file by file."""
        for file in self._parts:
            yield from file.tables(columns, n_rows)


def _parts(fragments: list[Any], schema: Any) -> list[ParquetPart]:
    """Whole files."""
    import pyarrow.dataset as ds

    return [
        ParquetPart(
            each.path,
            ds.get_partition_keys(each.partition_expression),
            schema,
            fragments[0].path,
        )
        for each in fragments
    ]


def dataset_files(dataset: Any) -> list[ParquetPart] | None:
    """Local Parquet files of a pyarrow dataset; None where it has others, or a filter."""
    import pyarrow.dataset as ds
    from pyarrow import fs

    if not isinstance(dataset, ds.FileSystemDataset) or not isinstance(
        dataset.format, ds.ParquetFileFormat
    ):
        return None
    try:
        fragments = list(dataset.get_fragments())
    except ValueError:
        return None  # which rows a filter leaves is known to the scanner alone
    if not fragments or not isinstance(dataset.filesystem, fs.LocalFileSystem):
        return None
    parts = _parts(fragments, dataset.schema)
    groups = [[group.id for group in each.row_groups] for each in fragments]
    return [replace(part, row_groups=some) for part, some in zip(parts, groups, strict=True)]
