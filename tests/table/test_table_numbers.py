"""Numbers that are written as text, words for missing values, and codes."""

import random
import re

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")

from safdr._old_table import errors
from safdr._old_table.choices import Choices
from safdr._old_table.numbers import MARKS, as_numbers, how_written, number_pattern
from safdr._old_table.prepare import prepare

N = 400


@pytest.mark.parametrize(
    ("text", "point", "comma"),
    [
        ("20,000", 20000, 20),
        ("1.234,56", None, 1234.56),
        ("1,234,567.8", 1234567.8, None),
        ("1'234.5", 1234.5, None),
        ("1\u00a0234,5", None, 1234.5),
        ("94.0%", 94, None),
        ("94,0 %", None, 94),
        ("€ 5", 5, 5),
        ("5 €", 5, 5),
        ("-$5", -5, -5),
        ("$-5", -5, -5),
        ("\u22125", -5, -5),
        ("+.5", 0.5, None),
        ("5.", 5, None),
        ("1e5", 1e5, 1e5),
        ("12,5 EUR", None, 12.5),
        ("USD 1,234.50", 1234.5, None),
        ("-1e2EUR", -100, -100),
        ("SEK5", 5, 5),
        ("5 EURO", None, None),
        ("E5", None, None),
        # No thousands begin with a zero.
        ("0,123", None, 0.123),
        ("1e999", None, None),
        ("31.01.2024", None, None),
        ("1,23,456", None, None),
        ("5 5", None, None),
        ("3+", None, None),
        ("--5", None, None),
        ("١", None, None),
        ("", None, None),
        ("%", None, None),
    ],
)
def test_a_text_as_a_number(text, point, comma):
    column = pa.chunked_array([[text, None]])
    assert as_numbers(column, ".").to_pylist() == [point, None]
    assert as_numbers(column, ",").to_pylist() == [comma, None]


def test_arrow_and_python_agree_on_what_is_a_number():
    draw = random.Random(0)
    texts = [
        "".join(draw.choices([*"0123,.'-+e %€$\u00a0\n", "EUR"], k=draw.randint(1, 7)))
        for _ in range(5000)
    ]
    for mark in MARKS:
        found = as_numbers(pa.chunked_array([texts]), mark).is_valid().to_pylist()
        wanted = [bool(re.fullmatch(number_pattern(mark), text)) for text in texts]
        assert found == wanted
        assert 50 < sum(found) < 4000


@pytest.mark.parametrize(
    ("values", "doubt"),
    [
        (["1,000", "2,000", "unknown"], None),
        (["1", "2", "unknown"], None),
        (["1", "2", "-", "N/A"], None),
        (["5 %", "6 %"], None),
        (["€ 5", "6"], None),
        ([*map(str, range(60)), "x"], None),
        # An ordered category.
        (["0", "1", "2", "3+"], "words"),
        ([*map(str, range(60)), *"abcdefgh"], "words"),
        # Text on purpose, in a file with types.
        (["1", "2", "3"], "digits"),
        (["02139", "10115", "unknown"], "codes"),
        (["€ 5", "$ 6"], "units"),
        (["5 %", "0.05"], "units"),
        (["1", "unknown", "missing"], "words"),
    ],
)
def test_which_columns_are_numbers(values, doubt):
    assert how_written(pa.chunked_array([values]), ".", has_gap_words=False).doubt == doubt


def test_the_mark_is_what_most_texts_say_or_that_of_the_file():
    def mark(values, of_file="."):
        return how_written(pa.chunked_array([values]), of_file, has_gap_words=False).mark

    assert mark(["20,000", "3.5"]) == "."
    assert mark(["20,000", "3,5"]) == ","
    assert mark(["20,000"]) == "."
    assert mark(["20,000"], ",") == ","


# ---- In a table ---------------------------------------------------------------------------------


@pytest.fixture
def columns(rng):
    y = np.arange(N) % 2
    x = rng.normal(size=N) * 1000 + 5000 + 500 * y
    amount = [f"{value:,.1f}" for value in x]
    amount[3::100] = ["unknown"] * 4
    return {
        "x": rng.normal(size=N),
        "amount": amount,
        "grade": rng.choice(["0", "1", "2", "3+"], N),
        "code": rng.choice([1, 2, 3, 4], N),
        "y": y,
    }


def prepared(columns, **choices):
    return prepare(pa.table(columns), Choices(target="y", test_size=0.0, **choices))


def feature_names(found):
    return [feature.name for feature in found.recipe.features]


def test_a_column_that_is_nearly_all_numbers_is_one_and_that_is_said(columns):
    found = prepared(columns, missing="drop-rows")
    assert feature_names(found)[:2] == ["x", "amount"]
    kept = [text for text in columns["amount"] if text != "unknown"]
    np.testing.assert_array_equal(
        found.train.X[:, 1], [float(text.replace(",", "")) for text in kept]
    )
    assert found.notes[0].startswith(
        "99 % of amount are numbers, 'unknown' is read as missing. Name such texts with --na TEXT, "
        "or keep a column as text with --text NAME."
    )
    assert found.notes[1].startswith(f"Read as numbers: amount ({kept[0]!r} is ")
    assert found.notes[2].startswith("Taken as text: ")
    assert "of grade are numbers, '3+' is not" in found.notes[2]
    assert found.notes[3].startswith("Few whole numbers, that may be codes and not amounts, are in")
    assert "'code'" in found.notes[3]


def test_notes_are_short_where_there_is_little_to_say(columns):
    columns["amount"] = [text.replace(",", "") for text in columns["amount"]]
    columns["grade"] = [f"{i}.5" if i % 3 else f"{i % 300}+" for i in range(N)]
    columns["typed"] = [f"{i}.25" for i in range(N)]
    notes = " ".join(prepared(columns, missing="median", categories=["code"]).notes)
    # '5123.4' is what it says; what else is in a column is shown by a few words.
    assert "99 % of amount are numbers, 'unknown' is read as missing." in notes
    assert "Read as numbers: typed. Keep" in notes
    assert "'0+', '3+', '6+', '9+', and 96 more are not" in notes


def test_words_that_are_missing_show_with_the_gaps(columns):
    with pytest.raises(errors.MissingValuesError, match="4 values are missing, in 1") as caught:
        prepared(columns)
    assert "'unknown' is read as missing" in caught.value.notes[0]


def test_what_is_said_overrules_the_guess(columns):
    found = prepared(columns, missing="median", categories=["amount"], numbers=["grade"])
    (left_out,) = found.left_out
    assert (left_out.column, left_out.reason[:9]) == ("amount", "text with")
    assert feature_names(found) == ["x", "grade", "code"]
    assert set(found.train.X[:, 1]) == {0, 1, 2}


def test_codes_are_categories_when_that_is_said(columns):
    found = prepared(columns, missing="median", categories=["code"])
    (coding,) = [each for each in found.recipe.codings if each.column == "code"]
    assert sorted([coding.reference, *coding.levels]) == [1.0, 2.0, 3.0, 4.0]
    name = f"code = {coding.levels[0]:.0f}"
    np.testing.assert_array_equal(
        found.train.X[:, feature_names(found).index(name)], columns["code"] == coding.levels[0]
    )
    assert coding.to_dict()["reference"] == f"{coding.reference:.0f}"
    assert not any("code" in note for note in found.notes)


def test_codes_are_in_order_and_rare_ones_that_count_as_the_commonest_are_named(columns):
    columns["code"] = np.array([0] * (N - 37) + [2] * 14 + [-1] * 15 + [8] * 5 + [5] * 2 + [7])
    found = prepared(columns, missing="median", categories=["code"])
    (coding,) = [each for each in found.recipe.codings if each.column == "code"]
    assert (coding.levels, coding.reference, coding.pooled) == ((-1, 2), 0, (5, 7, 8))
    (note,) = [note for note in found.notes if "Rare codes" in note]
    assert "'code' count as its commonest, 0," in note
    assert "5 (2 rows), 7 (1 row), 8 (5 rows)." in note


def test_values_that_are_missing_when_that_is_said(columns):
    columns["x"] = np.where(np.arange(N) % 50 == 0, -999, columns["x"])
    columns["code"] = np.where(np.arange(N) % 80 == 0, -999, columns["code"])
    columns["colour"] = ["red", "none", "blue", "red"] * (N // 4)
    everywhere = prepared(columns, missing="drop-columns", na=["-999", "none", "unknown"])
    gone = {each.column: each.reason for each in everywhere.left_out}
    assert gone == {
        "x": "8 missing values",
        "code": "5 missing values",
        "amount": "4 missing values",
        "colour": "100 missing values",
    }
    one = prepared(columns, missing="drop-columns", na=["code=-999.0"])
    assert [each.column for each in one.left_out] == ["code", "amount"]
    assert not any("unknown" in note for note in everywhere.notes)


def test_rows_without_a_label_may_say_so_in_words(columns):
    columns["y"] = ["?" if i < 7 else "ny"[label] for i, label in enumerate(columns["y"])]
    found = prepared(columns, missing="median", na=["y=?"])
    assert found.notes[0] == "7 rows without a value of the target are left out."


def test_numbers_of_rows_are_left_out_although_a_few_are_words(columns):
    ids = [str(i) for i in range(N)]
    ids[5] = "unknown"
    found = prepared(columns | {"row": ids}, missing="drop-rows")
    assert [each.column for each in found.left_out] == ["row"]
    assert "an identifier" in found.left_out[0].reason


@pytest.mark.parametrize(
    ("choices", "error", "message"),
    [
        ({"numbers": ["nope"]}, errors.UnknownColumnError, "no column 'nope'"),
        ({"categories": ["nope"]}, errors.UnknownColumnError, "no column 'nope'"),
        (
            {"numbers": ["colour"]},
            errors.ColumnUseError,
            "'colour' holds no numbers, but text such",
        ),
        ({"numbers": ["x"], "categories": ["x"]}, errors.ColumnUseError, "both numbers and text"),
        ({"numbers": ["x"], "drop": ["x"]}, errors.ColumnUseError, "used and to be left out"),
    ],
)
def test_what_can_not_be(columns, choices, error, message):
    columns["colour"] = ["red", "blue"] * (N // 2)
    with pytest.raises(error, match=message):
        prepared(columns, **choices)


def test_words_are_looked_up_all_at_once(columns, monkeypatch):
    import pyarrow.compute as pc

    calls = []
    monkeypatch.setattr(
        pc, "is_in", lambda *a, _is_in=pc.is_in, **k: (calls.append(1), _is_in(*a, **k))[1]
    )
    columns["amount"] = [f"{i}.5" if i > 15 else f"see note {i}" for i in range(N)]
    found = prepared(columns, missing="drop-rows")
    assert found.train.table.num_rows == N - 16
    assert len(calls) < 10
