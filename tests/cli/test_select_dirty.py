"""Tables with dirty numbers, codes and words for missing values, from file to formula."""

import csv
import io
import sqlite3
import subprocess
import sys
from contextlib import closing

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
pyarrow_csv = pytest.importorskip("pyarrow.csv")
pytest.importorskip("pyarrow.parquet")

N = 1200


@pytest.fixture
def dirty():
    """Numbers with groups, units, commas and words; codes that are not in line with the target."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, N)
    pay = [f"{value:,.0f}" for value in np.exp(rng.normal(9, 1, N) + 0.7 * y)]
    for i in rng.choice(N, 12, replace=False):
        pay[i] = "unknown"
    share = [f"{value:.1f}%" for value in rng.normal(60, 9, N) - 6 * y]
    fee = [f"€ {value:.2f}".replace(".", ",") for value in rng.gamma(2, 3, N) + 2 * y]
    school = rng.choice([1, 2, 3, 4], N, p=[0.4, 0.2, 0.2, 0.2])
    late = np.where(rng.random(N) < 0.5, np.isin(school, [1, 3]), y)
    score = np.where(np.arange(N) % 40 == 0, -999, rng.normal(size=N).round(3) + late)
    return pa.table(
        {"pay": pay, "share": share, "fee": fee, "school": school, "score": score}
        | {"late": np.where(late, "yes", "no")}
    )


@pytest.fixture(params=["csv", "parquet"])
def file(request, dirty, tmp_path):
    """The same table in both kinds of files."""
    path = tmp_path / f"dirty.{request.param}"
    if request.param == "csv":
        pyarrow_csv.write_csv(dirty, path)
    else:
        pa.parquet.write_table(dirty, path)
    return path


OPTIONS = ("-t", "late", "--categorical", "school", "--na", "score=-999", "--missing", "median")


def test_a_first_try_says_what_is_missing_and_how_to_go_on(select_two, file):
    error = " ".join(select_two(file, "-t", "late", code=1).err.split())
    assert "12 values are missing, in 1 of 5 columns" in error
    assert "99 % of pay are numbers, 'unknown' is read as missing" in error
    assert "--missing median" in error


def test_notes_say_what_was_read_how_and_what_may_be_codes(select_two, file):
    found = select_two(file, "-t", "late", "--missing", "median", "--json").json
    notes = " ".join(found["notes"])
    assert "Read as numbers: pay (" in notes
    assert "share (" in notes
    assert "fee ('€ " in notes
    assert "may be codes and not amounts, are in 'school'. Make codes categories with" in notes
    assert found["coding"] == []
    found = select_two(file, *OPTIONS, "--json").json
    assert [coding["column"] for coding in found["coding"]] == ["school"]
    assert found["coding"][0]["reference"] == "1"
    assert found["settings"]["na"] == ["score=-999"]
    text = select_two(file, *OPTIONS, "--text", "fee", "--json").json
    assert "fee" in [each["column"] for each in text["left_out"]]


def test_all_formulas_read_values_as_the_model_did(select, file, dirty, tmp_path):
    exports = [tmp_path / f"score.{ending}" for ending in ("py", "sql", "onnx")]
    words = [word for path in exports for word in ("--export", path)]
    found = select(file, *OPTIONS, "-k", 5, "--test-size", 0, "--json", *words).json
    assert found["n_features"] == 5
    wanted = _by_hand(found, dirty)
    data = io.BytesIO()
    pyarrow_csv.write_csv(dirty, data)
    done = subprocess.run(
        [sys.executable, "-I", exports[0]], input=data.getvalue(), capture_output=True, check=False
    )
    assert done.stderr == b""
    rows = list(csv.DictReader(io.StringIO(done.stdout.decode())))
    np.testing.assert_allclose([float(row["log_odds"]) for row in rows], wanted, rtol=1e-9)
    numbers = _as_numbers(dirty)
    np.testing.assert_allclose(_sql(exports[1].read_text(), numbers), wanted, rtol=1e-9)
    np.testing.assert_allclose(_onnx(exports[2], numbers), wanted, rtol=1e-9)


def test_a_formula_says_what_it_expects(select, file, tmp_path):
    path = tmp_path / "score.sql"
    select(file, *OPTIONS, "-k", 5, "--export", path)
    comment = next(line for line in path.read_text().splitlines() if "numbers, not of text" in line)
    assert '"pay" (' in comment
    assert comment.endswith("; what is no number is NULL.")


def test_python_refuses_words_that_the_model_never_saw(select, file, tmp_path):
    path = tmp_path / "score.py"
    select(file, *OPTIONS, "-k", 5, "--export", path)
    module = {"__name__": "score"}
    exec(path.read_text(), module)
    row = {"pay": "20,000", "share": "60.0%", "fee": "€ 5,00", "school": 3, "score": 1.0}
    value = module["log_odds"](row)
    assert module["log_odds"](row | {"pay": 20000, "fee": 5.0, "school": "3"}) == value
    for word in ("unknwn", "20.000,0"):
        with pytest.raises(ValueError, match="'pay' must be a number"):
            module["log_odds"](row | {"pay": word})
    gap = module["log_odds"](row | {"pay": "unknown", "score": -999})
    assert gap == module["log_odds"](row | {"pay": None, "score": float("nan")})


def test_streams_read_them_alike(select, dirty, tmp_path):
    path = tmp_path / "many.parquet"
    pa.parquet.write_table(pa.concat_tables([dirty] * 3), path)
    export = tmp_path / "score.py"
    options = (*OPTIONS, "-k", 5, "--json", "--sample-rows", 1500)
    streamed = select(path, *options, "--stream", "--export", export).json
    whole = select(path, *options).json
    assert "read in passes" in streamed["notes"][0]
    for found in (streamed, whole):
        assert "'unknown' is read as missing" in " ".join(found["notes"])
        assert {each["name"] for each in found["features"]} == {
            *("pay", "share", "fee", "score"),
            *(f"school = {code}" for code in (2, 3, 4)),
        }
    assert "MARKS = {'" in export.read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--number", "late"], "The column 'late' holds no numbers, but text"),
        (["--number", "shar"], "Did you mean 'share'?"),
        (["--text", "fee", "--number", "fee"], "can't be both numbers and text"),
        (["--na"], "requires an argument"),
    ],
)
def test_what_makes_no_sense_is_told(select_two, file, options, message):
    error = " ".join(select_two(file, "-t", "late", *options, code=2).err.split())
    assert message in error


def _by_hand(found, table):
    """Log-odds, with each value read by Python alone."""
    read = {
        "pay": lambda text: None if text == "unknown" else float(text.replace(",", "")),
        "share": lambda text: float(text.removesuffix("%")),
        "fee": lambda text: float(text.removeprefix("€ ").replace(",", ".")),
        "score": lambda number: None if number == -999 else number,
    }
    total = np.full(table.num_rows, found["intercept"])
    for feature in found["features"]:
        name, _, code = feature["name"].partition(" = ")
        values = table.column(name).to_pylist()
        if code:
            numbers = np.array([float(value == int(code)) for value in values])
        else:
            numbers = np.array([read[name](value) for value in values], dtype=np.float64)
            numbers[np.isnan(numbers)] = np.nanmedian(numbers)
        total += feature["coefficient"] * numbers
    return total


def _as_numbers(table):
    """The table with numbers where texts were, as formulas in SQL and ONNX expect."""
    columns = {name: table.column(name).to_pylist() for name in table.column_names}
    columns["pay"] = [None if v == "unknown" else float(v.replace(",", "")) for v in columns["pay"]]
    columns["share"] = [float(v.removesuffix("%")) for v in columns["share"]]
    columns["fee"] = [float(v.removeprefix("€ ").replace(",", ".")) for v in columns["fee"]]
    return columns


def _sql(query, columns):
    with closing(sqlite3.connect(":memory:")) as database:
        database.create_function("EXP", 1, np.exp)
        database.execute(f"CREATE TABLE dirty ({', '.join(columns)})")
        places = ", ".join("?" * len(columns))
        rows = zip(*columns.values(), strict=True)
        database.executemany(f"INSERT INTO dirty VALUES ({places})", rows)
        return [row[-2] for row in database.execute(query)]


def _onnx(path, columns):
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    feeds = {
        each.name: np.array(columns[each.name], dtype=np.float64)[:, None]
        for each in session.get_inputs()
    }
    assert "pay" in session.get_modelmeta().custom_metadata_map["numbers_from_text"]
    return session.run(["log_odds"], feeds)[0].ravel()


def test_a_target_may_be_numbers_written_as_text(select_two, file, dirty, write):
    values = [float(text.removesuffix("%")) for text in dirty.column("share").to_pylist()]
    found = select_two(file, "-t", "share", "--missing", "median", "--test-size", 0, "--json").json
    assert found["task"] == "regression"
    assert found["target"]["mean"] == pytest.approx(np.mean(values))
    assert any("share ('" in note for note in found["notes"])
    # Words among them are no guess away from being missing: those rows are left out.
    found = select_two(file, "-t", "pay", "--test-size", 0, "--json").json
    assert found["notes"][0] == "12 rows without a value of the target are left out."
    error = select_two(file, "-t", "share", "--task", "classification", code=1).err
    assert "too many for classes: up to 50" in error
    options = ("-t", "share", "--number", "share", "--missing", "median")
    path = write(pa.concat_tables([dirty] * 3), "many.parquet")
    error = select_two(path, *options, "--stream", "--sample-rows", 1000, code=1).err
    assert "can't be read as numbers where rows are read in passes" in error
