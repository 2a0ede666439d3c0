"""The page: strict markup, nothing loaded, names that do no harm, plain words."""

import re

import pytest

from helpers.html import HOSTILE, parsed

CREDIT = ("approve", "approval", "bad rate", "good rate", "applicant")


def test_pages_are_strict_and_load_nothing(each_case):
    page = each_case.report.to_html()
    elements = parsed(page)
    for tag, attributes in elements.found:
        assert tag not in ("link", "img", "iframe", "object", "embed", "form", "base")
        assert not any(name.startswith("on") for name in attributes)
        for name in ("src", "href", "xlink:href"):
            assert attributes.get(name, "#").startswith("#")
    (policy,) = [a["content"] for t, a in elements.found if a.get("http-equiv")]
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'")
    assert ("script-src 'sha256-" in policy) == ("what_if" in each_case.report)
    assert "http" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", page).replace("http-equiv", "")


def test_ids_are_unique(each_case):
    ids = [a["id"] for _, a in parsed(each_case.report.to_html()).found if "id" in a]
    assert len(ids) == len({*ids})


def test_hostile_names_do_no_harm(hostile):
    page = hostile.to_html()
    page.encode()  # no half characters
    elements = parsed(page)
    assert sum(tag == "script" for tag, _ in elements.found) == 2
    assert not any(tag == "img" for tag, _ in elements.found)
    assert "\u202e" not in page
    assert "49" not in re.findall(r">(49)<", page)
    shown = " ".join(elements.text)
    assert HOSTILE[0] in shown
    assert "{{ 7 * 7 }}" in shown


def test_names_are_not_changed(case):
    result = case("two").report.to_dict()
    name = "rate 5 % x"
    result["features"][0]["name"] = result["model"]["terms"][0]["feature"] = name
    from safdr import Report

    page = Report(result).to_html()
    assert f"<bdi>{name}</bdi>" in page
    assert "rate 5\u00a0%" not in page


def test_categories_name_their_reference(case):
    page = case("categories").report.to_html()
    assert "Reference values, with coefficient 0: job = " in page
    assert "of <bdi>job</bdi>" not in page


def test_filled_columns_are_named(case):
    report = case("categories").report
    (column,) = [c for c in report["data"]["columns"] if "n_missing" in c]
    wanted = f"Missing values filled in training rows: column 0 {column['n_missing']}."
    assert wanted in report.to_html()
    assert "Missing values filled" not in case("two").report.to_html()


def test_pages_have_no_credit_words(each_case):
    page = each_case.report.to_html().lower()
    assert not [word for word in CREDIT if word in page]


def test_labels_name_the_score(case):
    page = case("regression").report.to_html()
    assert "change of R²" in page
    assert "change of r2" not in page
    assert "change of mean AUC" in case("classes").report.to_html()


@pytest.mark.parametrize(
    ("name", "sections"),
    {
        "two": ["model", "held-out", "sizes", "certainty", "what-if", "made"],
        "constraints": ["model", "held-out", "sizes", "certainty", "what-if", "made"],
        "streamed": ["model", "held-out", "sizes", "certainty", "what-if", "made"],
    }.items(),
)
def test_sections(case, name, sections):
    elements = parsed(case(name).report.to_html())
    assert [a["id"] for tag, a in elements.found if tag == "section" and "id" in a] == sections


def test_charts_are_drawn_from_the_dictionary(case):
    page = case("two").report.to_html()
    assert page.count("<svg") == 3
    assert "#000002" not in page
    assert "var(--first)" in page
    assert case("regression").report.to_html().count("<svg") == 2
