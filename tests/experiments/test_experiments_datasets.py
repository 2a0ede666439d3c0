"""Data files: read, cleaned and checked; wrong ones named and left alone."""

import urllib.error
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from experiments import cleaning, datasets, sources
from experiments.datasets import DATASETS, data_folder, fetch, file_of, get_dataset, is_there, load
from experiments.errors import DataError
from experiments.parquet import parquet_bytes
from experiments.sources import Archive, OpenML
from experiments.task_data import TaskData

pa = pytest.importorskip("pyarrow")

HEART_TRAIN = b"1,59,52\n0,72,62\n"
HEART_TEST = b"1,70,71\n"


@pytest.fixture
def tiny(monkeypatch):
    """Heart shrunk to three rows and two features."""

    def read(members):
        rows = np.vstack([sources._matrix(members[f"SPECTF.{part}"]) for part in ("train", "test")])
        return sources._table(rows[:, 1:], rows[:, 0], ["F1R", "F1S"])

    def install(**changes):
        spec = replace(DATASETS["heart"], counts=(3, 2, 2), sha256=None, **changes)
        monkeypatch.setitem(datasets.DATASETS, "heart", spec)
        return spec

    install.read = read
    return install


@pytest.fixture
def archive(tmp_path):
    """The tiny data as UCI would ship it."""
    path = tmp_path / "spectf+heart.zip"
    with zipfile.ZipFile(path, "w") as content:
        content.writestr("folder/SPECTF.train", HEART_TRAIN)
        content.writestr("folder/SPECTF.test", HEART_TEST)
    return path.as_uri()


def table(**columns):
    return pa.table(columns)


def test_there_are_the_papers_nine_with_loan_default_under_three_names():
    assert list(DATASETS) == [
        *("heart", "cancer", "ozone", "spambase", "student", "bankruptcy", "madelon"),
        *("card_default", "loan_default_kaggle", "loan_default_synthetic"),
        "loan_default_imperial",
    ]


@pytest.mark.parametrize("name", [n for n in DATASETS if n != "loan_default_synthetic"])
def test_a_file_that_is_there_has_the_known_counts_and_values(name):
    data = get_dataset(name)
    path = file_of(data)
    if not path.exists():
        pytest.skip(f"{path} is not there")
    loaded = load(name)
    assert np.isfinite(loaded.X).all()
    assert set(np.unique(loaded.y)) == {0, 1}
    assert len(loaded.feature_names) == loaded.X.shape[1]
    if data.sha256 is not None:
        assert loaded.sha256() == data.sha256


def test_the_stand_in_has_the_size_of_the_papers_data():
    loaded = load("loan_default_synthetic")
    assert loaded.counts[:2] == (103302, 397)
    assert "stand-in" in DATASETS["loan_default_synthetic"].title


def test_cancer_needs_no_file(tmp_path):
    assert load("cancer", tmp_path).counts == (569, 30, 357)


def test_what_needs_no_download_is_there(tmp_path):
    (tmp_path / "heart.parquet").touch()
    there = {name for name, data in DATASETS.items() if is_there(data, tmp_path)}
    assert there == {"heart", "cancer", "loan_default_synthetic"}


def test_an_unknown_name_lists_the_known():
    with pytest.raises(DataError, match=r"'hart'\. There are: heart, cancer"):
        load("hart")


def test_a_missing_file_says_how_to_get_it(tmp_path):
    with pytest.raises(DataError, match="python -m experiments data --fetch heart") as caught:
        load("heart", tmp_path)
    assert str(tmp_path / "heart.parquet") in str(caught.value)


@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_a_truncated_file_is_named_and_left_as_it_is(tmp_path, share):
    whole = parquet_bytes(table(F1R=np.arange(50.0), target=np.arange(50) % 2))
    path = tmp_path / "heart.parquet"
    path.write_bytes(whole[: int(share * len(whole))])
    before = path.read_bytes()
    with pytest.raises(DataError, match=r"heart\.parquet can't be read"):
        load("heart", tmp_path)
    assert fetch("heart", tmp_path) == path
    assert path.read_bytes() == before


def test_a_file_of_another_shape_is_named_and_left_as_it_is(tmp_path):
    path = tmp_path / "heart.parquet"
    path.write_bytes(parquet_bytes(table(F1R=[1.0, 2.0], target=[0, 1])))
    before = path.read_bytes()
    with pytest.raises(DataError, match="gives 2 rows, 1 features and 1 rows of class 1") as caught:
        load("heart", tmp_path)
    assert "has 267 rows, 44 features and 212" in str(caught.value)
    assert path.read_bytes() == before


def test_a_file_without_a_target_is_named(tmp_path):
    (tmp_path / "heart.parquet").write_bytes(parquet_bytes(table(F1R=[1.0])))
    with pytest.raises(DataError, match="is not the Heart data"):
        load("heart", tmp_path)


def test_the_folder_is_the_one_given_then_the_variable_then_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SAFDR_DATA", str(tmp_path / "variable"))
    assert data_folder(tmp_path / "given") == tmp_path / "given"
    assert data_folder() == tmp_path / "variable"
    monkeypatch.delenv("SAFDR_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("sys.platform", "linux")
    assert data_folder() == tmp_path / "cache" / "safdr"


# ---- Fetching -----------------------------------------------------------------------------------


def test_what_is_fetched_is_kept_and_read_back(tmp_path, tiny, archive):
    tiny(source=Archive(archive, tiny.read))
    path = fetch("heart", tmp_path / "new")
    assert path == tmp_path / "new" / "heart.parquet"
    loaded = load("heart", tmp_path / "new")
    assert loaded.X.tolist() == [[59, 52], [72, 62], [70, 71]]
    assert loaded.y.tolist() == [1, 0, 1]


def test_what_is_there_is_never_fetched_over(tmp_path, tiny, archive):
    tiny(source=Archive(archive, tiny.read))
    (tmp_path / "heart.parquet").write_bytes(b"mine")
    fetch("heart", tmp_path)
    assert (tmp_path / "heart.parquet").read_bytes() == b"mine"


def test_values_with_another_checksum_are_not_kept(tmp_path, tiny, archive, monkeypatch):
    spec = tiny(source=Archive(archive, tiny.read))
    monkeypatch.setitem(datasets.DATASETS, "heart", replace(spec, sha256="ab"))
    with pytest.raises(DataError, match="has other values than it used to"):
        fetch("heart", tmp_path)
    assert not (tmp_path / "heart.parquet").exists()


def test_a_fetched_table_of_another_shape_is_not_kept(tmp_path, tiny, archive, monkeypatch):
    spec = tiny(source=Archive(archive, tiny.read))
    monkeypatch.setitem(datasets.DATASETS, "heart", replace(spec, counts=(4, 2, 2)))
    with pytest.raises(DataError, match="gives 3 rows"):
        fetch("heart", tmp_path)
    assert not (tmp_path / "heart.parquet").exists()


def test_an_address_that_does_not_answer_is_named(tmp_path, tiny, monkeypatch):
    def refuse(*_, **__):
        raise urllib.error.URLError("no network")

    tiny(source=Archive("https://example.invalid/x.zip", tiny.read))
    monkeypatch.setattr("urllib.request.urlopen", refuse)
    with pytest.raises(DataError, match=r"https://example.invalid/x.zip can't be fetched.*network"):
        fetch("heart", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_answer_that_is_no_archive_is_named(tmp_path, tiny):
    page = tmp_path / "page.zip"
    page.write_text("<html>busy</html>")
    tiny(source=Archive(page.as_uri(), tiny.read))
    with pytest.raises(DataError, match="can't be fetched: BadZipFile"):
        fetch("heart", tmp_path / "new")


def test_a_set_without_a_public_home_says_how_to_get_it(tmp_path):
    with pytest.raises(DataError, match=r"can't be fetched. To get it: kaggle.com"):
        fetch("loan_default_imperial", tmp_path)


def test_openml_goes_through_scikit_learn(monkeypatch):
    class Bunch:
        data = np.array([[1.0, 2.0], [3.0, 4.0]])
        target = np.array(["0", "1"])

    def fetch_openml(**options):
        assert options["data_id"] == 42477
        return Bunch

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch_openml)
    fetched = OpenML(42477, ("a", "b")).fetch()
    assert fetched.to_pydict() == {"a": [1.0, 3.0], "b": [2.0, 4.0], "target": [0, 1]}


# ---- Raw formats --------------------------------------------------------------------------------


def test_the_heart_archive():
    row = ",".join(str(j) for j in range(45)).encode()
    got = sources.read_heart({"SPECTF.train": row + b"\n" + row, "SPECTF.test": row})
    assert got.column_names[:3] == ["F1R", "F1S", "F2R"]
    assert got.column_names[-2:] == ["F22S", "target"]
    assert got.column("F1R").to_pylist() == [1, 1, 1]
    assert got.column("target").to_pylist() == [0, 0, 0]


def test_the_ozone_archive_and_its_missing_values():
    names = b"1,0 | two classes\n\nDate: ignore.\nWSR0: continuous.\nWSR1: continuous.\n"
    rows = b"1/1/1998,0.8,?,0.\n1/2/1998,2.8,3.2,1.\n"
    got = sources.read_ozone({"eighthr.names": names, "eighthr.data": rows})
    assert got.column_names == ["date", "WSR0", "WSR1", "target"]
    cleaned = cleaning.ozone(got)
    assert cleaned.X.tolist() == [[2.8, 3.2]]
    assert cleaned.y.tolist() == [1]


def test_the_spambase_archive():
    names = b"| comment\n1, 0.    | spam, non-spam classes\n\nword_freq_make:         continuous.\n"
    got = sources.read_spambase({"spambase.names": names, "spambase.data": b"0.64,1\n0,0\n"})
    assert got.to_pydict() == {"word_freq_make": [0.64, 0.0], "target": [1, 0]}


def test_the_student_archive_is_dropout_against_the_rest():
    content = b"Marital status;Evening\t;Target\n1;0;Dropout\n2;1;Graduate\n1;1;Enrolled\n"
    got = sources.read_student({"data.csv": content})
    assert got.column_names == ["Marital status", "Evening", "target"]
    assert cleaning.student(got).y.tolist() == [1, 0, 0]


def test_the_bankruptcy_archive_has_its_target_first():
    got = sources.read_bankruptcy({"data.csv": b"Bankrupt?, ROA\n1,0.5\n0,0.25\n"})
    assert got.to_pydict() == {"ROA": [0.5, 0.25], "target": [1, 0]}


def test_the_madelon_archive_has_training_rows_first():
    members = {
        "madelon_train.data": b"1 2 \n3 4 \n",
        "madelon_train.labels": b"-1\n1\n",
        "madelon_valid.data": b"5 6 \n7 8 \n",
        "madelon_valid.labels": b"1\n-1\n",
    }
    got = sources.read_madelon(members)
    assert got.column("f1").to_pylist() == [1, 3, 5, 7]
    assert cleaning.madelon(got).y.tolist() == [0, 1, 1, 0]


# ---- Cleaning -----------------------------------------------------------------------------------


def loans(n=4000):
    rng = np.random.default_rng(0)
    bad = np.arange(n) % 4 == 0
    kind = np.where(np.arange(n) < 2, "odd", np.where(np.arange(n) % 3 == 0, "b", "a"))
    income = rng.normal(size=n)
    return {
        "ID": np.arange(n),
        "year": np.full(n, 2019),
        "rate_of_interest": [None if b else 4.0 for b in bad],
        "Interest_rate_spread": [None if b else 0.4 for b in bad],
        "Upfront_charges": [None if b else 9.0 for b in bad],
        "income": [None if i == 5 else float(v) for i, v in enumerate(income)],
        "kind": kind,
        "kind_again": np.where(kind == "b", "yes", "no"),
        "Status": bad.astype(np.int64),
    }


def test_the_loan_trap_is_dropped_before_incomplete_rows_are():
    cleaned = cleaning.loan_default_kaggle(table(**loans()))
    assert cleaned.X.shape == (3999, 2)
    assert cleaned.y.sum() == 1000


def test_text_is_coded_without_the_common_the_rare_and_the_repeated_levels():
    cleaned = cleaning.loan_default_kaggle(table(**loans()))
    assert cleaned.feature_names == ("income", "kind=b")
    assert set(np.unique(cleaned.X[:, 1])) == {0.0, 1.0}


def test_the_competition_file_is_loss_against_none(tmp_path):
    rng = np.random.default_rng(0)
    f1 = rng.normal(size=3000)
    lines = ["id,f1,f2,f3,f4,f5,loss"]
    for i, value in enumerate(f1):
        missing_once = "NA" if i == 7 else f"{rng.normal()}"
        mostly_missing = "NA" if i < 2500 else "1.0"
        lines.append(f"{i},{value},{2 * value},{missing_once},{mostly_missing},3,{i % 2 * 9}")
    (tmp_path / "train_v2.csv").write_text("\n".join(lines))
    loaded = load("loan_default_imperial", tmp_path)
    assert loaded.feature_names == ("f1", "f3")
    assert loaded.counts == (2999, 2, 1499)


def test_the_checksum_is_of_the_values_alone():
    X, y = np.arange(6.0).reshape(3, 2), np.array([0, 1, 1])
    one = TaskData(X, y, ("u", "v"), "a")
    assert one.sha256() == TaskData(np.asfortranarray(X), y, ("x", "y"), "b").sha256()
    assert one.sha256() != TaskData(X + 1e-12, y, ("u", "v"), "a").sha256()
