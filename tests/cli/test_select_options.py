"""Options, results and exit codes."""

import json
import re
import sqlite3
import sys
from contextlib import closing

import pytest

pytest.importorskip("pyarrow")


@pytest.fixture
def table(write, columns):
    return write(columns)


# ---- The search ---------------------------------------------------------------------------------


def test_settings_reach_the_search(safdr, table):
    asked = ("--k-max", 2, "--rule", "best", "--seed", 7, "--jobs", 2)
    ran = safdr("select", table, "-t", "late", "--json", *asked)
    settings = ran.json["settings"]
    wanted = {"max_features": 2, "rule": "best", "n_jobs": 2, "random_state": 7}
    assert {name: settings[name] for name in wanted} == wanted
    assert ran.json["seed"] == 7


@pytest.mark.parametrize("size", [(), ("-k", 2), ("-k", 2, "--no-validation")])
def test_the_method_of_the_paper_is_one_option(select, table, size):
    from safdr import AnnealingSelector, AnnealingSelectorCV

    settings = select(table, "-t", "late", "--as-published", *size, "--json").json["settings"]
    kind = AnnealingSelector if "--no-validation" in size else AnnealingSelectorCV
    published = kind.as_published().get_params(deep=False)
    for name in {"criterion", "ridge", "rule"} & set(published):
        assert settings[name] == published[name]
    assert (settings["C"], published["C"]) == ("infinite", float("inf"))
    assert settings["screen"] == "none"


def test_a_rule_overrides_that_of_the_paper(select, table):
    for rule in ("one_se", "best"):
        asked = ("--as-published", "--rule", rule, "--json")
        content = select(table, "-t", "late", *asked).json
        assert (content["settings"]["rule"], content["settings"]["criterion"]) == (rule, "fisher")
        assert content["size"]["rule"] == rule


def test_a_given_size_is_taken_and_validated(select, table):
    found = select(table, "-t", "late", "-k", 2, "--json").json
    assert len(found["features"]) == found["size"]["chosen"] == 2
    assert len(found["scores"]["validation"]["splits"]) == 5
    assert found["size"]["by_rule"] is None
    assert found["path"] == []


def test_what_chooses_a_size_is_noted_beside_a_given_one(select, table):
    notes = select(table, "-t", "late", "-k", 2, "--rule", "best", "--json").json["notes"]
    assert "--k-max 3 has no effect: -k 2 fixes the number of features." in notes
    assert "--rule best has no effect: -k 2 fixes the number of features." in notes


@pytest.mark.parametrize("names", [["height,noise"], ["height", "noise"], ['"noise",height']])
def test_names_may_be_set_apart_by_commas(select, write, columns, names):
    columns["a,b"] = columns["weight"]
    path = write(columns)

    def ask(option, *more):
        words = [word for name in names for word in (option, name)]
        return select(path, "-t", "late", *words, *more, "--json").json

    found = ask("--drop", "--drop", "a,b")
    assert {each["column"] for each in found["left_out"]} == {"height", "noise", "a,b"}
    found = ask("--always-include", "-k", 2)
    assert {each["name"] for each in found["features"]} == {"height", "noise"}
    assert sorted(found["settings"]["always_include"]) == ["height", "noise"]


def test_one_of_several_names_that_is_unknown_is_named(select, table):
    error = select(table, "-t", "late", "--categorical", "colour,heigt", code=2).err
    assert "no column 'heigt'. Did you mean 'height'?" in error


def test_the_number_may_be_chosen_by_a_tolerance(select, table):
    found = select(table, "-t", "late", "--rule", "tolerance", "--tolerance", 0.5, "--json").json
    assert (found["size"]["chosen"], found["settings"]["tolerance"]) == (1, 0.5)
    assert found["size"]["note"].startswith("tolerance took 1 feature")
    shown = select(table, "-t", "late", "--rule", "tolerance", "--tolerance", 0.5).out
    assert "the fewest within 0.5 of the best score (tolerance)" in " ".join(shown.split())


def test_a_tolerance_that_nothing_uses_is_noted(select, table):
    notes = select(table, "-t", "late", "--tolerance", 0.01, "--json").json["notes"]
    assert any("--tolerance 0.01" in note and "--rule tolerance" in note for note in notes)
    notes = select(table, "-t", "late", "-k", 2, "--tolerance", 0.01, "--json").json["notes"]
    assert "--tolerance 0.01 has no effect: -k 2 fixes the number of features." in notes


@pytest.mark.parametrize("value", [-1, "nan", "inf", "x"])
def test_a_wrong_tolerance_is_named_before_the_table_is_read(safdr, value):
    assert "--tolerance" in safdr("select", "no-such.csv", "--tolerance", value, code=2).err


def test_the_note_is_on_the_terminal_and_in_the_json(select, table):
    note = select(table, "-t", "late", "--json").json["size"]["note"]
    assert note in " ".join(select(table, "-t", "late").out.split())


def test_the_same_seed_gives_the_same_answer_on_any_number_of_jobs(select, table):
    one, two = (select(table, "-t", "late", "--jobs", jobs, "--json").json for jobs in (1, 2))
    for found in (one, two):
        for name in ("seconds", "created", "settings"):
            del found[name]
    assert one == two


def test_all_rows_may_be_learnt_from(select, table):
    found = select(table, "-t", "late", "--test-size", 0, "--json").json
    assert found["rows"] == {"train": 200, "test": 0}
    assert found["scores"]["test"] is None
    assert "on validation splits" in select(table, "-t", "late", "--test-size", 0).out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-k", "0"], "-k must be at least 1; got 0"),
        (["-k", "5"], "-k must be at most 4, the number of features; got 5"),
        (["--test-size", "1.5"], "--test-size must be at least 0 and below 1; got 1.5"),
        (["--seed", "-1"], "--seed must be from 0 to 4294967295; got -1"),
        (["--jobs", "0"], "--jobs must be an int in the range [-4096, -1] or "),
        (["--jobs", "100000"], "Got 100000 instead. 1 does one thing at a time, and -1 takes all"),
        (["--jobs", "-100000"], "int in the range [1, 4096]. Got -100000 instead. 1 does"),
        (["--prove", "-1"], "--prove must be a float in the range [0.0, inf). Got -1.0 instead."),
        (["--prove", "nan"], "It is a time in seconds, such as 10; leave it out for no proof."),
        (["--drop", "noise", "colour"], "Use: --drop noise --drop colour"),
        (["other.parquet"], "'other.parquet' is left over"),
        (["--drop", "nose"], "Did you mean 'noise'?"),
        (["--positive", "maybe"], "no value 'maybe'"),
        (["--rule", "worst"], "worst"),
        (["--traget", "x"], "Unknown option: --traget. Did you mean --target?"),
        (["--categorycal=colour"], "--categorycal. Did you mean --categorical?"),
        (["--categories", "colour"], "Unknown option: --categories. safdr select --help-all"),
        (["--folds", "5"], "--folds. safdr select --help-all shows all."),
        (["--jobs", "many"], "Invalid value for --jobs: must be a whole number; got 'many'."),
        (["--seed", "2.5"], "Invalid value for --seed: must be a whole number; got '2.5'."),
        (["-k", "nan"], "Invalid value for -k: must be a whole number; got 'nan'."),
        (
            ["--export", "model.pmml"],
            "An export must end in .csv, .onnx, .py or .sql; got 'model.pmml'",
        ),
        (["--out", "nowhere/result.json"], "is in a folder that does not exist"),
    ],
)
def test_wrong_usage_ends_with_code_2(select, table, options, message):
    ran = select(table, "-t", "late", *options, code=2)
    assert message in " ".join(re.sub("[│╭╮╰╯─]", " ", ran.err).split())
    assert ran.out == ""


@pytest.mark.parametrize(("option", "value"), [("--tolerance", "-1"), ("--cost-strength", "nan")])
def test_a_wrong_setting_is_told_before_the_table_is_read(safdr, option, value):
    error = safdr("select", "none.csv", "-t", "late", option, value, code=2).err
    assert f"{option} must be a" in error


@pytest.mark.parametrize("value", ["2", "2.0", "2e0", "+2"])
def test_whole_numbers_may_be_written_in_any_way(select, table, value):
    assert select(table, "-t", "late", "-k", value, "--json").json["size"]["chosen"] == 2


def test_a_package_that_is_missing_is_told_in_a_sentence(select, table, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    error = select(table, "-t", "late", "--export", "m.onnx", code=2).err
    assert error.startswith("safdr select: An ONNX export needs onnx, which is not installed.")


def test_k_max_is_checked(safdr, table):
    assert "--k-max must be at least 1" in safdr("select", table, "--k-max", 0, code=2).err


# ---- Results ------------------------------------------------------------------------------------


def test_the_answer_has_all_that_was_promised(select, table):
    shown = select(table, "-t", "late").out
    for part in (
        "of 4 features tell",
        "late = yes from no",
        "Coefficient",
        "Odds ratio",
        "(intercept)",
        "validation  0.",
        "held out    0.",
        "95 % interval",
        "k* = ",
        "one_se took ",
        "one_sd would take ",
        "160 to learn from, 40 held out",
        " s\n",
    ):
        assert part in shown
    assert max(map(len, shown.splitlines())) <= 100


def test_slopes_and_duplicates_are_told_where_there_is_something_to_tell(select, write, columns):
    def told(size, *options):
        found = select(write(columns), "-t", "late", "-k", size, *options, "--json").json
        shown = select(write(columns), "-t", "late", "-k", size, *options).out
        return found["calibration_slope"], " ".join(shown.split())

    slope, shown = told(1)
    assert slope < 1
    splits = "of the validation splits"
    assert f"Slopes were multiplied by the calibration slope {splits}, {slope:.2f}." in shown
    assert "duplicate" not in shown
    for size, options, expected in ((2, (), 1.0), (1, ("--as-published",), None)):
        slope, shown = told(size, *options)
        assert slope == expected
        assert "Slopes" not in shown
    columns["twice"] = [2 * value for value in columns["height"]]
    assert "1 column is a duplicate of another and was left out of the search." in told(2)[1]


def test_quiet_prints_nothing(select, table, tmp_path):
    ran = select(table, "-t", "late", "--quiet", "--out", tmp_path / "r.json")
    assert (ran.out, ran.err) == ("", "")


def test_json_is_what_out_writes(select, table, tmp_path):
    out = tmp_path / "result.json"
    ran = select(table, "-t", "late", "--json", "--out", out)
    assert ran.err == ""
    assert json.loads(out.read_text()) == ran.json
    for name in ("features", "intercept", "scores", "settings", "versions", "data_fingerprint"):
        assert ran.json[name]
    assert ran.json["settings"]["file"] == str(table)
    assert ran.json["settings"]["test_size"] == 0.2


def test_coefficients_are_on_the_scale_of_the_table(select, write, columns):
    one = select(write(columns), "-t", "late", "-k", 3, "--json").json
    columns["weight"] = [1000 * w for w in columns["weight"]]
    two = select(write(columns), "-t", "late", "-k", 3, "--json").json
    weight, scaled = (
        next(f["coefficient"] for f in found["features"] if f["name"] == "weight")
        for found in (one, two)
    )
    assert weight == pytest.approx(1000 * scaled, rel=1e-6)


def test_all_files_are_written(select, table, tmp_path):
    pytest.importorskip("onnx")
    pytest.importorskip("jinja2")
    names = ["r.html", "r.json", "m.py", "m.sql", "m.onnx"]
    report, out, *exports = (tmp_path / name for name in names)
    options = [part for path in exports for part in ("--export", path)]
    shown = select(table, "-t", "late", "--report", report, "--out", out, *options).out
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*names, table.name])
    assert "wrote" in shown
    assert report.read_text().lstrip().lower().startswith("<!doctype html>")


def test_an_exported_query_scores_the_table(select, table, columns, tmp_path):
    select(table, "-t", "late", "-k", 3, "--export", tmp_path / "m.sql", "--quiet")
    with closing(sqlite3.connect(":memory:")) as database:
        database.create_function("EXP", 1, __import__("math").exp)
        database.execute(f"CREATE TABLE loans ({', '.join(columns)})")
        rows = list(zip(*columns.values(), strict=True))
        database.executemany("INSERT INTO loans VALUES (?, ?, ?, ?, ?)", rows)
        scored = database.execute((tmp_path / "m.sql").read_text()).fetchall()
    late = [row[-1] for row in scored if row[4] == "yes"]
    in_time = [row[-1] for row in scored if row[4] == "no"]
    assert sum(late) / len(late) > 0.55 > 0.45 > sum(in_time) / len(in_time)


def test_a_file_that_is_there_is_replaced_only_by_force(select, table, tmp_path):
    out = tmp_path / "result.json"
    out.write_text("precious")
    error = select(table, "-t", "late", "--out", out, code=2).err
    assert "is already there. Replace it with --force" in error
    assert out.read_text() == "precious"
    select(table, "-t", "late", "--out", out, "--force")
    assert json.loads(out.read_text())["features"]


def test_no_result_replaces_the_table(select, table):
    before = table.read_bytes()
    error = select(table, "-t", "late", "--out", table, "--force", code=2).err
    assert "is the table itself" in error
    assert table.read_bytes() == before


def test_one_file_can_not_hold_two_results(select, table, tmp_path):
    path = tmp_path / "r.sql"
    error = select(table, "-t", "late", "--out", path, "--export", path, code=2).err
    assert "is named twice" in error


def test_debug_shows_the_traceback(table):
    from safdr.cli import main
    from safdr.table.errors import UnknownColumnError

    with pytest.raises(UnknownColumnError):
        main(["select", str(table), "-t", "lat", "--debug"])


def test_an_unexpected_error_is_one_line(select, table, monkeypatch):
    def fail(*_):
        raise RuntimeError("the moon is in the way")

    monkeypatch.setattr("safdr.cli.selecting.prepare_rows", fail)
    error = select(table, "-t", "late", code=1).err
    assert "Unexpected: RuntimeError: the moon is in the way" in error
    assert "--debug" in error
