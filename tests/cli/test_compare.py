"""``safdr compare`` from two results to terminal and JSON."""

import json

import pytest


@pytest.fixture
def results(select, write, columns, tmp_path):
    """Two results of one table, the second without the best feature."""
    table, paths = write(columns), [tmp_path / "first.json", tmp_path / "second.json"]
    select(table, "-t", "late", "-k", 2, "--out", paths[0], "-q")
    select(table, "-t", "late", "-k", 2, "--drop", "height", "--out", paths[1], "-q")
    return paths


def test_two_results_side_by_side(safdr, results, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    ran = safdr("compare", *results)
    assert all(len(line) <= 80 for line in ran.out.splitlines())
    text = " ".join(ran.out.split())
    for words in ("only in the first", "drop default → height", "on held-out rows", "first.json"):
        assert words in text
    found = safdr("compare", *results, "--json").json
    assert {each["name"] for each in found["features"] if each["where"] == "first"} == {"height"}
    assert safdr("compare", *results, "-q").out == ""


def test_what_can_not_be_compared_is_wrong_usage(safdr, results, tmp_path):
    first, second = results
    second.write_text(second.read_text()[:1000])
    assert "damaged in line" in safdr("compare", first, second, code=2).err
    other = json.loads(first.read_text()) | {"schema_version": 99}
    second.write_text(json.dumps(other))
    assert "is a result of version 99" in safdr("compare", first, second, code=2).err
    assert "can't be read" in safdr("compare", first, tmp_path / "none.json", code=2).err
