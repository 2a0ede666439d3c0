"""What was computed is written, whatever becomes of an export."""

import json

import numpy as np


def test_a_failed_export_takes_nothing_else_with_it(select, write, columns, tmp_path):
    columns["height\0"] = columns.pop("height")
    files = {name: tmp_path / name for name in ("r.html", "r.json", "m.sql", "m.py")}
    options = ["--report", files["r.html"], "--out", files["r.json"]]
    options += ["--export", files["m.sql"], "--export", files["m.py"]]
    ran = select(write(columns), "-t", "late", "-k", 4, *options, "--json", code=1)
    assert f"{str(files['m.sql'])!r} is not written: " in ran.err
    assert "zero character" in ran.err
    written = sorted(path.name for path in tmp_path.iterdir())
    assert written == ["loans.parquet", "m.py", "r.html", "r.json"]
    assert json.loads(files["r.json"].read_text()) == ran.json


def test_each_failed_export_is_told(select, write, columns, tmp_path):
    columns[""] = columns.pop("height")
    options = [part for name in ("m.sql", "m.py") for part in ("--export", tmp_path / name)]
    ran = select(write(columns), "-t", "late", "-k", 4, *options, code=1)
    assert ran.err.count("is not written: A chosen feature comes from a column without a name") == 2
    assert "m.sql" in ran.err
    assert "m.py" in ran.err
    # The answer itself is there.
    assert "weight" in ran.out


def test_a_unix_time_is_exported(select, write, columns, tmp_path):
    rng = np.random.default_rng(3)
    is_late = np.array(columns["late"]) == "yes"
    columns["time"] = (1.7e9 + rng.uniform(0, 30, len(is_late)) + 9 * is_late).tolist()
    exports = [tmp_path / f"m.{ending}" for ending in ("py", "sql")]
    options = [part for path in exports for part in ("--export", path)]
    select(write(columns), "-t", "late", "-k", 2, "--always-include", "time", *options)
    assert all(path.exists() for path in exports)


def test_an_empty_text_is_a_level(select, write, columns, tmp_path):
    columns["colour"] = ["" if colour == "red" else colour for colour in columns["colour"]]
    # The commonest level has no feature.
    columns["colour"][:] = [c if i % 5 else "green" for i, c in enumerate(columns["colour"])]
    options = ["--always-include", "colour", "--export", tmp_path / "m.py"]
    select(write(columns), "-t", "late", "-k", 2, *options)
    assert "''" in (tmp_path / "m.py").read_text().split("TERMS = [")[1].split("]")[0]
