"""The experiments: rules by hand, rows that survive a stop, tables from rows, small runs."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("threadpoolctl")

from experiments import data, evidence, methods, paper_methods, protocols, simulations, tables
from experiments.__main__ import main
from experiments.data import Data
from experiments.errors import ExperimentError
from experiments.run import EXPERIMENTS, Rows, missing, run_cells
from safdr import AnnealingSelector, evaluate_subsets

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def small():
    """Two classes, 150 rows, 8 features of which the first two matter."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 8))
    y = (2 * X[:, 0] - 2 * X[:, 1] + rng.logistic(size=150) > 0).astype(int)
    return Data("small", X, y, tuple(f"x{j}" for j in range(8)))


@pytest.mark.parametrize(("rule", "index"), [("one_sd", 1), ("one_se", 1)])
def test_a_rule_takes_the_first_size_within_the_tolerance(rule, index):
    scores = np.array([[0.5, 0.81, 0.80], [0.5, 0.80, 0.82], [0.5, 0.84, 0.84]])
    assert protocols.first_within(rule, scores) == index
    clear = scores + np.array([0.0, -0.2, 0.0])
    assert protocols.first_within(rule, clear) == 2


@pytest.mark.parametrize("name", ["recipe", "paper", "rfe", "lasso", "forward", "anova"])
def test_every_method_finds_the_two_relevant_features(small, name):
    subsets = methods.get(name)(small.X, small.y, [1, 2], 0)
    assert [len(subset) for subset in subsets] == [1, 2]
    assert subsets[1].tolist() == [0, 1]


def test_forward_selection_by_least_squares_is_the_greedy_search(rng):
    X = rng.standard_normal((60, 6))
    y = X[:, 1] - 0.5 * X[:, 4] + 0.1 * rng.standard_normal(60)
    (found,) = methods.forward_least_squares(X, y, [2])

    def residual(subset):
        columns = np.column_stack([np.ones(60), X[:, subset]])
        return np.linalg.lstsq(columns, y, rcond=None)[1][0]

    first = min(range(6), key=lambda j: residual([j]))
    second = min((j for j in range(6) if j != first), key=lambda j: residual([first, j]))
    assert found.tolist() == sorted([first, second])


def test_forward_selection_by_fishers_ratio_is_the_greedy_search(rng):
    y = np.arange(90) % 3
    X = rng.standard_normal((90, 7)) @ rng.standard_normal((7, 7))
    X[:, :3] += y[:, None] * rng.standard_normal(3)
    found = methods.forward_fisher(X, y, [1, 2, 3, 4], 0)
    how = AnnealingSelector.as_published()
    path = []
    for subset in found:
        subsets = [[*path, j] for j in range(7) if j not in path]
        values = evaluate_subsets(how, X, y, subsets).criterion_values
        path = subsets[int(np.argmax(values))]
        assert subset.tolist() == sorted(path)


def test_the_method_of_the_paper_has_its_settings():
    published = AnnealingSelector.as_published().annealing.get_params()
    assert paper_methods.get("sa-fdr").selector.annealing.get_params() == published
    changed = paper_methods.get("sa-fdr+n_batches=10").selector.annealing.get_params()
    assert changed == published | {"n_batches": 10}
    assert (published["n_replicas"], published["tol"], published["screen"]) == (50, 5e-3, None)


def test_the_protocol_of_the_paper_is_paired_and_repeatable(small):
    rows = [protocols.paper(small, "sa-fdr", 0) for _ in range(2)]
    for row in rows:
        row["folds"].pop("seconds")
    assert rows[0] == rows[1]
    chosen = protocols.chosen(rows[0], "one_sd")
    scores = np.array(rows[0]["folds"]["validation_auc"])
    assert chosen["index"] == protocols.first_within("one_sd", scores)
    assert chosen["test_auc"] == rows[0]["refit"]["test_auc"][chosen["index"]]
    other = protocols.paper(small, "rfe", 0)
    assert other["folds"]["n_features"] == rows[0]["folds"]["n_features"]


def test_the_calibration_slope_changes_the_loss_of_the_same_model(small):
    row = protocols.probabilities(small, "selector", 0)
    assert 0 <= row["calibration_slope"] <= 1
    if row["calibration_slope"] == 1:
        assert row["losses"]["with"] == pytest.approx(row["losses"]["without"])
    else:
        assert row["losses"]["with"] != row["losses"]["without"]


def test_the_simulated_error_is_that_of_new_rows():
    simulation = simulations.load("low-pattern1-rho0.35")
    (train, validation), noise = simulation.samples(0, 1.22)
    intercept, slopes = simulations.tuned(simulations.forward(*train, [1, 2, 3]), train, validation)
    rng = np.random.default_rng(1)
    n = 200_000
    X = rng.standard_normal((n, simulation.n_features))
    for j in range(1, simulation.n_features):
        X[:, j] = 0.35 * X[:, j - 1] + np.sqrt(1 - 0.35**2) * X[:, j]
    y = X @ simulation.slopes + noise**0.5 * rng.standard_normal(n)
    error = np.mean((y - intercept - X @ slopes) ** 2) / noise
    assert simulation.relative_test_error(intercept, slopes, noise) == pytest.approx(
        error, rel=0.02
    )


def test_rows_survive_a_stop_and_are_packed(tmp_path, monkeypatch, small):
    experiment = EXPERIMENTS["classes"]
    rows = Rows(tmp_path, "classes")
    cells = [key for key in experiment.cells() if key[:2] == ("wine", "anova")][:2]
    assert missing(experiment, rows, lambda key: key in cells) == cells
    errors = [error for _, _, error in run_cells(experiment, rows, cells[:1], jobs=1)]
    assert errors == [None]
    assert missing(experiment, rows, lambda key: key in cells) == cells[1:]
    rows.pack()
    assert set(rows.read()) == {cells[0]}
    assert not list(rows.loose.glob("*.json"))
    rows.pack(forget=[cells[0]])
    assert rows.read() == {}


# Two quick methods of each experiment on one set.
SLICES = {
    "paper": ("cancer", ("recipe", "rfe")),
    "ablation": ("cancer", ("sa-fdr", "sa-fdr+n_batches=2")),
    "equal": ("wine_1", ("recipe", "anova")),
    "classes": ("wine", ("recipe", "anova")),
    "regression": ("wine_alcohol", ("recipe", "forward")),
    "simulations": ("low-pattern1-rho0", ("recipe", "scaled", "lasso")),
    "probabilities": ("wine_1", ("selector",)),
}


def test_every_experiment_runs_and_its_rows_become_pages(tmp_path):
    for name, (where, how) in SLICES.items():
        experiment, rows = EXPERIMENTS[name], Rows(tmp_path, name)
        cells = [key for key in experiment.cells() if key[0] == where and key[1] in how]
        n_repeats = 1 if experiment.run is protocols.paper else 2
        cells = [key for key in cells if key[2] - experiment.first_repeat < n_repeats]
        assert len(cells) == n_repeats * len(how)
        assert {error for *_, error in run_cells(experiment, rows, cells, jobs=1)} == {None}
        for row in rows.read().values():
            assert row["seconds"] > 0
            assert {"safdr", "numpy", "scikit-learn", "machine", "date", "code"} <= set(row["made"])
        assert tables.PAGES[name](rows.read()).startswith("# ")
    page = evidence.page(tmp_path)
    assert page.count("`python -m experiments run ") == 5
    assert page.count("\n## ") >= 5


def test_rows_of_other_code_run_again(tmp_path, monkeypatch):
    rows = Rows(tmp_path, "classes")
    key = {"data": "wine", "method": "anova", "repeat": 0}
    rows.write({**key, "made": {"code": "older"}})
    command = [
        "run",
        "classes",
        "--data",
        "wine",
        "--methods",
        "anova",
        "--repeats",
        "1",
        "--again",
    ]
    monkeypatch.setattr(sys, "argv", ["experiments", *command, "--out", str(tmp_path)])
    main()
    (first,) = rows.read().values()
    assert first["made"]["code"] != "older"
    main()
    assert [*rows.read().values()] == [first]


def test_a_difference_is_the_mean_of_paired_differences():
    def group(scores):
        rows = {"all": 40, "train": 30, "test": 10}
        return {r: {"rows": rows, "scores": {"auc": values}} for r, values in enumerate(scores)}

    one, other = group([[0.7, 0.8], [0.9, 0.9]]), group([[0.6, 0.8], [0.8, 0.7]])
    mean = tables.difference(one, other, "auc")
    differences = np.array([0.05, 0.15])
    assert mean.value == pytest.approx(0.1)
    assert mean.error == pytest.approx(differences.std(ddof=1) * np.sqrt(1 / 2 + 10 / 30))


@pytest.mark.parametrize("name", list(tables.PAGES))
def test_the_pages_follow_from_the_rows(name):
    rows = Rows(ROOT / "paper", name).read()
    if not rows:
        pytest.skip("paper/ has no rows of this experiment")
    page = ROOT / "paper" / f"{name}.md"
    assert tables.PAGES[name](rows) == page.read_text(encoding="utf-8")


def test_the_page_of_evidence_and_the_readme_follow_from_the_rows():
    folder = ROOT / "paper"
    assert evidence.page(folder) == (ROOT / "docs" / "evidence.md").read_text(encoding="utf-8")
    table = tables.readme_table(Rows(folder, "paper").read())
    assert table in (ROOT / "README.md").read_text(encoding="utf-8")


def test_unknown_names_are_refused_with_the_known_ones():
    with pytest.raises(ExperimentError, match=r"No data set is called 'hart'\. Use: heart,"):
        data.load("hart")
    with pytest.raises(ExperimentError, match=r"No method is called 'rf'\. Use: recipe,"):
        methods.get("rf")
    with pytest.raises(ExperimentError, match=r"No method is called 'rf'\. Use: sa-fdr,"):
        paper_methods.get("rf")


def test_a_file_with_other_rows_is_refused(tmp_path, monkeypatch):
    import pyarrow as pa
    import pyarrow.parquet as pq

    monkeypatch.setenv("SAFDR_DATA", str(tmp_path))
    with pytest.raises(ExperimentError, match=r"does not exist\. To get it, run"):
        data.load("heart")
    pq.write_table(pa.table({"a": [1.0, 2.0], "target": [0, 1]}), tmp_path / "heart.parquet")
    with pytest.raises(ExperimentError, match=r"expected \(267, 44, 212\)"):
        data.load("heart")


def test_the_command_lists_the_data_and_explains_a_mistake(tmp_path):
    def run(*words):
        command = [sys.executable, "-m", "experiments", *words]
        return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)

    assert "heart" in run("data").stdout
    wrong = run("figures", "--out", str(tmp_path), "--data", "spambase")
    assert wrong.returncode == 1
    assert "There are no rows of spambase" in wrong.stderr
    assert "Traceback" not in wrong.stderr


def test_benchmark_rows_have_machine_versions_and_date(tmp_path, monkeypatch):
    from benchmarks import rows

    monkeypatch.setattr(rows, "RESULTS", tmp_path)
    seconds = rows.take_turns({"fast": lambda: None, "slow": lambda: sum(range(200_000))}, 3)
    assert seconds["slow"] > seconds["fast"]
    rows.write("test", [{"what": "nothing", "s": 1.0}])
    header, line = (tmp_path / "test.csv").read_text().splitlines()
    assert header == "what,s,machine,python,safdr,numpy,scikit-learn,date"
    assert line.startswith("nothing,1.0,")
    assert json.dumps(rows.geometric_mean([1.0, 4.0])) == "2.0"
