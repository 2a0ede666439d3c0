"""Random tables of every type that Arrow has, as Parquet and Arrow files, whole and damaged."""

from __future__ import annotations

import datetime
import decimal
import io

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

from fuzz.files_text import nasty_text

N_ROWS = 60
DAY = datetime.date(2024, 1, 1)


def random_arrow_table(rng: np.random.Generator) -> pa.Table:
    """A number that is of use, two classes, and columns of any type."""
    y = rng.permutation(N_ROWS) % 2
    columns = {"x": pa.array(rng.normal(size=N_ROWS) + y)}
    for _ in range(rng.integers(1, 6)):
        columns[f"{nasty_text(rng, 3)}{len(columns)}"] = random_array(rng)
    columns["late"] = pa.array(np.where(y, "yes", "no"))
    return pa.table(columns)


def random_array(rng: np.random.Generator) -> pa.Array:
    """An array of a random type, perhaps with gaps, perhaps in another encoding."""
    make = MAKERS[rng.integers(len(MAKERS))]
    n_levels = int(rng.choice([1, 2, 3, N_ROWS]))
    levels = rng.integers(n_levels, size=N_ROWS).tolist()
    gaps = rng.random(N_ROWS) < rng.choice([0.0, 0.0, 0.0, 0.1, 1.0])
    array = make(levels, gaps)
    return _encoded(rng, array) if rng.random() < 0.3 else array


def _values(kind: pa.DataType, value):
    """A maker of arrays whose values are a function of the level."""

    def make(levels, gaps):
        cells = [None if gap else value(i) for i, gap in zip(levels, gaps, strict=True)]
        return pa.array(cells, kind)

    return make


def _stored(kind, storage):
    return lambda levels, gaps: pa.ExtensionArray.from_storage(kind, storage(levels, gaps))


def _union(levels, gaps):
    which = pa.array([i % 2 for i in levels], pa.int8())
    return pa.UnionArray.from_sparse(which, [pa.array(levels), pa.array(list(map(str, levels)))])


def _money(i: int) -> decimal.Decimal:
    return decimal.Decimal(i) / 4


MAKERS = [
    _values(pa.bool_(), lambda i: i % 2 == 0),
    *(_values(kind, lambda i: i) for kind in (pa.int8(), pa.uint16(), pa.int32(), pa.int64())),
    _values(pa.int64(), lambda i: 2**60 + i),
    _values(pa.uint64(), lambda i: 2**64 - 1 - i),
    _values(pa.float16(), lambda i: np.float16(i / 4)),
    _values(pa.float32(), lambda i: i / 7),
    _values(pa.float64(), lambda i: [np.nan, np.inf, -0.0, 1e100, 5e-324][i % 5]),
    _values(pa.float64(), lambda i: [0.0, -0.0][i % 2]),
    *(
        _values(kind, _money)
        for kind in (pa.decimal32(6, 2), pa.decimal64(9, 2), pa.decimal128(30, 2))
    ),
    _values(pa.decimal256(70, 2), _money),
    *(_values(kind, str) for kind in (pa.string(), pa.large_string(), pa.string_view())),
    _values(pa.string(), lambda i: ["", " ", "\x1b[31m", "a\0b", "é" * 50][i % 5]),
    *(
        _values(kind, lambda i: f"{i:04}".encode())
        for kind in (pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(4))
    ),
    *(
        _values(kind, lambda i: DAY + datetime.timedelta(days=i))
        for kind in (pa.date32(), pa.date64())
    ),
    _values(pa.date32(), lambda i: 2**31 - 1 - i),
    *(
        _values(kind, lambda i: i)
        for kind in (pa.time32("s"), pa.time64("ns"), pa.duration("us"), pa.timestamp("ns"))
    ),
    _values(pa.timestamp("us", "Europe/Berlin"), lambda i: i * 10**15),
    _values(pa.timestamp("ms", "No/Where"), lambda i: i),
    _values(pa.timestamp("ms"), lambda i: 2**62 - i),
    _values(pa.month_day_nano_interval(), lambda i: (i, i, i)),
    _values(pa.null(), lambda i: None),
    *(
        _values(kind, lambda i: [i])
        for kind in (
            *(pa.list_(pa.int8()), pa.large_list(pa.int8()), pa.list_(pa.float32(), 1)),
            *(pa.list_view(pa.int8()), pa.large_list_view(pa.int64())),
        )
    ),
    _values(pa.struct({"a": pa.int8(), "b\x1b": pa.string()}), lambda i: {"a": i, "b\x1b": "x"}),
    _values(pa.map_(pa.string(), pa.int64()), lambda i: [("k", i)]),
    _union,
    _stored(pa.bool8(), _values(pa.int8(), lambda i: i % 2)),
    _stored(pa.uuid(), _values(pa.binary(16), lambda i: f"{i:016}".encode())),
    _stored(pa.json_(), _values(pa.string(), lambda i: f"[{i}]")),
    _stored(pa.opaque(pa.int32(), "\x1b[1m", "v"), _values(pa.int32(), lambda i: i)),
]


def _encoded(rng: np.random.Generator, array: pa.Array) -> pa.Array:
    """The same values as a dictionary or as runs, where Arrow can."""
    try:
        if rng.random() < 0.5:
            return array.dictionary_encode()
        ends = pa.array(np.arange(1, len(array) + 1), pa.int32())
        return pa.RunEndEncodedArray.from_arrays(ends, array)
    except (pa.ArrowException, NotImplementedError):
        return array


def random_arrow_file(rng: np.random.Generator, table: pa.Table) -> bytes:
    """The table in one of the formats; what Parquet can't hold goes into an Arrow file."""
    sink = io.BytesIO()
    if rng.random() < 0.5:
        try:
            size = int(rng.choice([7, N_ROWS]))
            packed = str(rng.choice(["none", "snappy", "zstd"]))
            pq.write_table(table, sink, row_group_size=size, compression=packed)
            return sink.getvalue()
        except (pa.ArrowException, NotImplementedError):
            sink = io.BytesIO()
    if rng.random() < 0.5:
        packed = str(rng.choice(["uncompressed", "lz4", "zstd"]))
        feather.write_feather(table, sink, compression=packed, chunksize=int(rng.choice([7, 60])))
        return sink.getvalue()
    with ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def damaged(rng: np.random.Generator, content: bytes) -> bytes:
    """Some bits turned over, or bytes gone; more often near the ends, where the structure is."""
    data = bytearray(content)
    for _ in range(rng.integers(1, 5)):
        place = int(rng.integers(len(data)))
        if rng.random() < 0.5:
            from_end = int(rng.integers(min(len(data), 1500)))
            place = from_end if rng.random() < 0.5 else len(data) - 1 - from_end
        data[place] = rng.choice([0, 255, data[place] ^ (1 << int(rng.integers(8)))])
    if rng.random() < 0.15:
        del data[int(rng.integers(len(data))) :]
    return bytes(data)
