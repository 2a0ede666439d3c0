"""What stands in the way: the same on the terminal, in JSON and on the page, before all else."""

import html
import json
import re

import pytest

pytest.importorskip("jinja2")


def words(text):
    return " ".join(text.split())


def test_warnings_come_before_the_features_and_are_those_of_json_and_page(
    select, write, columns, tmp_path
):
    """A column that gives the target away, and weights that leave few rows to count."""
    columns["fate"] = ["lost" if label == "yes" else "paid" for label in columns["late"]]
    columns["copies"] = [1000.0 if i == 3 else 1.0 for i in range(len(columns["late"]))]
    page, out = tmp_path / "page.html", tmp_path / "found.json"
    options = ("-t", "late", "--weight", "copies", "--report", page, "--out", out)
    shown = words(select(write(columns), *options).out)
    found = json.loads(out.read_text("utf-8"))
    kinds = [each["kind"] for each in found["warnings"]]
    assert kinds[0] == "gives_the_target_away"
    assert "uneven_weights" in kinds
    text = words(html.unescape(re.sub("<[^>]*>", "", page.read_text("utf-8"))))
    for each in found["warnings"]:
        said = words(f"{each['title']}. {each['text']} {each['advice']}")
        assert said in shown
        assert all(each[key] in text for key in ("title", "text", "advice"))
    assert shown.index("Careful") < shown.index("Odds ratio")
    assert "seems to tell late = yes from no" in shown
