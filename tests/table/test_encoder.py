"""`TableEncoder`: what columns are, how they are read, and what features they become."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from helpers.tables import messy_table
from safdr import AnnealingSelector, TableEncoder
from safdr.table.errors import ColumnError, MissingValuesError, TableError
from safdr.table.read import read_table

pa = pytest.importorskip("pyarrow")

N = 240


def described(column, name="x", n_rows=None, **options):
    """What an encoder says of one column beside a number."""
    column = list(column)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: column, "other": rng.normal(size=len(column))})
    encoder = TableEncoder(**options).fit(frame)
    return encoder.columns()[0], encoder


def csv_column(tmp_path, column, name="x", sep=","):
    """A column as CSV holds it."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: column, "other": rng.normal(size=len(column))})
    frame.to_csv(tmp_path / "rows.csv", index=False, sep=sep)
    return read_table(tmp_path / "rows.csv")[0]


# ---- The messy table -----------------------------------------------------------------------------


@pytest.fixture
def messy():
    return messy_table()


def test_every_column_is_what_a_reader_would_say(messy):
    frame, y = messy
    encoder = TableEncoder(missing="median").fit(frame, y)
    found = {each["name"]: each.get("read_as", each.get("why")) for each in encoder.columns()}
    assert found["row"].startswith("codes")
    assert found["postcode"].startswith("codes")
    for name in ("income", "rate", "amount", "score"):
        assert found[name] == "number"
    # Digits that a frame holds as text are codes; those of CSV are numbers.
    assert found["city"] == found["grade"] == "category"
    assert found["member"] == "boolean"
    assert found["day"] == "dates"
    assert found["month"] == "dates"
    assert found["constant"] == "one value only"
    assert found["customer_id"].startswith(("an identifier", "codes"))
    assert found["remark"].startswith("an identifier or free text")
    names = encoder.get_feature_names_out().tolist()
    assert (
        encoder.groups()
        == encoder.groups(range(len(names)))
        == {
            "city": [names.index("city = Rome"), names.index("city = Paris")],
            "grade": [j for j, name in enumerate(names) if name.startswith("grade = ")],
        }
    )
    (income,) = [each for each in encoder.columns() if each["name"] == "income"]
    assert income["example"].endswith(income["example"].split(" → ")[0].replace(",", ""))


def test_names_are_enough_to_group_categories(messy):
    """An encoder inside a pipeline is not fitted when its constraints are written."""
    frame, y = messy
    encoder = TableEncoder(missing="median").fit(frame, y)
    names = encoder.get_feature_names_out()
    assert clone(encoder).groups(names) == encoder.groups()
    with pytest.raises(ValueError, match="names"):
        clone(encoder).groups(range(5))


def test_terms_say_what_a_feature_is(messy):
    """The features, computed from the terms and the values as they are read."""
    frame, y = messy
    encoder = TableEncoder(missing="median").fit(frame, y)
    X, terms, read = encoder.transform(frame), encoder.terms(), encoder.read(frame)
    assert [each["feature"] for each in terms] == encoder.get_feature_names_out().tolist()
    for j, term in enumerate(terms):
        values = read[term["column"]].to_pylist()
        if "equals" in term:
            wanted = [term["missing"] if v is None else float(v == term["equals"]) for v in values]
        else:
            wanted = [term["missing"] if v is None else v for v in values]
        np.testing.assert_array_equal(X[:, j], wanted)


def test_frames_and_files_are_encoded_alike(messy, tmp_path):
    frame, y = messy
    polars = pytest.importorskip("polars")
    frame = frame.drop(columns="grade")
    options = {"missing": "median"}
    wanted = TableEncoder(**options).fit(frame, y)
    X = wanted.transform(frame)
    frame.to_csv(tmp_path / "messy.csv", index=False)
    tables = {
        "arrow": pa.Table.from_pandas(frame),
        "polars": polars.from_pandas(frame),
        "categorical": frame.astype({"city": "category"}),
        "csv": read_table(tmp_path / "messy.csv")[0],
    }
    for name, table in tables.items():
        encoder = TableEncoder(**options).fit(table, y)
        assert encoder.terms() == wanted.terms(), name
        np.testing.assert_array_equal(encoder.transform(table), X)
        # Learnt from one, applied to another.
        np.testing.assert_array_equal(wanted.transform(table), X)


def test_it_is_a_transformer_of_scikit_learn(messy):
    frame, y = messy
    encoder = TableEncoder(missing="median", drop=["city"])
    assert clone(encoder).get_params() == encoder.get_params()
    pipeline = make_pipeline(encoder, AnnealingSelector(3, random_state=0), LogisticRegression())
    scores = cross_val_score(pipeline, frame, y, cv=3, scoring="roc_auc")
    assert scores.mean() > 0.7
    wide = clone(encoder).set_output(transform="pandas").fit_transform(frame, y)
    assert wide.columns.tolist() == encoder.fit(frame, y).get_feature_names_out().tolist()
    array = np.random.default_rng(0).normal(size=(50, 3))
    np.testing.assert_array_equal(TableEncoder().fit_transform(array), array)


# ---- Numbers in text -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("write", "example"),
    [
        (lambda v: f"{v:,.2f}", "1,234.50"),
        (lambda v: f"{v:.1f}%", "9.1%"),
        (lambda v: f"€ {v:.2f}", "€ 5.00"),
        (lambda v: f"{v:.2f} EUR", "5.00 EUR"),
        (lambda v: f"-${v:,.0f}", "-$1,234"),
        (lambda v: f"\u2212{v:.1f}", "−5.0"),
        (lambda v: f"{v:,.2f}".translate(str.maketrans(",.", ".,")), "1.234,50"),
        (lambda v: f"{v:_.0f}".replace("_", "'"), "1'234"),
    ],
)
def test_numbers_in_text_are_numbers(write, example):
    values = np.random.default_rng(0).uniform(1, 5000, N)
    texts = [write(v) for v in values]
    column, encoder = described(texts)
    assert column["read_as"] == "number"
    sign = -1 if example[0] in "-−" else 1
    found = encoder.transform(pd.DataFrame({"x": texts, "other": 0.0}))[:, 0]
    assert np.abs(found - sign * values).max() <= 0.5


@pytest.mark.parametrize(
    ("texts", "read_as"),
    [
        # Words for missing values among numbers; categories that begin with digits; codes.
        ([f"{i}.5" if i % 3 else "n/a" for i in range(N)], "number"),
        ([("1-5", "6-10", "10+")[i % 3] for i in range(N)], "category"),
        ([("5 %", "$ 5", "7 %")[i % 3] for i in range(N)], "category"),
        ([f"0{i % 12}" for i in range(N)], "category"),
        ([("none", "2.5", "3.5")[i % 3] for i in range(N)], "number"),
        ([("low", "2.5", "3.5")[i % 3] for i in range(N)], "category"),
    ],
)
def test_text_that_may_be_numbers(texts, read_as):
    column, _ = described(texts, missing="median")
    assert column["read_as"] == read_as


def test_the_user_has_the_last_word():
    codes = [float(i % 4) for i in range(N)]
    column, encoder = described(codes, categories=["x"])
    assert column["read_as"] == "category"
    assert [term["equals"] for term in encoder.terms()[:-1]] == [1.0, 2.0, 3.0]
    assert encoder.get_feature_names_out()[0] == "x = 1"
    words = [f"{i % 7}.5" if i % 2 else "low" for i in range(N)]
    column, _ = described(words, numbers=["x"], missing="median")
    assert (column["read_as"], column["n_missing"]) == ("number", N // 2)
    column, _ = described([-999.0, *range(N)], keep=["x"], na=["x=-999"], missing="median")
    assert column["n_missing"] == 1
    for options in ({"drop": ["y"]}, {"numbers": ["x"], "categories": ["x"]}, {"keep": ["none"]}):
        with pytest.raises(ColumnError):
            described(codes, **options)


# ---- Identifiers, dates and rows -----------------------------------------------------------------


def test_a_table_sorted_by_its_best_feature_keeps_it():
    """A bug of earlier versions: whole numbers in rising order counted as identifiers."""
    population = np.sort(np.random.default_rng(0).choice(1_000_000, 400, replace=False))
    column, _ = described(population.tolist(), "population")
    assert column["read_as"] == "number"


@pytest.mark.parametrize(
    ("name", "values", "used"),
    [
        ("row", range(N), False),
        ("row", range(1, 2 * N, 2), False),
        ("order_no", np.random.default_rng(0).choice(10**9, N, replace=False), False),
        ("customerId", np.arange(N) % 50, False),
        ("age", np.arange(N) % 50, True),
        ("x", [i / 2 for i in range(N)], True),
        ("age", [31, 34, 29, 41, 38, 27, 44, 36, 33, 40, 30, 25], True),
        ("rank", [*range(5, 25)], False),
        ("day", [20240101 + i % 28 for i in range(N)], False),
        ("month", [202401 + i % 12 for i in range(N)], False),
        ("year", [2000 + i % 20 for i in range(N)], True),
    ],
)
def test_identifiers_and_dates_are_not_used(name, values, used):
    column, _ = described(np.asarray(values).tolist(), name)
    assert column["used"] == used
    if not used:
        assert described(np.asarray(values).tolist(), name, keep=[name])[0]["used"]


def test_text_of_csv_becomes_numbers_if_programs_write_them_so(tmp_path):
    """Leading zeros stay, decimal commas count, one list of words means missing."""
    numbers = [f"{i},5" for i in range(N)]
    table = csv_column(tmp_path, numbers, sep=";")
    encoder = TableEncoder().fit(table)
    np.testing.assert_array_equal(encoder.transform(table)[:, 0], np.arange(N) + 0.5)
    path = tmp_path / "commas.csv"
    path.write_text("a, b, c;d\n" + "1,5;2,5\n" * 9)
    assert read_table(path)[0].column_names == ["a, b, c", "d"]
    table = csv_column(tmp_path, [f"0{i % 9}" for i in range(N)])
    assert TableEncoder().fit(table).get_feature_names_out()[0].startswith("x = 0")
    table = csv_column(tmp_path, ["NA", "", "?", *(f"{i}.5" for i in range(N))])
    assert TableEncoder(missing="median").fit(table).columns()[0]["n_missing"] == 3
    assert [str(kind) for kind in table.schema.types] == ["double", "double"]
    table = csv_column(tmp_path, range(N))
    assert table.schema.field("x").type == pa.int64()


# ---- Categories ----------------------------------------------------------------------------------


def test_rare_and_new_values_count_as_the_most_frequent():
    texts = ["red"] * 120 + ["blue"] * 60 + ["green"] * 55 + ["mauve"] * 5
    column, encoder = described(texts)
    assert column["reference"] == "red"
    table = pd.DataFrame({"x": ["blue", "mauve", "new", "red"], "other": 0.0})
    found = encoder.transform(table)[:, :2]
    np.testing.assert_array_equal(found, [[1, 0], [0, 0], [0, 0], [0, 0]])


def test_a_value_of_ten_rows_has_a_feature_and_one_of_nine_is_rare():
    texts = ["red"] * 130 + ["teal"] * (N - 149) + ["blue"] * 10 + ["green"] * 9
    _, encoder = described(texts)
    assert [name for name in encoder.get_feature_names_out() if name.startswith("x = ")] == [
        "x = teal",
        "x = blue",
    ]


# ---- Missing values ------------------------------------------------------------------------------


def test_missing_values_are_counted_by_class():
    rng = np.random.default_rng(0)
    y = np.arange(N) % 2
    frame = pd.DataFrame(rng.normal(size=(N, 3)), columns=["a", "b", "c"])
    frame.loc[(y == 1) & (rng.random(N) < 0.5), "a"] = np.nan
    frame.loc[::20, "b"] = np.nan
    with pytest.raises(MissingValuesError, match="median") as caught:
        TableEncoder().fit(frame, y)
    report = caught.value.report
    assert [each.column for each in report.columns] == ["a", "b"]
    a, b = report.columns
    assert a.n_missing == frame.a.isna().sum()
    assert a.by_target == {"0": 0.0, "1": pytest.approx(frame.a[y == 1].isna().mean())}
    assert (a.depends_on_target, b.depends_on_target) == (True, False)
    assert report.n_complete_rows == len(frame.dropna())
    assert report.n_complete_rows_without == frame.b.notna().sum()
    kept = TableEncoder(missing="drop-columns").fit(frame, y)
    assert kept.get_feature_names_out().tolist() == ["c"]
    filled = TableEncoder(missing="median").fit_transform(frame, y)
    np.testing.assert_allclose(filled, frame.fillna(frame.median()))


def test_missing_values_in_new_rows_are_refused_unless_they_are_filled():
    frame = pd.DataFrame({"a": np.random.default_rng(0).normal(size=N)})
    new = pd.DataFrame({"a": [1.0, np.nan]})
    with pytest.raises(MissingValuesError):
        TableEncoder().fit(frame).transform(new)
    filled = TableEncoder(missing="median").fit(frame).transform(new)
    np.testing.assert_allclose(filled[1, 0], frame.a.median())


def test_a_table_without_features_is_refused():
    with pytest.raises(TableError, match="one value only"):
        TableEncoder().fit(pd.DataFrame({"a": ["same"] * N}))
    with pytest.raises(ColumnError, match="Did you mean"):
        TableEncoder(drop=["colur"]).fit(pd.DataFrame({"colour": ["a", "b"] * N}))
    encoder = TableEncoder().fit(pd.DataFrame({"colour": ["a", "b"] * N}))
    with pytest.raises(ColumnError, match="colour"):
        encoder.transform(pd.DataFrame({"x": [1.0]}))
