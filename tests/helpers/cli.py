"""The command line run in this process, a small table to run it on, and what a result says."""

import json

import numpy as np
import pytest

# Few sizes, to be quick.
QUICK = ("-k", "1-3")
JSON = ("-o", "-")


class Ran:
    """What a command printed."""

    def __init__(self, captured):
        self.out, self.err = captured

    @property
    def json(self):
        return json.loads(self.out)


# ---- What a result says --------------------------------------------------------------------------


def features_of(found, names):
    """Names of the selected features, in the order of `names`."""
    chosen = {each["feature"] for each in found["model"]["terms"]}
    assert chosen <= set(names)
    return [name for name in names if name in chosen]


def coefficients_of(found, names):
    """Coefficients of the selected features: a row for each score."""
    terms = {each["feature"]: each["coefficients"] for each in found["model"]["terms"]}
    return np.array([terms[name] for name in names if name in terms]).T


def assert_same(found, selector, names):
    """Subset, model and scores of a result are those of a fitted selector."""
    assert features_of(found, names) == [names[j] for j in selector.subset_]
    model = selector.estimator_
    ours = coefficients_of(found, names)
    np.testing.assert_allclose(ours, np.atleast_2d(model.coef_), rtol=1e-9)
    np.testing.assert_allclose(found["model"]["intercepts"], np.ravel(model.intercept_), rtol=1e-7)
    results = selector.cv_results_
    row = results["n_features"].tolist().index(selector.n_features_)
    wanted = [results[f"split{i}_test_score"][row] for i in range(selector.n_splits_)]
    (size,) = [each for each in found["sizes"] if each["k"] == selector.n_features_]
    np.testing.assert_allclose(size["splits"], wanted, rtol=1e-12)


# ---- Runs ----------------------------------------------------------------------------------------


def exit_code(*arguments):
    """Run ``safdr`` with arguments, and return the code that it ends with."""
    from safdr.cli import main

    try:
        main([str(argument) for argument in arguments])
    except SystemExit as end:
        return end.code or 0
    return 0


@pytest.fixture
def safdr(capfd, monkeypatch):
    """Run ``safdr`` with arguments, and check how it ends."""
    monkeypatch.setenv("COLUMNS", "100")

    def run(*arguments, code=0):
        capfd.readouterr()
        got = exit_code(*arguments)
        ran = Ran(capfd.readouterr())
        assert got == code, ran.err
        assert "Traceback" not in ran.err
        return ran

    return run


@pytest.fixture
def select(safdr):
    """Run ``safdr select`` quickly."""
    return lambda *arguments, code=0: safdr("select", *arguments, *QUICK, code=code)


def make_columns(n_rows=200):
    """Two numbers and a colour that tell the class, one number that does not."""
    rng = np.random.default_rng(5)
    y = np.arange(n_rows) % 2
    height, weight, noise = rng.normal(size=(3, n_rows))
    colour = np.where(rng.random(n_rows) < 0.3 + 0.4 * y, "red", "green")
    return {
        "height": (height + y).round(3).tolist(),
        "weight": (10 * weight - 5 * y).round(3).tolist(),
        "noise": noise.round(3).tolist(),
        "colour": colour.tolist(),
        "late": np.where(y, "yes", "no").tolist(),
    }


@pytest.fixture
def columns():
    """Columns of a small table; change them at will."""
    return make_columns()


@pytest.fixture
def write(tmp_path):
    """Write columns as Parquet, and return the path."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    def to_file(columns, name="loans.parquet"):
        path = tmp_path / name
        table = columns if isinstance(columns, pa.Table) else pa.table(columns)
        pq.write_table(table, path)
        return path

    return to_file
