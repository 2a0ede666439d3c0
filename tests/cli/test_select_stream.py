"""Parquet that is read in passes: the same answers as in memory, and what can go wrong."""

import importlib.util

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

N = 6000
STREAM = ("--stream", "--sample-rows", 2000)


@pytest.fixture
def loans():
    """Numbers, text and a boolean that tell the class; an identifier and noise that do not."""
    rng = np.random.default_rng(11)
    y = rng.random(N) < 0.4
    height, weight, noise = rng.normal(size=(3, N))
    red = rng.random(N) < 0.2 + 0.5 * y
    return {
        "height": height + y,
        "weight": 10 * weight - 7 * y,
        "noise": noise,
        "colour": np.where(red, "red", rng.choice(["green", "blue"], N)),
        "owner": rng.random(N) < 0.3 + 0.3 * y,
        "row": np.arange(N),
        "late": np.where(y, "yes", "no"),
    }


@pytest.fixture
def gaps(loans):
    """The same with holes in a number and in text, and rows without a target."""
    rng = np.random.default_rng(12)
    for name, share in {"weight": 0.05, "colour": 0.04, "late": 0.01}.items():
        loans[name] = pa.array(loans[name], mask=rng.random(N) < share)
    return loans


def names(found):
    return sorted(feature["name"] for feature in found["features"])


def same_but_for_noise(streamed, found):
    """Whether both chose the same, with models and scores that differ as other rows make them."""
    assert names(streamed) == names(found)
    assert streamed["n_features"] == found["n_features"]
    assert streamed["left_out"] == found["left_out"]
    assert sum(streamed["rows"].values()) == sum(found["rows"].values())
    coefficients = {f["name"]: f["standardised_coefficient"] for f in found["features"]}
    for feature in streamed["features"]:
        assert feature["standardised_coefficient"] == pytest.approx(
            coefficients[feature["name"]], abs=0.15
        )
    for kind, value in (("validation", "mean"), ("test", "value")):
        ours, theirs = (each["scores"][kind][value] for each in (streamed, found))
        assert ours == pytest.approx(theirs, abs=0.02)
    return True


def test_the_answer_is_that_in_memory(select, write, loans):
    path = write(loans)
    found = select(path, "-t", "late", "-k", 4, "--json").json
    streamed = select(path, "-t", "late", "-k", 4, "--json", *STREAM).json
    assert names(found) == ["colour = blue", "colour = green", "height", "owner", "weight"]
    assert same_but_for_noise(streamed, found)
    rows = streamed["rows"]
    assert rows["test"] == pytest.approx(0.2 * N, rel=0.1)
    assert sum(streamed["target"]["counts"].values()) == rows["train"]
    note, *_ = streamed["notes"]
    assert note.startswith("Asked to stream the table: its 6,000 rows are read in passes.")
    assert streamed["settings"]["sample_rows"] == 2000


@pytest.mark.parametrize("way", ["drop-rows", "drop-columns", "median"])
def test_missing_values_are_counted_on_all_rows(select, write, gaps, way):
    wishes = (write(gaps), "-t", "late", "-k", 3, "--missing", way, "--json")
    found, streamed = select(*wishes).json, select(*wishes, *STREAM).json
    assert same_but_for_noise(streamed, found)
    assert streamed["notes"][1:] == found["notes"]
    assert found["notes"]


def test_missing_values_stop_the_run_with_the_same_message(select, write, gaps):
    wishes = (write(gaps), "-t", "late")
    assert select(*wishes, *STREAM, code=1).err == select(*wishes, code=1).err


def test_one_class_can_be_set_against_the_rest(select, write, loans):
    loans["late"] = np.where(loans["height"] > 1.5, "never", loans["late"])
    wishes = (write(loans), "-t", "late", "-k", 2, "--json")
    streamed = select(*wishes, "--positive", "yes", *STREAM).json
    assert streamed["target"]["classes"] == ["not yes", "yes"]
    assert "no value 'maybe'" in select(*wishes, "--positive", "maybe", *STREAM, code=2).err


def test_a_target_with_many_values_is_refused_at_once(select, write, loans):
    loans["name"] = np.arange(N).astype(str)
    error = select(write(loans), "-t", "name", *STREAM, code=1).err
    assert "has 6,000 values or more" in error


def test_a_small_table_gives_exactly_the_answer_in_memory(select, write, columns):
    path = write(columns)
    found = select(path, "-t", "late", "--json").json
    streamed = select(path, "-t", "late", "--json", "--stream").json
    for content in (found, streamed):
        del content["created"], content["seconds"]
    assert streamed == found


def test_what_would_not_fit_in_memory_is_streamed_unasked(select, write, loans, monkeypatch):
    path = write(loans)
    monkeypatch.setattr("safdr.cli.memory.available_memory", lambda: 10**6)
    found = select(path, "-t", "late", "-k", 1, "--json", "--sample-rows", 2000).json
    assert found["notes"][0].startswith("The table would not fit comfortably in memory")
    # Less than the sample always fits.
    notes = select(path, "-t", "late", "-k", 1, "--json").json["notes"]
    assert not [note for note in notes if "passes" in note]


def folder_of(tmp_path, loans):
    """A folder whose folders name the colour."""
    root = tmp_path / "loans"
    table = pa.table(loans)
    for colour in ("blue", "green", "red"):
        part = root / f"colour={colour}"
        part.mkdir(parents=True)
        some = table.filter(pa.compute.equal(table["colour"], colour)).drop_columns("colour")
        pq.write_table(some, part / "part-0.parquet")
    return root


def test_a_folder_of_partitions_is_a_table(select, tmp_path, loans):
    root = folder_of(tmp_path, loans)
    wishes = (root, "-t", "late", "-k", 4, "--id", "row", "--json")
    found, streamed = select(*wishes).json, select(*wishes, *STREAM).json
    assert names(found) == ["colour = blue", "colour = green", "height", "owner", "weight"]
    assert same_but_for_noise(streamed, found)


def test_proof_stability_report_and_exports(select, write, loans, tmp_path):
    results = [tmp_path / name for name in ("page.html", "score.py", "score.sql")]
    found = select(
        *(write(loans), "-t", "late", "-k", 3, "--json", *STREAM, "--split-categories"),
        *("--prove", 5, "--stability", 4, "--class-weight", "balanced"),
        *("--report", results[0], "--export", results[1], "--export", results[2]),
    ).json
    assert found["proof"]["optimal"]
    assert found["near_ties"]["exact"]
    assert found["stability"]["n_resamples"] == 4
    assert found["substitutes"]
    assert found["what_if"]["value"] == pytest.approx(found["proof"]["chosen_value"], rel=1e-9)
    assert all(path.exists() for path in results)
    assert "read in passes" in results[0].read_text()


def test_a_class_that_is_rare_in_the_sample_stops_nothing(select, write, loans):
    loans["late"] = np.where(np.arange(N) % 200 == 0, "yes", "no")
    wishes = ("-t", "late", "-k", 1, "--stability", 4, "--json", "--missing", "median")
    found = select(write(loans), *wishes, "--stream", "--sample-rows", 600).json
    assert sum(found["rows"].values()) == N
    assert found["stability"]["reason"] == "the sample has too few rows of a class."
    assert found["substitutes"] is None


@pytest.mark.parametrize(("limit", "fits"), [(None, True), (100, False), (10**9, True)])
def test_what_fits_in_memory(monkeypatch, limit, fits):
    from safdr.cli import memory

    assert memory.available_memory() is None or memory.available_memory() > 0
    monkeypatch.setattr(memory, "available_memory", lambda: limit)
    assert memory.fits_in_memory(1000) == fits


# ---- What can go wrong --------------------------------------------------------------------------


def test_a_file_that_is_cut_short_is_named(select, write, loans):
    path = write(loans)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    error = select(path, "-t", "late", *STREAM, code=1).err
    assert f"{str(path)!r} can't be read as Parquet" in error
    assert error.count("\n") == 1


def test_pages_that_are_damaged_are_named(select, write, loans):
    path = write(loans)
    whole = bytearray(path.read_bytes())
    whole[4:20] = b"\xff" * 16  # the head of the first page
    path.write_bytes(bytes(whole))
    error = select(path, "-t", "late", *STREAM, code=1).err
    assert f"{str(path)!r} can't be read as Parquet" in error
    assert error.count("\n") == 1


def test_a_file_that_changes_is_named(select, write, loans, monkeypatch):
    from safdr.cli import selecting

    path, constrain = write(loans), selecting.constrain

    def meanwhile(*arguments):
        pq.write_table(pa.table(loans).slice(0, N // 2), path)
        return constrain(*arguments)

    monkeypatch.setattr(selecting, "constrain", meanwhile)
    error = select(path, "-t", "late", *STREAM, code=1).err
    assert f"{str(path)!r} has changed while it was read" in error
    assert error.count("\n") == 1


def test_columns_that_share_a_name_are_named(select, write, loans):
    table = pa.table(loans).rename_columns(["x", "x", *list(loans)[2:]])
    error = select(write(table), "-t", "late", *STREAM, code=1).err
    assert "has several columns called 'x'" in error


def test_a_pass_can_be_stopped(select, write, loans, monkeypatch, tmp_path):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("safdr.cli.progress.SearchProgress.passing", stop)
    path, out = write(loans), tmp_path / "result.json"
    error = select(path, "-t", "late", "--out", out, *STREAM, code=130).err
    assert "Stopped. No file is half written." in error
    assert not out.exists()


def test_other_files_are_to_be_converted(select, tmp_path):
    path = tmp_path / "loans.csv"
    path.write_text("a,late\n1,yes\n2,no\n")
    error = select(path, "-t", "late", "--stream", code=2).err
    assert "COPY (FROM 'loans.csv') TO 'loans.parquet'" in error
    assert "standard input is none" in select("-", "-t", "late", "--stream", code=2).err
    assert "safdr select FILE --stream" in select("--stream", code=2).err
    cluster = ("--dask", "tcp://127.0.0.1:1")
    assert f"--dask reads Parquet, and {str(path)!r}" in select(path, *cluster, code=2).err
    assert "safdr select FILE --dask tcp" in select(*cluster, code=2).err
    assert "no file" in select(tmp_path / "none.parquet", "-t", "a", "--stream", code=1).err


def test_a_scheduler_that_does_not_answer_is_named(select, write, loans, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("safdr.cli.cluster.PATIENCE", 0.2)
    wishes = (write(loans), "-t", "late", "--dask")
    for address in ("tcp://127.0.0.1:1", "nowhere"):
        error = select(*wishes, address, code=2).err
        assert f"--dask {address}: no scheduler answers there" in error
        assert error.count("\n") == 1


def test_a_cluster_needs_an_extra(select, write, loans, monkeypatch):
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "distributed" else find_spec(name)
    )
    error = select(write(loans), "-t", "late", "--dask", "tcp://127.0.0.1:1", code=2).err
    assert "--dask needs distributed, which is not installed" in error
    assert "pip install 'safdr[dask]'" in error


def test_a_sample_of_few_rows_is_refused(select, write, loans):
    error = select(write(loans), "-t", "late", "--sample-rows", 5, code=2).err
    assert "--sample-rows must be at least 100; got 5." in error


def test_the_target_must_be_named(select, write, loans):
    assert "with two values, are 'late', 'owner'" in select(write(loans), *STREAM, code=2).err
