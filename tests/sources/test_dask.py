"""Dask on a real cluster of two processes: the answer of one machine, whatever happens."""

import json
import os
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from safdr import AnnealingRegressorSelector, AnnealingSelector, AnnealingSelectorCV, Stream
from safdr.sources.dask import DaskSource
from safdr.sources.errors import SourceError

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

N_ROWS, N_PARTS = 6000, 5
NAMES = [f"x{j}" for j in range(5)]


# Passes in which a worker dies; before the first one lengths are counted, which is a pass too.
KILLS = {"TargetPass": 2, "MomentsPass": 1, "LossPass": 1, "HistogramPass": 1}


def part(number, folder=None):
    """Rows of one partition; with a folder, reading the third one may kill the process."""
    if number == 2 and folder is not None:
        kind = Path(folder, "kind").read_text()
        n_read, n_killed = (len(list(Path(folder).glob(f"{kind}-{x}-*"))) for x in ("read", "kill"))
        if n_read == n_killed < KILLS[kind]:
            Path(folder, f"{kind}-kill-{n_killed}").touch()
            os._exit(1)
        Path(folder, f"{kind}-read-{n_read}").touch()
    rng = np.random.default_rng(number)
    n = N_ROWS // N_PARTS + 10 * number
    X = rng.normal(size=(n, 5)) + 100
    y = X[:, 0] + 0.5 * X[:, 1] + rng.logistic(size=n) > 150.5
    return pd.DataFrame(X, columns=NAMES).assign(y=y.astype(int), value=X @ np.arange(5))


def frame(folder=None):
    return dd.from_map(part, range(N_PARTS), folder=folder)


# Workers are copies of a process that has read all modules, so that one that dies is soon replaced.
SETTINGS = {
    "distributed.worker.multiprocessing-method": "forkserver",
    # A worker that dies while another one connects to it would otherwise be tried for 30 seconds.
    "distributed.comm.timeouts.connect": "3s",
}
MODULES = ["distributed", "dask.dataframe", "safdr.cli.rows", "safdr._estimators.streamed.reading"]


@pytest.fixture(scope="module")
def client():
    from distributed.utils import get_mp_context

    how = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with dask.config.set(SETTINGS):
        get_mp_context().set_forkserver_preload(MODULES)
        with (
            distributed.LocalCluster(processes=True, **how) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield client


@pytest.fixture(scope="module")
def rows():
    return pd.concat([part(i) for i in range(N_PARTS)], ignore_index=True)


COLUMNS = [*NAMES, "y"]


def search(source, sample_rows=1500):
    selector = AnnealingSelectorCV(max_features=2, C=1.0, random_state=0)
    return selector.fit(Stream(source, columns=COLUMNS, sample_rows=sample_rows), "y")


def assert_same(ours, theirs):
    np.testing.assert_array_equal(ours.subset_, theirs.subset_)
    for name, values in theirs.cv_results_.items():
        np.testing.assert_allclose(ours.cv_results_[name], values, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(ours.estimator_.coef_, theirs.estimator_.coef_, rtol=1e-6)


@pytest.fixture(scope="module")
def answer(rows):
    return search(rows)


def test_the_answer_is_that_of_one_machine(client, answer):
    assert_same(search(frame()), answer)


def test_regression_and_few_rows(client, rows):
    columns = [*NAMES, "value"]
    regressor = AnnealingRegressorSelector(2, random_state=0)
    regressor.fit(Stream(frame()[columns], sample_rows=500), "value")
    whole = AnnealingRegressorSelector(2, random_state=0).fit(rows[NAMES], rows["value"])
    np.testing.assert_array_equal(regressor.subset_, whole.subset_)
    selector = AnnealingSelector(2, random_state=0).fit(frame()[COLUMNS], "y")
    whole = AnnealingSelector(2, random_state=0).fit(rows[NAMES], rows["y"])
    np.testing.assert_array_equal(selector.estimator_.coef_, whole.estimator_.coef_)


def test_a_worker_that_dies_in_any_pass_changes_nothing(client, answer, tmp_path, monkeypatch):
    run = DaskSource.run

    def told(self, task):
        # Workers learn from a file in which pass they are.
        (tmp_path / "kind").write_text(type(getattr(task, "of_chunks", task)).__name__)
        return run(self, task)

    monkeypatch.setattr(DaskSource, "run", told)
    assert_same(search(frame(str(tmp_path))), answer)
    killed = {path.name for path in tmp_path.glob("*-kill-*")}
    assert killed == {f"{kind}-kill-{i}" for kind, n in KILLS.items() for i in range(n)}


def test_no_partition_travels_to_the_client(client, monkeypatch):
    compute, found = dask.compute, []

    def spy(*args, **kwargs):
        found.append(compute(*args, **kwargs))
        return found[-1]

    monkeypatch.setattr(dask, "compute", spy)
    search(frame(), sample_rows=100)
    assert len(found) >= 5
    assert b"pandas" in pickle.dumps(part(0))
    assert not any(b"pandas" in pickle.dumps(each) for each in found)


def test_arrays_are_taken_too(client, rows):
    import dask.array as da

    X = da.from_array(rows[NAMES].to_numpy(), chunks=(1000, 2))
    y = da.from_array(rows["y"].to_numpy(), chunks=2500)
    selector = AnnealingSelector(2, random_state=0).fit(X, y)
    whole = AnnealingSelector(2, random_state=0).fit(rows[NAMES].to_numpy(), rows["y"].to_numpy())
    np.testing.assert_array_equal(selector.estimator_.coef_, whole.estimator_.coef_)
    np.testing.assert_array_equal(selector.classes_, [0, 1])
    with pytest.raises(SourceError, match="must be a Dask array"):
        AnnealingSelector(2).fit(X, rows["y"].to_numpy())
    with pytest.raises(SourceError, match="X has 6100 rows and y 100"):
        AnnealingSelector(2).fit(X, y[:100])


def test_other_collections_are_refused():
    bag = pytest.importorskip("dask.bag")
    with pytest.raises(SourceError, match="a DataFrame can be read in passes"):
        AnnealingSelector(1).fit(bag.from_sequence([1, 2]), "y")


# ---- The command line, here since it shares the cluster ------------------------------------------


@pytest.fixture
def select(client, tmp_path, monkeypatch, capfd):
    """Run ``safdr select`` on a table with text and gaps, in six parts."""
    pytest.importorskip("cyclopts")
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    from safdr.cli import main

    rng, n = np.random.default_rng(3), 3000
    y = rng.random(n) < 0.4
    table = pa.table(
        {
            "height": pa.array(rng.normal(size=n) + y, mask=rng.random(n) < 0.05),
            "noise": rng.normal(size=n),
            "colour": np.where(rng.random(n) < 0.2 + 0.5 * y, "red", "blue"),
            "row": np.arange(n),
            "late": pa.array(np.where(y, "yes", "no"), mask=rng.random(n) < 0.02),
        }
    )
    pq.write_table(table, tmp_path / "loans.parquet", row_group_size=500)
    monkeypatch.setattr("safdr.sources.parquet_part.PART_BYTES", 1)
    # Workers have been started elsewhere.
    monkeypatch.chdir(tmp_path)

    def run(*arguments, code=0):
        wishes = ("loans.parquet", "-t", "late", "--missing", "drop-rows", "--sample-rows", "1000")
        quick = ("--k-max", "2", "--prove", "2")
        capfd.readouterr()
        ended = 0
        try:
            main(["select", *wishes, *quick, "--json", *arguments])
        except SystemExit as end:
            ended = end.code or 0
        out, error = capfd.readouterr()
        assert ended == code, error
        return json.loads(out) if code == 0 else error

    return run


def test_the_command_line_gives_the_answer_of_one_machine(client, select, monkeypatch):
    computed = []

    def spy(self, task):
        computed.append(type(task).__name__)
        return run(self, task)

    run = DaskSource.run
    monkeypatch.setattr(DaskSource, "run", spy)
    streamed = select("--stream")
    assert not computed
    found = select("--dask", client.scheduler.address)
    assert {"_LabelPass", "_SamplePass", "_CompletePass", "MomentsPass"} <= set(computed)
    assert {"ModelsPass", "_MomentsPass"} <= set(computed)
    assert found["notes"][0].startswith("Asked to read the table on the Dask cluster at tcp://")
    assert found["notes"][1:] == streamed["notes"][1:]
    for name in ("rows", "target", "left_out", "coding", "n_features"):
        assert found[name] == streamed[name]
    assert found["proof"]["value"] == pytest.approx(streamed["proof"]["value"], rel=1e-9)
    for ours, theirs in zip(found["features"], streamed["features"], strict=True):
        assert ours["name"] == theirs["name"]
        assert ours["coefficient"] == pytest.approx(theirs["coefficient"], rel=1e-7)
    for ours, theirs in zip(found["path"], streamed["path"], strict=True):
        assert ours["splits"] == pytest.approx(theirs["splits"], abs=1e-4)


def test_workers_with_another_version_are_named(client, select, monkeypatch):
    monkeypatch.setattr("safdr.cli.cluster.version", lambda _: str(os.getpid()))
    error = select("--dask", client.scheduler.address, code=2)
    assert f"but here it is {os.getpid()}" in error
    assert error.startswith("safdr select: The worker tcp://")
