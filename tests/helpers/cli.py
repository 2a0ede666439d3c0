"""Fixtures that run the command line in this process, and a small table to run it on."""

import json

import numpy as np
import pytest

# Few sizes, to be quick.
QUICK = ("--k-max", 3)


class Ran:
    """What a command printed."""

    def __init__(self, captured):
        self.out, self.err = captured

    @property
    def json(self):
        return json.loads(self.out)


# ---- What a result says --------------------------------------------------------------------------


def in_order(found):
    """What is said about each selected column, in the order of the columns."""
    return sorted(found["features"], key=lambda each: each["index"])


def features_of(found):
    """Names of the selected columns, in the order of the columns."""
    return [each["name"] for each in in_order(found)]


def coefficients_of(found):
    """Of the selected columns, on their own scale: a row for each class or output."""
    if found["intercepts"] is not None:
        return np.array([each["coefficients"] for each in in_order(found)]).T
    return np.array([[each["coefficient"] for each in in_order(found)]])


def intercepts_of(found):
    """A number for each class or output."""
    return np.array(found["intercepts"] or [found["intercept"]])


def validation_scores(found):
    """Scores of the selected size: one for each split."""
    return found["scores"]["validation"]["splits"]


def held_out_score(found):
    """Score on rows that are held out, and its interval."""
    return [found["scores"]["test"][name] for name in ("value", "low", "high")]


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
def ended():
    """Run ``safdr`` with arguments, and give the code that it ends with."""
    return exit_code


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


@pytest.fixture
def select_two(safdr):
    """Choose two features, for tests of what is read: the number is not searched for."""
    return lambda *arguments, code=0: safdr("select", *arguments, "--k", 2, code=code)


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
    """Write columns as Parquet, and give the path."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    def to_file(columns, name="loans.parquet"):
        path = tmp_path / name
        table = columns if isinstance(columns, pa.Table) else pa.table(columns)
        pq.write_table(table, path)
        return path

    return to_file
