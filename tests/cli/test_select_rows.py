"""Rows that weigh more than others, and rows that belong together."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

pa = pytest.importorskip("pyarrow")
pyarrow_csv = pytest.importorskip("pyarrow.csv")
pq = pytest.importorskip("pyarrow.parquet")

N = 1200


def make_loans(rng):
    late = rng.integers(0, 2, N)
    return {
        "x": rng.normal(size=N) + late,
        "z": rng.normal(size=N) + 0.5 * late,
        "noise": rng.normal(size=N),
        "customer": rng.integers(0, 150, N),
        "copies": rng.integers(0, 4, N),
        "late": late,
    }


@pytest.fixture
def loans(rng):
    return pa.table(make_loans(rng))


@pytest.fixture(params=["csv", "parquet"])
def file(request, loans, tmp_path):
    """The same table in both kinds of files."""
    path = tmp_path / f"loans.{request.param}"
    (pyarrow_csv.write_csv if request.param == "csv" else pq.write_table)(loans, path)
    return path


# ---- Weights ------------------------------------------------------------------------------------

PLAIN = ("-t", "late", "-k", 2, "--as-published", "--test-size", 0, "--drop", "customer", "--json")


def model(found):
    return [found["intercept"], *(each["coefficient"] for each in found["features"])]


def test_a_weight_is_a_number_of_copies(select, file, write, loans):
    weighted = select(file, *PLAIN, "--weight", "copies").json
    copied = loans.take(np.repeat(np.arange(N), loans.column("copies").to_numpy()))
    repeated = select(write(copied, "copied.parquet"), *PLAIN, "--drop", "copies").json
    plain = select(file, *PLAIN, "--drop", "copies").json
    np.testing.assert_allclose(model(weighted), model(repeated), rtol=1e-6)
    assert not np.allclose(model(weighted), model(plain), rtol=1e-3)
    assert {"column": "copies", "reason": "the weight of rows"} in weighted["left_out"]
    assert weighted["notes"][0].startswith("Rows count by copies (--weight)")


def test_scores_are_weighted_too(select, file, loans):
    found = select(file, "-t", "late", "-k", 2, "--weight", "copies", "--json").json
    options = ("-t", "late", "-k", 2, "--weight", "copies", "--as-published", "--drop", "customer")
    held = select(file, *options, "--split-by", "noise", "--test-size", 0.3, "--json").json
    columns = {name: loans.column(name).to_numpy() for name in loans.column_names}
    test = columns["noise"] >= np.sort(columns["noise"])[-held["rows"]["test"]]
    scores = sum(each["coefficient"] * columns[each["name"]] for each in held["features"])
    wanted = roc_auc_score(
        columns["late"][test], scores[test], sample_weight=columns["copies"][test]
    )
    assert held["scores"]["test"]["value"] == pytest.approx(wanted, abs=1e-12)
    test_score = held["scores"]["test"]
    assert test_score["low"] < test_score["value"] < test_score["high"]
    assert held["rows"]["test"] == pytest.approx(0.3 * N, abs=1)
    assert found["scores"]["scoring"] == "roc_auc"
    plain = select(file, "-t", "late", "-k", 2, "--drop", "copies", "--json").json
    assert found["scores"]["validation"]["splits"] != plain["scores"]["validation"]["splits"]


def test_what_is_asked_about_the_answer_is_weighted(select, file):
    options = ("-t", "late", "--weight", "copies", "--prove", 1, "--stability", 4, "--json")
    found = select(file, *options, "--class-weight", "balanced").json
    assert found["what_if"]["value"] == pytest.approx(found["proof"]["chosen_value"], rel=1e-9)
    assert found["proof"]["optimal"]
    assert found["near_ties"]["sets"][0]["criterion_value"] == pytest.approx(
        found["proof"]["value"], rel=1e-9
    )
    assert found["stability"]["reason"] is None
    assert found["substitutes"]
    assert found["size"]["note"].count("ROC AUC") == 1


def test_weights_in_passes_are_those_in_memory(select, write, loans):
    last = (loans.column("noise").to_numpy() >= 0.5).astype(int)
    path = write(pa.concat_tables([loans.append_column("last", pa.array(last))] * 3))
    options = (path, "-t", "late", "-k", 2, "--drop", "customer,noise", "--weight", "copies")
    options += ("--as-published", "--split-by", "last", "--prove", 1, "--sample-rows", 1500)
    options += ("--class-weight", "balanced", "--json")
    streamed, whole = select(*options, "--stream").json, select(*options).json
    assert "read in passes" in streamed["notes"][0]
    np.testing.assert_allclose(model(streamed), model(whole), rtol=1e-5)
    for part in ("value", "chosen_value"):
        assert streamed["proof"][part] == pytest.approx(whole["proof"][part], rel=1e-9)
    ties = [found["near_ties"]["sets"][0]["criterion_value"] for found in (streamed, whole)]
    assert ties[0] == pytest.approx(ties[1], rel=1e-9)
    assert streamed["scores"]["test"]["value"] == pytest.approx(
        whole["scores"]["test"]["value"], abs=2e-4
    )
    assert streamed["rows"] == whole["rows"]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0, None], "The weight 'w' is missing in 600 rows"),
        ([1.0, -2.0], "The weight 'w' is negative in some rows, down to -2"),
        (["a", "b"], "The column 'w' holds text, and weights are numbers"),
        ([True, False], "The column 'w' holds true and false, and weights are numbers"),
    ],
)
def test_what_is_no_weight(select, write, loans, values, message):
    table = loans.append_column("w", pa.array(values * (N // 2)))
    # Rows held out count as well.
    error = select(write(table), "-t", "late", "--weight", "w", code=2).err
    assert message in error
    assert "no column 'v'" in select(write(loans), "-t", "late", "--weight", "v", code=2).err
    assert "is the target" in select(write(loans), "-t", "late", "--weight", "late", code=2).err


# ---- Groups -------------------------------------------------------------------------------------


def test_rows_of_one_group_stay_on_one_side(loans):
    from safdr.cli.rows import rows_in_memory
    from safdr.table.choices import Choices

    values = loans.column("customer").to_pylist()
    gap = pa.array([None if i % 100 == 0 else value for i, value in enumerate(values)])
    loans = loans.set_column(loans.column_names.index("customer"), "customer", gap)
    rows = rows_in_memory(loans, Choices(target="late", group_by="customer"))
    sides = [rows.prepared.train, rows.prepared.test]
    learnt, tested = (set(part.table.column("customer").to_pylist()) - {None} for part in sides)
    assert not learnt & tested
    assert 0.1 < len(tested) / 150 < 0.3
    customers = np.array(sides[0].table.column("customer").to_pylist(), dtype=float)
    splits = list(rows.splitter(0).split(rows.X, rows.y, groups=sides[0].groups))
    assert len(splits) == 5
    for train, test in splits:
        assert not set(customers[train]) & set(customers[test])
        assert len(train) + len(test) == len(rows.y)


def test_groups_on_the_command_line(select, file):
    options = ("-t", "late", "--group-by", "customer", "--json")
    found = select(file, *options, "--stability", 4).json
    assert {"column": "customer", "reason": "names groups of rows"} in found["left_out"]
    assert "GroupShuffleSplit" in str(found["settings"]["cv"])
    assert found["stability"]["reason"] is None
    by_time = select(file, *options, "--split-by", "noise", "--weight", "copies").json
    assert any("among the rows held out and among" in note for note in by_time["notes"])


def test_ids_of_customers_are_no_features_but_groups(select, file, loans, tmp_path):
    table = loans.rename_columns(
        ["customer_id" if name == "customer" else name for name in loans.column_names]
    )
    path = tmp_path / f"ids{file.suffix}"
    (pyarrow_csv.write_csv if file.suffix == ".csv" else pq.write_table)(table, path)
    found = select(path, "-t", "late", "--json").json
    assert found["left_out"] == [
        {"column": "customer_id", "reason": "an identifier, by its name: 150 whole numbers"}
    ]
    assert "one side of all splits: --group-by customer_id." in " ".join(found["notes"])
    grouped = select(path, "-t", "late", "--group-by", "customer_id", "--json").json
    assert not any("one side of all splits" in note for note in grouped["notes"])


def test_groups_that_can_not_be(select, write, loans):
    few = loans.append_column("two", pa.array([0, 1] * (N // 2)))
    error = select(write(few), "-t", "late", "--group-by", "two", code=2).err
    assert "'two' names 2 groups of rows; at least 10 are needed" in error
    path = write(pa.concat_tables([loans] * 3))
    passes = ("--stream", "--sample-rows", 1000)
    error = select(path, "-t", "late", "--group-by", "customer", *passes, code=2).err
    assert "--group-by needs all rows in memory" in error
