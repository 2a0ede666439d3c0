"""A table as people have it, and all options at once: scikit-learn, asked by hand, agrees."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import softmax
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import log_loss, r2_score, roc_auc_score

pa = pytest.importorskip("pyarrow")
pyarrow_csv = pytest.importorskip("pyarrow.csv")
pq = pytest.importorskip("pyarrow.parquet")
pd = pytest.importorskip("pandas")

N = 1500
TARGETS = ("late", "status", "loss")


def comma(number):
    """As in 1.234,56."""
    return f"{number:,.2f}".translate(str.maketrans(",.", ".,"))


def make_numbers():
    """The table as it is meant."""
    rng = np.random.default_rng(11)
    month = rng.integers(0, 12, N)
    school = rng.choice([1, 2, 3, 4], N, p=[0.3, 0.4, 0.2, 0.1])
    income, debt = np.exp(rng.normal([10, 8], [0.5, 1], (N, 2))).round(2).T
    use = rng.uniform(0, 120, N).round(1)
    z = 0.03 * (use - 60) + 1.2 * (school == 3) - 0.7 * np.log(income / 22000) + 0.02 * month
    return pd.DataFrame(
        {
            "customer_id": rng.integers(10000, 10400, N),
            "month": 202401 + month,
            "sex": rng.integers(1, 3, N),
            "school": school,
            "income": income.round(),
            "use": use,
            "debt": debt,
            "exposure": rng.uniform(0.5, 3, N).round(2),
            "late": np.where(z + rng.logistic(size=N) > 0.5, "yes", "no"),
            "status": np.array(["good", "watch", "bad"])[
                np.digitize(z + rng.normal(size=N), [0, 1])
            ],
            "loss": (500 + 300 * z + 100 * rng.normal(size=N)).round(2),
        }
    )


def make_dirty(numbers):
    """The same as people write it."""
    dirty = numbers.assign(
        income=[f"{value:,.0f}" for value in numbers["income"]],
        use=[f"{value:.1f}%" for value in numbers["use"]],
        debt=[f"{comma(value)} EUR" for value in numbers["debt"]],
    )
    dirty.loc[::97, "debt"] = "unknown"
    return dirty


@pytest.fixture(scope="module")
def tables():
    numbers = make_numbers()
    return numbers, make_dirty(numbers)


@pytest.fixture(params=["csv", "parquet"])
def file(request, tables, tmp_path):
    path, table = tmp_path / f"loans.{request.param}", pa.Table.from_pandas(tables[1])
    (pyarrow_csv.write_csv if request.param == "csv" else pq.write_table)(table, path)
    return path


def by_hand(names, target, numbers, learnt, slope):
    """A model of scikit-learn on the features, its slopes scaled; and its numbers for all rows."""
    weight = numbers["exposure"].to_numpy()[learnt]
    columns = []
    for name in names:
        column, _, code = name.partition(" = ")
        values = numbers[column].to_numpy(dtype=float)
        columns.append(values == int(code) if code else values)
    X = np.column_stack(columns).astype(float)
    mean = np.average(X[learnt], axis=0, weights=weight)
    X = (X - mean) / np.sqrt(np.average((X[learnt] - mean) ** 2, axis=0, weights=weight))
    y = numbers[target].to_numpy()[learnt]
    if target == "loss":
        found = slope * LinearRegression().fit(X[learnt], y, sample_weight=weight).predict(X)
        found += np.average(y - found[learnt], weights=weight)
        return np.clip(found, y.min(), y.max())
    model = LogisticRegression(tol=1e-12, max_iter=9999).fit(X[learnt], y, sample_weight=weight)
    # In one column for each class, whose intercepts are then fitted again.
    scores = slope * model.decision_function(X)
    scores = scores if scores.ndim > 1 else np.column_stack([-scores / 2, scores / 2])

    def loss(intercepts):
        return log_loss(y, softmax(scores[learnt] + intercepts, axis=1), sample_weight=weight)

    again = minimize(loss, np.zeros(scores.shape[1]), tol=1e-8).x
    return softmax(scores + again, axis=1)


def score(target, numbers, rows, found):
    y, weight = numbers[target][rows], numbers["exposure"][rows]
    if target == "loss":
        return r2_score(y, found[rows], sample_weight=weight)
    classes = np.unique(numbers[target])
    areas = [
        roc_auc_score(y == label, found[rows, i], sample_weight=weight)
        for i, label in enumerate(classes)
    ]
    return np.mean(areas)


def in_duckdb(query, table):
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(config={"threads": 1}) as database:
        database.register("loans", pa.Table.from_pandas(table))
        return database.execute(query).df()


@pytest.mark.parametrize("target", TARGETS)
def test_all_options_at_once_give_what_scikit_learn_gives(select, file, tables, target, tmp_path):
    numbers, dirty = tables
    known = (dirty["debt"] != "unknown").to_numpy()
    held_out = known & (numbers["month"] >= 202410).to_numpy()
    exports = [tmp_path / "score.py", tmp_path / "score.sql"]
    found = select(
        *(file, "-t", target, "--drop", ",".join(name for name in TARGETS if name != target)),
        *("--missing", "drop-rows", "--categorical", "school,sex", "--weight", "exposure"),
        *("--group-by", "customer_id", "--split-by", "month", "--test-size", 0.25),
        *("-k", 3, "--always-include", "debt", "--json"),
        *(word for path in exports for word in ("--export", path)),
    ).json
    assert found["rows"] == {"train": int((known & ~held_out).sum()), "test": int(held_out.sum())}
    left_out = {each["column"] for each in found["left_out"]}
    assert left_out == {"customer_id", "month", "exposure", *TARGETS} - {target}
    names = [each["name"] for each in found["features"]]
    assert {"use", "debt"} < set(names)
    slope = found["calibration_slope"]
    wanted = by_hand(names, target, numbers, known & ~held_out, slope)
    value = found["scores"]["test"]["value"]
    assert value == pytest.approx(score(target, numbers, held_out, wanted), abs=1e-5)
    # The formulas: one reads the texts, the other numbers.
    module = {"__name__": "score"}
    exec(exports[0].read_text(), module)
    rows = dirty[known][:40].to_dict("records")
    scored = in_duckdb(exports[1].read_text(), numbers[known][:40])
    if target == "loss":
        np.testing.assert_allclose([module["prediction"](row) for row in rows], wanted[known][:40])
        np.testing.assert_allclose(scored["prediction"], wanted[known][:40])
    elif target == "late":
        told = [module["probability"](row) for row in rows]
        np.testing.assert_allclose(told, wanted[known][:40, 1], rtol=1e-4)
        np.testing.assert_allclose(scored["probability"], told, rtol=1e-9)
    else:
        told = [list(module["probabilities"](row).values()) for row in rows]
        np.testing.assert_allclose(told, wanted[known][:40], rtol=1e-4)
        columns = [f"probability_{label}" for label in ("bad", "good", "watch")]
        np.testing.assert_allclose(scored[columns], told, rtol=1e-9)
