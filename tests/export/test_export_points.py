"""Points of a scorecard: card, Python, SQLite and DuckDB give those of the model's log-odds."""

import csv
import io
import json
import math
import sqlite3
import subprocess
import sys
from contextlib import closing

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_wine

pa = pytest.importorskip("pyarrow")
duckdb = pytest.importorskip("duckdb")
import pyarrow.csv

from safdr import AnnealingRegressorSelector, AnnealingSelector, ParameterError, Scorecard
from safdr.cli import main

HOSTILE = 'it\'s "amount", \\ €'


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(2)
    n, y = 300, np.arange(300) % 2
    return pa.table(
        {
            HOSTILE: (1e5 + 1e4 * (rng.normal(size=n) + y)).round(2),
            "region": np.where(rng.random(n) < 0.3 + 0.3 * y, "n;orth", "south").tolist(),
            "flag": (rng.random(n) < 0.3 + 0.3 * y).tolist(),
            "late": np.where(y, "yes", "no").tolist(),
        }
    )


def exported(folder, table, *options):
    """Card, Python and SQL of one run, and its result."""
    source = folder / "loans.csv"
    pyarrow.csv.write_csv(table, source)
    files = [folder / name for name in ("card.csv", "score.py", "score.sql", "out.json")]
    words = ["select", source, "-t", "late", "-k", 3, "-q", *options]
    words += [part for path in files[:3] for part in ("--export", path)] + ["--out", files[3]]
    with pytest.raises(SystemExit) as end:
        main([str(word) for word in words])
    assert not end.value.code
    return files


def by_hand(card, row, whole):
    """Points of a row, added up as the card says."""
    total = 0.0
    for line in card:
        value = row.get(line["feature"])
        if line["feature"] == "(base points)":
            total += float(line["points"])
        elif line["points_per_unit"]:
            number = min(max(float(value), float(line["least"])), float(line["largest"]))
            own = float(line["points_per_unit"]) * (number - float(line["counted_from"]))
            total += math.floor(own + 0.5) if whole else own
        elif str(value).lower() == line["value"].lower():
            total += float(line["points"])
    return total


@pytest.mark.parametrize("options", [(), ("--whole-points", "--pdo", "-15", "--base-odds", "2")])
def test_all_forms_give_the_points_of_the_log_odds(tmp_path, table, options):
    card, python, sql, out = exported(tmp_path, table, *options)
    whole = bool(options)
    pdo, base_odds = (-15, 2) if whole else (20, 50)
    lines = [*csv.DictReader(io.StringIO(card.read_text()))]
    assert {line["feature"] for line in lines} == {"(base points)", HOSTILE, "region", "flag"}
    assert {line["value"] for line in lines if line["feature"] == "region"} == {"n;orth", "south"}
    rows = (tmp_path / "loans.csv").read_bytes()
    ran = subprocess.run([sys.executable, "-I", python], input=rows, capture_output=True)
    scored = pd.read_csv(io.BytesIO(ran.stdout))
    exact = 600 + pdo / math.log(2) * (-scored["log_odds"] - math.log(base_odds))
    own = [by_hand(lines, row, whole) for row in table.to_pylist()]
    np.testing.assert_allclose(scored["points"], own, rtol=0, atol=1e-7)
    np.testing.assert_allclose(scored["points"], exact, rtol=0, atol=2.0 if whole else 1e-7)
    if whole:
        assert (scored["points"] % 1 == 0).all()
        assert all(float(line["points"]) % 1 == 0 for line in lines if line["points"])
        (note,) = [each for each in json.loads(out.read_text())["notes"] if "Points" in str(each)]
        mean = np.abs(scored["points"] - exact).mean()
        assert "points on average" in str(note)
        assert 0 < mean < 2
    query = sql.read_text()
    loans = table
    with duckdb.connect() as database:
        database.register("loans", loans)
        found = database.execute(query).df()
    np.testing.assert_allclose(found["points"], own, rtol=0, atol=1e-7)
    frame = table.to_pandas()
    with closing(sqlite3.connect(":memory:")) as database:
        database.create_function("EXP", 1, math.exp)
        database.create_function("FLOOR", 1, math.floor)
        frame.to_sql("loans", database, index=False)
        found = pd.read_sql(query, database)
    np.testing.assert_allclose(found["points"], own, rtol=0, atol=1e-7)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--pdo", 20), "--pdo is about the points of a scorecard, and none is asked for"),
        (("--export", "c.csv", "--pdo", 0), "--pdo must not be 0"),
        (("--export", "c.csv", "--base-odds", -1), "--base-odds must be above 0"),
        (("--points",), "--points needs a file"),
        (("--points", "--export", "m.py", "--export", "m.onnx"), "not as .onnx"),
    ],
)
def test_points_that_can_not_be_are_refused(tmp_path, monkeypatch, capfd, options, words):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as end:
        main(["select", *map(str, options)])
    assert end.value.code == 2
    assert words in " ".join(capfd.readouterr().err.split())


def test_quantities_and_more_classes_have_no_points(tmp_path, capfd):
    source = tmp_path / "wine.csv"
    load_wine(as_frame=True).frame.to_csv(source, index=False)
    for target, words in (("target", "has 3 classes"), ("alcohol", "is a quantity")):
        with pytest.raises(SystemExit):
            main(["select", str(source), "-t", target, "--export", str(tmp_path / "c.csv")])
        assert words in " ".join(capfd.readouterr().err.split())


def test_a_card_in_python(tmp_path):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    selector = AnnealingSelector(3, clip=0.05, random_state=0).fit(X, y)
    card = Scorecard.from_estimator(selector, X, pdo=40, base_points=500, base_odds=3)
    wanted = 500 + 40 / math.log(2) * (-selector.decision_function(X) - math.log(3))
    np.testing.assert_allclose(card.score(X), wanted, atol=1e-8)
    card.to_csv(tmp_path / "card.csv")
    pd.testing.assert_frame_equal(
        pd.read_csv(tmp_path / "card.csv").dropna(axis=1, how="all"), card.to_frame()
    )
    whole = Scorecard.from_estimator(selector, X, whole=True)
    exact = Scorecard.from_estimator(selector, X).score(X)
    assert whole.largest_rounding == pytest.approx(np.abs(whole.score(X) - exact).max())
    assert whole.mean_rounding < whole.largest_rounding <= 2
    assert "600 points stand for 50 of '0' to one of '1'; 20 more double these odds" in str(whole)


def test_a_card_needs_two_classes_and_a_scale():
    X, y = load_wine(return_X_y=True)
    with pytest.raises(ParameterError, match="must be a fitted AnnealingSelector"):
        Scorecard.from_estimator(AnnealingSelector(2), X)
    for fitted in (
        AnnealingSelector(2, random_state=0).fit(X, y),
        AnnealingRegressorSelector(2, random_state=0).fit(X, X[:, 0] + X[:, 3]),
    ):
        with pytest.raises(ParameterError, match="two classes"):
            Scorecard.from_estimator(fitted, X)
    two = AnnealingSelector(2, random_state=0).fit(X, y > 0)
    with pytest.raises(ParameterError, match="base_odds must be above 0"):
        Scorecard.from_estimator(two, X, base_odds=0)
