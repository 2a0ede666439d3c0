"""Real tables on the command line: coding, columns left out, missing values, targets."""

import datetime

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
feather = pytest.importorskip("pyarrow.feather")


def test_coding_and_columns_left_out_are_shown(select, write, columns):
    n = len(columns["late"])
    columns |= {
        "row": list(range(n)),
        "day": [datetime.date(2024, 1, 1) + datetime.timedelta(i) for i in range(n)],
        "branch": ["north", "south"] * (n // 2),
        "customer": [f"c{i}" for i in range(n)],
    }
    path = write(columns)
    shown = select(path, "-t", "late", "-k", 3, "--drop", "branch", "--id", "noise").out
    assert "colour = green" in shown or "colour = red" in shown
    assert " against " in shown
    for line in (
        "branch  dropped on request",
        "noise  an identifier, as you said",
        "row  an identifier: a whole number of its own in every row",
        "day  dates or times",
        "customer  an identifier or free text: 200 values in 200 rows",
    ):
        assert line in shown


def test_the_coding_is_in_the_result(select_two, write, columns):
    found = select_two(write(columns), "-t", "late", "--json").json
    (coding,) = found["coding"]
    assert coding["column"] == "colour"
    assert {coding["reference"], coding["names"][0].removeprefix("colour = ")} == {"red", "green"}


def test_coding_that_is_not_in_the_model_says_so(select, write, columns):
    pairs = zip(columns["height"], columns["late"], strict=True)
    columns["height"] = [h + 2 * (label == "yes") for h, label in pairs]
    shown = words(select(write(columns), "-t", "late", "-k", 1).out)
    assert "Coded not in the model: colour" in shown


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_codes_with_leading_zeros_may_come_first_in_a_line(select_two, tmp_path, columns, end):
    rows = zip(columns["height"], columns["late"], strict=True)
    lines = [f"{'01' if i % 3 else '02'},{h},{y}" for i, (h, y) in enumerate(rows)]
    path = tmp_path / "first.csv"
    path.write_bytes(end.join(["town,height,late", *lines]).encode())
    (coding,) = select_two(path, "-t", "late", "--json").json["coding"]
    assert (coding["reference"], coding["names"]) == ("01", ["town = 02"])


def test_codes_with_leading_zeros_are_text_and_named(select_two, tmp_path, columns):
    towns = ["02139", "10115", "00501", "94103"]
    rows = zip(columns["height"], columns["weight"], columns["late"], strict=True)
    lines = [f"{h},{w},{towns[i // 2 % 4]},{y}" for i, (h, w, y) in enumerate(rows)]
    path = tmp_path / "towns.csv"
    path.write_text("\n".join(["height,weight,town,late", *lines, ""]))
    found = select_two(path, "-t", "late", "--json").json
    (coding,) = found["coding"]
    assert {coding["reference"], *(n.removeprefix("town = ") for n in coding["names"])} == set(
        towns
    )
    note = "town holds whole numbers with leading zeros, such as '02139': codes, taken as text."
    assert note in found["notes"]


def test_a_column_can_be_kept(select, write, columns):
    columns = {"row": list(range(len(columns["late"]))), "late": columns["late"]}
    assert "No column is left" in select(write(columns), "-t", "late", code=1).err
    kept = select(write(columns), "-t", "late", "--keep", "row", "--json").json
    assert [feature["name"] for feature in kept["features"]] == ["row"]


# ---- Missing values -----------------------------------------------------------------------------


@pytest.fixture
def trap(columns):
    """A rate that is missing for nearly all who are late, and a few gaps by chance."""
    late = np.array(columns["late"]) == "yes"
    number = np.arange(len(late))
    columns["rate"] = [None if y and i > 20 else i % 7 for i, y in zip(number, late, strict=True)]
    columns["height"][50:54] = [None] * 4
    return columns


def test_missing_values_stop_with_counts_and_ways_on(select_two, write, trap):
    ran = select_two(write(trap), "-t", "late", code=1)
    assert ran.out == ""
    lines = ran.err.splitlines()
    assert lines[0] == "safdr select: 94 values are missing, in 2 of 5 columns."
    assert any(line.split() == ["!", "rate", "90", "0", "%", "90", "%"] for line in lines)
    assert any(line.split() == ["height", "4", "2", "%", "2", "%"] for line in lines)
    assert "Whether rate is missing tells the classes apart with an AUC of 0.950" in words(ran.err)
    for way in (
        "--missing drop-rows leaves 108 of 200 rows, 10 of 100 of class yes",
        "--missing drop-columns leaves 3 columns and all rows",
        "--missing median keeps all rows and columns and fills the gaps; the fill value itself may "
        "then tell the classes apart",
        "--drop rate --missing drop-rows leaves 196 of 200 rows, 98 of 100 of class yes",
    ):
        assert way in words(ran.err)


def test_one_gap_is_no_plural(select_two, write, columns):
    columns["height"][3] = None
    error = words(select_two(write(columns), "-t", "late", code=1).err)
    assert "1 value is missing, in 1 of 4 columns." in error
    found = select_two(write(columns), "-t", "late", "--missing", "drop-rows", "--json").json
    assert "1 row with missing values is left out." in found["notes"]
    found = select_two(write(columns), "-t", "late", "--missing", "median", "--json").json
    assert found["notes"][0].startswith("1 missing value in 1 column is filled:")


def words(text):
    return " ".join(text.split())


def test_dropping_rows_that_takes_a_class_away_shows_the_ways_on_again(select_two, write, trap):
    error = words(select_two(write(trap), "-t", "late", "--missing", "drop-rows", code=1).err)
    assert "92 rows with missing values are left out" in error or "held out" in error
    trap["rate"] = [None if label == "yes" else 1.5 + i % 3 for i, label in enumerate(trap["late"])]
    error = words(select_two(write(trap), "-t", "late", "--missing", "drop-rows", code=1).err)
    assert "0 are of class 'yes'" in error
    assert "--drop rate --missing drop-rows leaves 196" in error


@pytest.mark.parametrize(
    ("options", "rows", "warned"),
    [
        (["--missing", "drop-columns"], 200, False),
        (["--missing", "median"], 200, True),
        (["--missing", "drop-rows", "--drop", "rate"], 196, False),
    ],
)
def test_the_ways_on_lead_on(select_two, write, trap, options, rows, warned):
    found = select_two(write(trap), "-t", "late", *options, "--json").json
    assert sum(found["rows"].values()) == rows
    told = {each["kind"]: each for each in found["warnings"]}
    assert ("missing_depends_on_target" in told) == warned
    assert not warned or told["missing_depends_on_target"]["text"].startswith("rate (90 %")


def test_a_warning_is_shown(select_two, write, trap):
    shown = select_two(write(trap), "-t", "late", "--missing", "median").out
    assert (
        "Careful Where values are missing depends on the target. rate (90 % of class yes, 0 % of"
        in words(shown)
    )


# ---- Target -------------------------------------------------------------------------------------


def test_without_a_target_those_that_could_be_are_named(select_two, write, columns):
    error = select_two(write(columns), code=2).err
    assert "NAME. Likely, by name or with two values, are 'late', 'colour'." in error
    columns["status"] = ["good", "fair", "bad", "lost"] * (len(columns["late"]) // 4)
    error = select_two(write(columns), code=2).err
    assert "are 'status', 'colour', 'late'." in error
    numbers = {name: columns[name] for name in ("height", "weight")}
    assert "The columns are 'height', 'weight'." in select_two(write(numbers), code=2).err


def test_one_of_several_values_can_be_set_against_the_rest(select_two, write, columns):
    columns["fate"] = ["paid", "late", "lost", "late"] * 50
    found = select_two(write(columns), "-t", "fate", "--positive", "late", "--json").json
    assert found["target"] == {
        "name": "fate",
        "classes": ["not late", "late"],
        "counts": {"not late": 80, "late": 80},
    }


def test_without_a_target_any_types_of_columns_are_looked_through(select_two, tmp_path, columns):
    n = len(columns["late"])
    columns |= {
        "colour": pa.array(columns["colour"]).dictionary_encode(),
        "nothing": pa.nulls(n),
        "list": [[1], [2]] * (n // 2),
        "struct": [{"a": 1}, {"a": 2}] * (n // 2),
        "view": pa.array(["a", "b"] * (n // 2), pa.string_view()),
    }
    path = tmp_path / "loans.feather"
    feather.write_feather(pa.table(columns), path)
    error = select_two(path, code=2).err
    assert "with two values, are 'view', 'colour', 'late'." in error


def test_a_target_of_lists_is_named_with_its_type(select_two, write, columns):
    columns["list"] = [[1], [2]] * (len(columns["late"]) // 2)
    error = select_two(write(columns), "-t", "list", code=1).err
    assert "The target 'list' can't be read: neither numbers nor text (list)." in error


def test_the_positive_class_turns_the_signs(select, write, columns):
    path = write(columns)
    one = select(path, "-t", "late", "-k", 2, "--json").json
    other = select(path, "-t", "late", "-k", 2, "--positive", "no", "--json").json
    assert one["target"]["classes"] == ["no", "yes"]
    assert other["target"]["classes"] == ["yes", "no"]
    assert {f["name"] for f in one["features"]} == {f["name"] for f in other["features"]}
    # The splits follow the order of the classes, and the calibration slope the splits.
    for f, g in zip(one["features"], other["features"], strict=True):
        fitted, turned = (
            feature["coefficient"] / answer["calibration_slope"]
            for feature, answer in ((f, one), (g, other))
        )
        assert fitted == pytest.approx(-turned, rel=1e-6)


@pytest.mark.parametrize(
    ("target", "code", "message"),
    [
        ("same", 1, "one value only"),
        ("lat", 2, "no column 'lat'. Did you mean 'late'?"),
    ],
)
def test_a_target_that_can_not_be_one(select_two, write, columns, target, code, message):
    columns["same"] = [1] * len(columns["late"])
    assert message in select_two(write(columns), "-t", target, code=code).err


def test_a_class_that_separates_is_told_and_no_error(select_two, write, columns):
    columns["height"] = [
        float(label == "yes") * 10 + h
        for h, label in zip(columns["height"], columns["late"], strict=True)
    ]
    found = select_two(write(columns), "-t", "late", "--as-published", "--json").json
    kinds = [each["kind"] for each in found["warnings"]]
    assert kinds[0] == "gives_the_target_away"
    assert "separated" in kinds
    penalised = select_two(write(columns), "-t", "late", "--json").json
    assert "separated" not in [each["kind"] for each in penalised["warnings"]]


def test_a_label_with_a_space_at_its_end_is_quoted(select_two, write, columns):
    columns["late"] = [{"no": "No ", "yes": "Yes"}[label] for label in columns["late"]]
    assert 'late = Yes from "No " with' in words(select_two(write(columns), "-t", "late").out)


# ---- Names --------------------------------------------------------------------------------------

HOSTILE = ["<script>alert(1)</script>", "[red]x[/red]", "a\"b'c", "esc\x1b[31m\x07", "🦊"]
HOSTILE += ["x" * 300, "two\nlines", "right\u202eleft", ""]


def test_names_do_no_harm_on_a_terminal(select, write, columns):
    values = columns["height"]
    rng = np.random.default_rng(0)
    table = {name: (np.array(values) + rng.normal(size=len(values))).tolist() for name in HOSTILE}
    table["late"] = columns["late"]
    shown = select(write(table), "-t", "late", "-k", len(HOSTILE)).out
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "[red]x[/red]" in shown
    assert "esc\\x1b[31m\\x07" in shown
    assert "two\\nlines" in shown
    assert "(no name)" in shown


# A colour, C1's way to begin one, the start of the line, the other direction, a line of its own.
NASTY = "a\x1b[31m\x9b1m\rb\u202ec\nd"
SHOWN = r"a\x1b[31m\x9b1m\rb\u202ec\nd"


def is_harmless(text):
    return all(line.isprintable() for line in text.split("\n"))


def nasty_tables(columns, where):
    """Arguments that end in an error about the nasty text, and the exit code."""
    n = len(columns["late"])
    if where == "cells of the target":
        columns["late"] = [f"{NASTY} {i}" for i in range(n)]
    elif where == "classes":
        columns["late"] = ["b"] * (n - 5) + [NASTY] * 5
    elif where == "names":
        columns[NASTY] = columns["height"]
        return ["-t", "nothing"], 2
    elif where == "names of the options":
        return ["-t", NASTY], 2
    elif where == "missing values":
        columns[NASTY] = [None, *columns["height"][1:]]
    elif where == "two values":
        columns[NASTY] = columns.pop("late")
        return [], 2
    elif where == "left over":
        return ["-t", "late", "--drop", "height", NASTY], 2
    return ["-t", "late"], 1


@pytest.mark.parametrize(
    "where",
    [
        *("cells of the target", "classes", "names", "names of the options", "missing values"),
        *("two values", "left over"),
    ],
)
def test_errors_do_no_harm_on_a_terminal(select_two, write, columns, where):
    options, code = nasty_tables(columns, where)
    error = select_two(write(columns), *options, code=code).err
    assert is_harmless(error)
    assert r"a\x1b[31m" in error


@pytest.mark.parametrize("content", [b"", b"PAR1 and no more", b"a,late\n1,2,3\n", b"a\n1\n"])
def test_names_of_files_do_no_harm_on_a_terminal(select_two, tmp_path, content):
    path = tmp_path / f"{NASTY}.csv"
    path.write_bytes(content)
    error = select_two(path, "-t", "late", "--out", path, code=2).err
    assert is_harmless(error)
    if content != b"a\n1\n":
        error = select_two(path, "-t", "late", code=1).err
        assert f"{SHOWN}.csv" in error
        assert is_harmless(error)


def test_cells_of_a_row_that_is_too_long_do_no_harm_on_a_terminal(select_two, tmp_path):
    path = tmp_path / "long.csv"
    path.write_bytes(b"a,late\n1,\x1b[31m,\xc2\x9b1m,\xe2\x80\xae\n")
    error = select_two(path, "-t", "late", code=1).err
    assert r"\x1b[31m" in error
    assert is_harmless(error)


def test_results_keep_the_real_text(select, write, columns):
    columns[NASTY] = columns.pop("height")
    columns["late"] = [{"no": "no", "yes": NASTY}[label] for label in columns["late"]]
    ran = select(write(columns), "-t", "late", "-k", 3, "--json")
    assert NASTY in {feature["name"] for feature in ran.json["features"]}
    assert NASTY in ran.json["target"]["classes"]


def test_columns_of_the_same_name_are_told(select_two, write, columns):
    table = pa.table(columns).append_column("noise", pa.array(columns["height"]))
    error = select_two(write(table), "-t", "late", code=1).err
    assert "several columns of the same name: 'noise'" in error
    assert "--drop NAME" in error
    assert (
        select_two(write(table), "-t", "late", "--drop", "noise", "--json").json["n_features"] == 3
    )
