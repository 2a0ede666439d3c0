"""How sure the answer is: --prove and --stability, in words, in the JSON and in the report."""

import json

import pytest

pytest.importorskip("pyarrow")

from safdr.report.numbers import signed

PROVE = ("--prove", 60)


@pytest.fixture
def numbers(write, columns):
    """A table without categories of more than two values, whose subsets can be proven."""
    return write(columns)


@pytest.fixture
def categories(write, columns):
    town = [("York", "Leeds", "Bath")[i % 3] for i in range(len(columns["late"]))]
    return write({**columns, "town": town})


def flat(text):
    return " ".join(text.split())


def test_a_proof_is_told_in_words(select, numbers):
    text = flat(select(numbers, "-t", "late", "-k", 2, *PROVE).out)
    assert "Proven: by the Fisher ratio," in text
    assert "2 of the 4 features" in text
    assert "within 1 %" in text
    assert "not about the model's loss, nor other rows." in text


def test_a_proof_changes_no_number(select, numbers):
    plain = select(numbers, "-t", "late", "--json").json
    proven = select(numbers, "-t", "late", "--json", *PROVE).json
    assert (plain["proof"], plain["near_ties"], plain["substitutes"]) == (None, None, None)
    assert proven["proof"]["optimal"] is True
    assert proven["near_ties"]["exact"] is True
    assert proven["settings"].pop("prove") == 60
    assert plain["settings"].pop("prove") is None
    for key in ("features", "intercept", "scores", "path", "alternatives", "settings"):
        assert proven[key] == plain[key]


@pytest.mark.parametrize(
    "options",
    [
        ("--class-weight", "balanced"),
        ("--cost", "noise=0.1", "--cost-strength", 2),
        ("--always-include", "noise", "--at-most-one-of", "height,weight"),
    ],
    ids=["weights", "costs", "constraints"],
)
def test_near_ties_are_of_the_criterion_that_was_proven(select, numbers, options):
    found = select(numbers, "-t", "late", "-k", 2, *PROVE, "--json", *options).json
    best = found["near_ties"]["sets"][0]
    assert best["criterion_value"] == pytest.approx(found["proof"]["value"], rel=1e-9)
    assert best["indices"] == found["proof"]["indices"]


def test_categories_can_not_be_proven_and_stop_nothing(select, categories, tmp_path):
    page = tmp_path / "report.html"
    ran = select(categories, "-t", "late", *PROVE, "--report", page)
    assert "Not proven: the values of a category" in flat(ran.out)
    assert "With --split-categories" in flat(ran.out)
    assert "Not proven: the values of a category" in page.read_text(encoding="utf-8")
    found = select(categories, "-t", "late", *PROVE, "--json").json
    assert found["proof"]["optimal"] is False
    assert "only sets of single columns can be proven" in found["proof"]["reason"]
    assert found["near_ties"]["exact"] is False
    assert found["settings"]["prove"] == 60
    assert found["features"]


def test_split_categories_are_proven(select, categories):
    found = select(categories, "-t", "late", *PROVE, "--split-categories", "--json").json
    assert found["proof"]["optimal"] is True


def test_what_else_is_wrong_is_told_as_ever(select, categories):
    error = select(
        categories, "-t", "late", "-k", 1, "--always-include", "height", "--always-include",
        "weight", *PROVE, code=2,
    ).err  # fmt: skip
    assert "-k" in error


def test_out_of_time_is_an_answer(select, numbers, monkeypatch):
    found = select(numbers, "-t", "late", "-k", 2, "--prove", 0, "--json").json
    assert found["proof"]["reason"] is None
    assert found["proof"]["upper_bound"] >= found["proof"]["value"]
    assert found["features"]


# ---- Stability ----------------------------------------------------------------------------------


def test_stability_is_told_in_words_and_numbers(select, categories, tmp_path):
    page, out = tmp_path / "report.html", tmp_path / "result.json"
    ask = (categories, "-t", "late", "-k", 2, "--stability", 4)
    ran = select(*ask, "--report", page, "--out", out)
    found = json.loads(out.read_text(encoding="utf-8"))
    counts = {each["name"]: each["count"] for each in found["stability"]["features"]}
    assert "town = York" not in counts
    assert sum(counts.values()) == 4 * 2
    chosen = {each["name"] for each in found["stability"]["features"] if each["chosen"]}
    assert chosen == {each["group"] or each["name"] for each in found["features"]}
    assert found["settings"]["stability"] == 4
    text = flat(ran.out)
    assert "In 4 half-samples: " in text
    assert all(f"{name} {counts[name]}" in text for name in chosen)
    assert "where 1 is always the same features and 0 is chance." in text
    assert "Would other rows choose the same?" in page.read_text(encoding="utf-8")


def test_stability_changes_no_number_and_hangs_on_the_seed_alone(select, numbers):
    ask = (numbers, "-t", "late", "-k", 2, "--json")
    plain, one, two = (
        select(*ask, *options).json
        for options in ((), ("--stability", 4), ("--stability", 4, "--jobs", 2))
    )
    assert plain["stability"] is None
    assert "stability" not in plain["settings"]
    assert one["features"] == plain["features"]
    assert one["stability"] == two["stability"]


def test_rows_that_can_not_be_halved_stop_nothing(select, numbers, monkeypatch):
    def refuse(*_, **__):
        raise ValueError("Half-sample 0 can't be searched.")

    monkeypatch.setattr("safdr.cli.certainty.stability", refuse)
    ran = select(numbers, "-t", "late", "-k", 1, "--stability", 4)
    assert "How stable the choice is can't be told: Half-sample 0 can't be" in flat(ran.out)
    found = select(numbers, "-t", "late", "-k", 1, "--stability", 4, "--json").json
    assert found["stability"]["reason"] == "Half-sample 0 can't be searched."
    assert found["features"]


@pytest.mark.parametrize(
    ("n", "instead"), [("21", 22), ("3", 50), ("2", 50), ("-4", 50), ("0", 50), ("1000002", 50)]
)
def test_a_wrong_number_of_half_samples_is_told_before_the_table_is_read(safdr, n, instead):
    error = safdr("select", "none.csv", "-t", "late", "--stability", n, code=2).err
    assert "--stability must be an even number from 4 to 1000000, since halves of the rows" in error
    assert f"got {n}. Ask for {instead}." in error


# ---- Substitutes --------------------------------------------------------------------------------


@pytest.mark.parametrize("option", [PROVE, ("--stability", 4)], ids=["prove", "stability"])
def test_replacements_come_with_either(select, categories, option):
    ask = (categories, "-t", "late", "-k", 2, *option)
    found = select(*ask, "--json").json["substitutes"]
    assert {each["chosen"] for each in found} <= {
        "height",
        "weight",
        "noise",
        "colour = red",
        "town",
    }
    best = next(each for each in found if each["replacement"] is not None)
    text = flat(select(*ask).out)
    assert f"{best['replacement']} for {best['chosen']} {signed(best['score_difference'])}" in text


# ---- Wrong values, and an early end -------------------------------------------------------------


@pytest.mark.parametrize("seconds", ["-1", "nan"])
def test_wrong_seconds_are_told_before_the_table_is_read(safdr, seconds):
    error = safdr("select", "none.csv", "-t", "late", "--prove", seconds, code=2).err
    assert "--prove must be" in error


def test_ctrl_c_tells_the_bound_so_far(select, numbers, monkeypatch):
    from safdr import AnnealingSelectorCV

    def stop(*_):
        error = KeyboardInterrupt()
        error.add_note("So far: Not proven.")
        raise error

    monkeypatch.setattr(AnnealingSelectorCV, "fit", stop)
    error = select(numbers, "-t", "late", *PROVE, code=130).err
    assert "Stopped. No file is half written.\nSo far: Not proven." in error
