"""Constraints, costs and class weights on the command line, in names of the table."""

import math
import re
import sqlite3
from contextlib import closing

import numpy as np
import pytest

pytest.importorskip("pyarrow")

from safdr.cli.lists import split_names

COLOURS = ("amber", "blue", "green", "red")


def make_people(n_rows=240):
    """Numbers that tell the class, one of them twice; a colour too; a town that does not."""
    rng = np.random.default_rng(7)
    y = np.arange(n_rows) % 2
    height, weight, noise = rng.normal(size=(3, n_rows))
    height = height + y
    shade = np.where(rng.random(n_rows) < 0.5, rng.integers(0, 4, n_rows), 2 * y + y)
    return {
        "row": list(range(n_rows)),
        "height": height.round(3).tolist(),
        "shoe": (height + 0.3 * noise).round(3).tolist(),
        "weight": (10 * weight - 5 * y).round(3).tolist(),
        "colour": np.array(COLOURS)[shade].tolist(),
        "town, city": np.array(["Bath", "Ely", "York"])[rng.integers(0, 3, n_rows)].tolist(),
        "same": [1] * n_rows,
        "late": np.where(y, "yes", "no").tolist(),
    }


@pytest.fixture
def people(write):
    return write(make_people(), "people.parquet")


@pytest.fixture
def found(select, people):
    """Run with options, and give the result."""
    return lambda *options: select(people, "-t", "late", *options, "--json").json


def columns_in(result):
    """Columns of the table that are in the model."""
    return {feature["name"].split(" = ")[0] for feature in result["features"]}


def words(text):
    return " ".join(re.sub("[│╭╮╰╯─]", " ", text).split())


# ---- Categories ----------------------------------------------------------------------------------


def test_a_category_enters_as_a_whole_and_counts_as_one(found):
    result = found("-k", 2, "--always-include", "colour")
    (group,) = {feature["group"] for feature in result["features"]} - {None}
    assert group == "colour"
    members = [f["name"] for f in result["features"] if f["group"] == "colour"]
    assert sorted(members) == sorted(result["coding"][0]["names"])
    assert len(members) == 3
    assert (result["size"]["chosen"], result["size"]["columns"]) == (2, 4)
    assert (result["n_features"], result["n_columns"]) == (5, 8)
    # Side by side, whatever their coefficients.
    places = [i for i, f in enumerate(result["features"]) if f["group"] == "colour"]
    assert places == list(range(places[0], places[0] + 3))


def test_categories_are_split_on_request(found):
    result = found("-k", 2, "--split-categories")
    assert (result["n_features"], result["n_columns"]) == (8, 8)
    assert result["groups"] == []
    assert len(result["features"]) == result["size"]["chosen"] == 2
    assert result["settings"]["split_categories"] is True


def test_every_size_chooses_whole_categories(found):
    result = found("--rule", "best")
    total = np.array(result["selection"]["share"]).sum(axis=0)
    np.testing.assert_allclose(total, result["selection"]["sizes"])
    names = {"height", "shoe", "weight", "colour", "town, city"}
    assert set(result["selection"]["features"]) <= names
    for each in result["alternatives"]:
        colours = [name for name in each["features"] if name.startswith("colour = ")]
        assert len(colours) in (0, 3)


def test_the_answer_shows_a_category_with_its_values(select, people):
    shown = select(people, "-t", "late", "-k", 2, "--always-include", "colour").out
    lines = [line.strip() for line in shown.splitlines()]
    place = lines.index("colour")
    assert all(line.startswith("= ") for line in lines[place + 1 : place + 4])
    assert "2 of 5 features (4 columns) tell" in words(shown)
    assert "a category is one feature" in shown
    split = select(people, "-t", "late", "-k", 2, "--split-categories").out
    assert "columns)" not in split
    assert "a category is one feature" not in split


def test_an_export_has_the_whole_category(select, people, tmp_path):
    pytest.importorskip("onnx")
    exports = [tmp_path / name for name in ("m.py", "m.sql", "m.onnx")]
    options = [part for path in exports for part in ("--export", path)]
    select(people, "-t", "late", "-k", 2, "--always-include", "colour", *options)
    columns = make_people()
    with closing(sqlite3.connect(":memory:")) as database:
        database.create_function("EXP", 1, math.exp)
        named = ", ".join(f'"{name}"' for name in columns)
        database.execute(f"CREATE TABLE people ({named})")
        rows = list(zip(*columns.values(), strict=True))
        database.executemany(f"INSERT INTO people VALUES ({', '.join('?' * len(columns))})", rows)
        scores = [row[-1] for row in database.execute(exports[1].read_text())]
    script = {}
    exec(exports[0].read_text(), script)
    assert all(f"'{colour}'" in exports[1].read_text() for colour in COLOURS[1:3])
    late = np.array(columns["late"]) == "yes"
    assert np.mean(np.array(scores)[late]) > np.mean(np.array(scores)[~late]) + 0.1


# ---- Constraints ---------------------------------------------------------------------------------


def test_a_feature_is_always_or_never_in(found):
    plain = columns_in(found("-k", 2))
    assert "town, city" not in plain
    result = found("-k", 2, "--always-include", "town, city")
    assert "town, city" in columns_in(result)
    assert result["settings"]["always_include"] == ["town, city"]
    for name in plain:
        assert name not in columns_in(found("-k", 2, "--never-include", name))


def test_every_size_has_what_is_always_in(found):
    result = found("--always-include", "town, city", "--always-include", "shoe")
    assert [each["size"] for each in result["path"]] == [2, 3]
    assert {"town, city", "shoe"} <= columns_in(result)
    assert (result["size"]["smallest"], result["size"]["largest"]) == (2, 3)


def test_one_value_brings_in_its_category_unless_it_is_split(found):
    grouped = found("-k", 1, "--always-include", "colour = blue")
    assert columns_in(grouped) == {"colour"}
    assert len(grouped["features"]) == 3
    split = found("-k", 1, "--always-include", "colour = blue", "--split-categories")
    assert [feature["name"] for feature in split["features"]] == ["colour = blue"]


def test_a_group_enters_together_and_takes_whole_categories(found):
    result = found("-k", 1, "--group", 'weight,"town, city"', "--always-include", "weight")
    assert columns_in(result) == {"weight", "town, city"}
    assert {feature["group"] for feature in result["features"]} == {"weight + town, city"}
    assert (result["n_features"], result["size"]["columns"]) == (4, 3)
    assert result["settings"]["groups"] == [["weight", "town, city"]]
    names = [group["name"] for group in result["groups"]]
    assert sorted(names) == ["colour", "weight + town, city"]


def test_one_category_may_stay_whole_while_others_are_split(found):
    result = found("-k", 1, "--split-categories", "--group", "colour", "--always-include", "colour")
    assert len(result["features"]) == 3
    assert (result["n_features"], result["n_columns"]) == (6, 8)


def test_rivals_are_never_in_together(found):
    assert {"height", "shoe"} <= columns_in(found("-k", 4, "--never-include", "town, city"))
    rivals = ("--at-most-one-of", "height,shoe")
    result = found("-k", 4, *rivals)
    assert not {"height", "shoe"} <= columns_in(result)
    # A category is one rival.
    result = found("-k", 3, "--at-most-one-of", "height,shoe,colour")
    assert len(columns_in(result) & {"height", "shoe", "colour"}) == 1
    assert result["settings"]["at_most_one_of"] == [["height", "shoe", "colour"]]


def test_a_coefficient_has_the_sign_that_is_asked_for(found, select, people):
    free = {f["name"]: f["coefficient"] for f in found("-k", 2)["features"]}
    assert free["height"] > 0
    limited = found("-k", 2, "--sign", "height=-", "--sign", "weight=-")
    own = {f["name"]: f["coefficient"] for f in limited["features"]}
    assert own.get("height", -1) < 0
    assert own.get("weight", -1) < 0
    assert limited["settings"]["signs"] == {"height": -1, "weight": -1}
    split = found("-k", 1, "--split-categories", "--sign", "colour = blue=+")
    assert split["features"]
    for text, why in {
        "colour=+": "--sign: 'colour' is text that enters as a whole",
        "colour = blue=+": "--sign: 'colour' is text that enters as a whole",
        "height": "--sign takes NAME=+ or NAME=-",
        "late=+": "The column 'late' is the target",
    }.items():
        assert why in words(select(people, "-t", "late", "--sign", text, code=2).err)


def test_a_costly_feature_is_replaced(found):
    (best,) = columns_in(found("-k", 1))
    result = found("-k", 1, "--cost", f"{best}=50")
    assert best not in columns_in(result)
    assert result["settings"]["feature_cost"] == {best: 50.0}
    # Without strength a cost is none.
    assert columns_in(found("-k", 1, "--cost", f"{best}=50", "--cost-strength", 0)) == {best}


def test_a_category_costs_once(found):
    options = ("-k", 2, "--always-include", "colour", "--always-include", "weight")
    plain = found(*options)["alternatives"][0]["criterion_value"]
    whole = found(*options, "--cost", "colour=0.25")["alternatives"][0]["criterion_value"]
    both = found(*options, "--cost", "colour=0.25", "--cost", "weight=0.5")
    assert plain - whole == pytest.approx(0.25)
    assert plain - both["alternatives"][0]["criterion_value"] == pytest.approx(0.75)


def test_a_cost_may_be_that_of_one_value(found):
    options = ("-k", 2, "--split-categories", "--cost", "colour = blue=2")
    assert found(*options)["settings"]["feature_cost"] == {"colour = blue": 2.0}


def test_a_strength_without_cost_is_noted(found):
    (note,) = (n for n in found("-k", 1, "--cost-strength", 2)["notes"] if "--cost-strength" in n)
    assert "no effect" in note


def test_classes_can_count_alike(select, write):
    columns = make_people()
    keep = [i for i, label in enumerate(columns["late"]) if label == "no" or i % 4 == 1]
    path = write(
        {name: [values[i] for i in keep] for name, values in columns.items()}, "few.parquet"
    )
    plain, alike = (
        select(path, "-t", "late", "-k", 1, "--always-include", "height", "--json", *options).json
        for options in ((), ("--class-weight", "balanced"))
    )
    # Twice as many rows of one class: the intercept moves by about log 2.
    assert alike["intercept"] - plain["intercept"] == pytest.approx(math.log(2), abs=0.15)
    assert any("--class-weight balanced" in note for note in alike["notes"])
    assert alike["settings"]["class_weight"] == "balanced"


def test_constraints_do_not_hang_on_the_number_of_jobs(found):
    options = ("--group", "height,shoe", "--cost", "colour=0.1", "--always-include", "weight")
    one, two = (found(*options, "--jobs", jobs) for jobs in (1, 2))
    for result in (one, two):
        for name in ("seconds", "created", "settings"):
            del result[name]
    assert one == two


# ---- Words ---------------------------------------------------------------------------------------


def test_a_list_of_names_is_what_people_write():
    assert split_names('a, b,"c, d",e"f') == ["a", "b", "c, d", 'e"f']


def test_all_constraints_go_together(select, people):
    options = ("-t", "late", "-k", 2, "--json")
    options += ("--group", 'weight,"town, city"', "--at-most-one-of", "height,shoe")
    options += ("--always-include", "weight", "--never-include", "colour", "--cost", "shoe=0.5")
    options += ("--cost-strength", 2, "--class-weight", "balanced")
    result = select(people, *options).json
    settings = result["settings"]
    wanted = {
        "always_include": ["weight"],
        "never_include": ["colour"],
        "groups": [["weight", "town, city"]],
        "at_most_one_of": [["height", "shoe"]],
        "feature_cost": {"shoe": 0.5},
        "cost_strength": 2,
        "class_weight": "balanced",
        "split_categories": False,
    }
    assert {name: settings[name] for name in wanted} == wanted
    assert columns_in(result) == {"weight", "town, city", "height"}
    assert select(people, *options, "--split-categories").json["n_features"] == 6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--always-include", "hight"], "--always-include: The table has no column 'hight'. Did"),
        (["--always-include", "hight"], "Did you mean 'height'?"),
        (["--cost", "colour = bluu=1"], "Did you mean 'colour = blue'?"),
        (["--group", "height,x"], "--group: The table has no column 'x'"),
        (["--never-include", "row"], "'row' is left out (an identifier: a whole number"),
        (["--always-include", "same"], "'same' is left out (one value only)"),
        (["--always-include", "shoe", "--drop", "shoe"], "'shoe' is left out (dropped on request)"),
        (["--at-most-one-of", "late,shoe"], "--at-most-one-of: The column 'late' is the target"),
        (["--cost", "height"], "--cost takes NAME=NUMBER, such as height=2.5; got 'height'"),
        (["--cost", "height=nan"], "--cost takes NAME=NUMBER"),
        (["--cost", "height=1", "--cost", "height=2"], "--cost gives 'height' twice"),
        (["--cost", "height=1", "--cost-strength", "-1"], "--cost-strength must be a float"),
        (["--class-weight", "even"], "balanced"),
        (["--group", "height"], "--group needs at least two features, as in --group A,B"),
        (["--group", "height", "shoe"], "--group takes names set apart by commas, so 'shoe' is"),
        (["--group", "height,shoe", "--group", "shoe,colour"], "'shoe' can't be in two groups"),
        (["--at-most-one-of", "colour"], "--at-most-one-of needs at least two features"),
        (["--at-most-one-of", "colour = blue,colour"], "--split-categories"),
        (["--never-include", "colour = blue"], "names a part of 'colour', which enters as a whole"),
        (["--never-include", "shoe", "--group", "shoe,height"], "names a part of 'shoe + height'"),
        (
            ["--always-include", "shoe", "--never-include", "shoe"],
            "'shoe' is in --always-include and in --never-include",
        ),
        (
            ["--always-include", "colour = blue", "--never-include", "colour"],
            "--always-include and --never-include must not share columns; both name 'colour",
        ),
        (
            ["-k", "1", "--always-include", "shoe", "--always-include", "height"],
            "-k must be at least 2, what --always-include counts",
        ),
        (
            [f"--always-include={name}" for name in ("shoe", "height", "weight", "colour")],
            "--k-max must be at least 4, what --always-include counts",
        ),
        (["-k", "5", "--never-include", "shoe"], "-k must be at most 4: the 8 columns to choose"),
        (["-k", "5", "--at-most-one-of", "shoe,height"], "--at-most-one-of allow no more at once"),
        (
            ["--at-most-one-of=shoe,height", "--always-include=shoe", "--always-include=height"],
            "--at-most-one-of allows one of 'height', 'shoe', but --always-include",
        ),
        (["-k", "6"], "-k must be at most 5, the number of features (columns that enter together"),
    ],
)
def test_what_can_not_be_is_wrong_usage_in_words_of_the_command_line(
    select, people, options, message
):
    ran = select(people, "-t", "late", *options, code=2)
    assert message in words(ran.err)
    assert not re.search(r"always_include|never_include|at_most|n_features|column \d", ran.err)
    assert ran.out == ""


def test_a_value_without_a_feature_says_why(select, write):
    columns = make_people()
    columns["colour"][:3] = ["pink"] * 3
    path = write(columns)
    result = select(path, "-t", "late", "-k", 1, "--json").json
    common = result["coding"][0]["reference"]
    for value, why in ((common, "are compared with"), ("pink", "too rare for a feature")):
        ran = select(path, "-t", "late", "--always-include", f"colour = {value}", code=2)
        assert why in ran.err


def test_the_hint_to_try_more_is_silent_where_no_more_are_allowed(safdr, people):
    options = ["--rule", "best", "--json"]
    limits = ["--never-include", "colour", "--never-include", "town, city", "--k-max", 3]
    size = safdr("select", people, "-t", "late", *options, *limits).json["size"]
    assert size["largest"] == size["possible"] == 3
    shown = safdr("select", people, "-t", "late", *options[:-1], *limits).out
    assert "try a larger --k-max" not in shown


def test_something_must_be_left_to_choose_from(select, write, columns):
    names = [part for name in columns if name != "late" for part in ("--never-include", name)]
    error = select(write(columns), "-t", "late", *names, code=2).err
    assert "--never-include leaves no feature to choose from. Take some out of it." in error
