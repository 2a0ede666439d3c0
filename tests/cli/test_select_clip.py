"""Columns capped at their outer quantiles, from file to formula."""

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
pyarrow_csv = pytest.importorskip("pyarrow.csv")
pq = pytest.importorskip("pyarrow.parquet")

N = 1200


@pytest.fixture
def loans(rng):
    """Incomes of which a few are a thousand times too large."""
    late = rng.integers(0, 2, N)
    income = rng.normal(3000, 500, N) - 400 * late
    income[rng.choice(N, 6, replace=False)] *= 1000
    return pa.table(
        {
            "income": income,
            "debt": rng.gamma(2, 100, N) + 80 * late,
            "noise": rng.normal(size=N),
            "colour": rng.choice(["red", "green", "blue"], N, p=[0.6, 0.38, 0.02]),
            "late": late,
        }
    )


@pytest.fixture(params=["csv", "parquet"])
def file(request, loans, tmp_path):
    """The same table in both kinds of files."""
    path = tmp_path / f"loans.{request.param}"
    (pyarrow_csv.write_csv if request.param == "csv" else pq.write_table)(loans, path)
    return path


def limits(values, share=0.01):
    ordered = np.sort(values)
    place = int(np.ceil(share * len(values))) - 1
    return ordered[place], ordered[-1 - place]


@pytest.mark.parametrize("C", [1, "inf"])
def test_far_values_count_as_the_nearest_in_all_formulas(select, file, loans, tmp_path, C):
    exports = [tmp_path / f"score.{ending}" for ending in ("py", "sql", "onnx")]
    words = [word for path in exports for word in ("--export", path)]
    options = ("-t", "late", "-k", 2, "--clip", 0.01, "--C", C, "--test-size", 0, "--json")
    found = select(file, *options, *words).json
    assert {each["name"] for each in found["features"]} == {"income", "debt"}
    module = {"__name__": "score"}
    exec(exports[0].read_text(), module)
    ends = {name: limits(loans.column(name).to_numpy()) for name in ("income", "debt")}
    rows = [*loans.slice(0, 50).to_pylist(), {"income": 1e9, "debt": -5.0}]
    for row in rows:
        wanted = found["intercept"] + sum(
            each["coefficient"] * np.clip(row[each["name"]], *ends[each["name"]])
            for each in found["features"]
        )
        assert module["log_odds"](row) == pytest.approx(wanted, rel=1e-9)
    assert "counts as the nearest" in exports[1].read_text()
    assert found["settings"]["clip"] == 0.01


def test_capped_columns_predict_better(select, file):
    options = ("-t", "late", "-k", 1, "--C", "inf", "--prove", 1, "--json")
    plain, capped = select(file, *options).json, select(file, *options, "--clip", 0.01).json
    assert capped["scores"]["test"]["value"] > plain["scores"]["test"]["value"]
    assert capped["scores"]["validation"]["mean"] > plain["scores"]["validation"]["mean"]


def test_proofs_are_about_capped_columns(select, write, loans):
    path = write(loans.drop_columns("colour"))
    found = select(path, "-t", "late", "-k", 2, "--clip", 0.01, "--prove", 1, "--json").json
    assert found["proof"]["optimal"]
    assert found["near_ties"]["sets"][0]["criterion_value"] == pytest.approx(
        found["proof"]["value"], rel=1e-9
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--clip", 0.7], "--clip must be a float in the range (0.0, 0.5)"),
        (["--clip", "some"], "some"),
        (["--clip", 0.1, "--stream", "--sample-rows", 500], "--clip needs all rows in memory"),
    ],
)
def test_what_makes_no_sense_is_told(select, write, loans, options, message):
    error = " ".join(select(write(loans), "-t", "late", *options, code=2).err.split())
    assert message in error
