"""The page: what it says, how large it is, and that a name is never more than a name."""

import builtins
import importlib
import os
import sys
import threading
from xml.etree import ElementTree

import numpy as np
import pytest

import safdr.report
from helpers.html import HOSTILE, parsed
from report_cases import QUICK, rows
from safdr import AnnealingSelectorCV, SelectionReport
from safdr.report import charts
from safdr.report.numbers import even, excess, ratio, significant
from safdr.report.page import WIDTH
from safdr.report.text import fit, fitted, labels_of, one_line, tidied, width
from safdr.report.words import explanation, headline

DRAWINGS = [getattr(charts, name) for name in charts.__all__]


@pytest.fixture(scope="module")
def names_of_300():
    """A hundred features with names of 300 characters, and all sizes up to 30."""
    X, y = rows(100, n_informative=20)
    search = AnnealingSelectorCV(max_features=30, n_jobs=2, **QUICK).fit(X, y)
    names = [f"{i} & " + "x" * 290 + f" {i}" for i in range(100)]
    return SelectionReport.from_estimator(search, X, y, feature_names=names)


# ---- Untrusted names ----------------------------------------------------------------------------


def test_names_add_no_element_and_no_attribute(hostile_report, report):
    hostile, harmless = parsed(hostile_report.to_html()), parsed(report.to_html())
    known = {tag for tag, _ in harmless.found} | {"ul", "li", "h3"}
    assert {tag for tag, _ in hostile.found} <= known
    attributes = {name for _, attrs in hostile.found for name in attrs}
    assert not {name for name in attributes if name.startswith("on")}
    assert not {"src", "href", "xlink:href"} & attributes


def test_names_are_shown_as_they_are(hostile_report):
    text = " ".join("".join(parsed(hostile_report.to_html()).text).split())
    for name in HOSTILE:
        assert one_line(name) in text


def test_equal_names_are_told_apart_by_their_column(hostile_report):
    labels = labels_of(tidied(hostile_report.to_dict()))
    first = HOSTILE.index("same")
    assert (labels[first], labels[first + 1]) == (f"same #{first}", f"same #{first + 1}")
    assert len(set(labels.values())) == len(labels)


@pytest.mark.parametrize("draw", DRAWINGS)
def test_a_chart_is_well_formed_and_says_what_it_shows(request, draw):
    shown_by = {charts.draw_coefficients_by_class: "classes_report", charts.draw_ranking: "report"}
    needs_held_out = ("calibration", "estimates", "residuals")
    shown_by |= {getattr(charts, f"draw_{name}"): "measured_report" for name in needs_held_out}
    content = tidied(request.getfixturevalue(shown_by.get(draw, "hostile_report")).to_dict())
    root = ElementTree.fromstring(draw(content, labels_of(content), WIDTH))
    assert root.get("role") == "img"
    assert len(root.get("aria-label")) > 40
    assert float(root.get("width")) == WIDTH


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_is_one_visible_line(name):
    line = one_line(name)
    line.encode()
    assert line
    assert not set(line) & set("\n\r\t\x00\u202e\ud83d")


def test_joined_emoji_stay_joined():
    assert one_line("👩‍🔬") == "👩‍🔬"


# ---- Room ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*HOSTILE, "short", "m" * 40, "WiWiWi" * 20])
@pytest.mark.parametrize("room", [20.0, 90.0, 230.0])
def test_a_text_fits_or_is_left_alone(name, room):
    line = one_line(name)
    short = fit(line, room, 13)
    assert width(short, 13) <= room or len(short) <= 2
    assert short == line or "…" in short
    if width(line, 13) <= room:
        assert short == line


def test_long_names_keep_their_ends_and_stay_distinct():
    labels = dict.fromkeys(range(3), f"{'same beginning ' * 9}{'same end ' * 9}")
    short = fitted(labels, 120, 13)
    assert len(set(short.values())) == 3
    assert all(label.startswith("same") for label in short.values())


def test_a_page_of_a_hundred_features_is_under_500_kilobytes(names_of_300):
    content = names_of_300.to_dict()
    assert (content["n_features"], content["size"]["largest"]) == (100, 30)
    assert len(names_of_300.to_html().encode()) < 500_000


# ---- Words --------------------------------------------------------------------------------------


def answer(report, **changes):
    content = tidied(report.to_dict())
    for path, value in changes.items():
        *parents, last = path.split("__")
        part = content
        for parent in parents:
            part = part[parent]
        part[last] = value
    return headline(content, labels_of(content))


@pytest.mark.parametrize("rule", ["one_se", "one_sd", "tolerance", lambda results: 0])
def test_the_page_says_what_the_rule_gives_up(searched, rule):
    _, X, y = searched
    search = AnnealingSelectorCV(max_features=4, rule=rule, tolerance=0.25, **QUICK).fit(X, y)
    report = SelectionReport.from_estimator(search, X, y)
    text = " ".join("".join(parsed(report.to_html()).text).split())
    assert search.rule_note_ in text
    assert report.to_dict()["size"]["note"] == search.rule_note_
    assert ("at most 0.25 below the best" in text) == (rule == "tolerance")


def test_the_answer_names_the_features_in_one_sentence(report):
    text = answer(report, target__name="default")
    names = [feature["name"] for feature in report.to_dict()["features"]]
    assert "of 8 features predict" in text
    assert "about as well as any larger set tried" in text
    assert all(f"<bdi>{name}</bdi>" in text for name in names)
    assert text.endswith(".")


def test_the_answer_claims_no_more_than_the_scores(report, fixed):
    assert "better than guessing" in answer(report, scores__guessing__p_value=0.02)
    chosen = report.to_dict()["size"]["chosen"]
    assert "the most that were tried" in answer(report, size__largest=chosen)
    everything = answer(report, size__largest=chosen, n_features=chosen)
    assert everything.startswith(f"All {chosen} features together")
    assert "as well as any larger" not in answer(report, size__rule="best")
    assert "The best 3 of 8 features" in answer(SelectionReport.from_estimator(*fixed))


def test_a_single_set_is_said_and_not_drawn(report):
    content = report.to_dict()
    del content["alternatives"][1:]
    assert "The search found no other set" in SelectionReport(content).to_html()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0.0, "0"),
        (-0.4, "−0.400"),
        (1234.5, "1,234"),
        (-2e9, "−2.00 × 10⁹"),
        (1e-20, "1.00 × 10⁻²⁰"),
    ],
)
def test_numbers_are_written_for_people(value, text):
    assert significant(value) == text


def test_an_excess_tells_little_from_nothing():
    assert [excess(v) for v in (None, 0.0, 1e-7, 0.0123, 0.4)] == [
        "–",
        "0 %",
        "< 0.01 %",
        "+1.23 %",
        "+40 %",
    ]


# ---- Files, notebooks, extras -------------------------------------------------------------------


def test_a_file_is_written_whole_and_not_over_another(report, tmp_path):
    path = tmp_path / "report.html"
    page = report.to_html(path)
    assert path.read_text(encoding="utf-8") == page
    with pytest.raises(FileExistsError, match="force=True"):
        report.to_html(str(path))
    path.write_text("old")
    report.to_html(path, force=True)
    assert path.read_text(encoding="utf-8") == page
    assert [each.name for each in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.skipif(sys.platform == "win32", reason="about pipes")
def test_a_pipe_needs_no_force(report, tmp_path):
    path, got = tmp_path / "pipe", []
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: got.append(path.read_bytes()), daemon=True)
    reader.start()
    page = report.to_html(path)
    reader.join(10)
    assert got == [page.encode()]


def test_a_notebook_gets_the_same_page_in_a_frame(hostile_report):
    ((tag, attributes),) = parsed(hostile_report._repr_html_()).found
    assert tag == "iframe"
    assert attributes["srcdoc"] == hostile_report.to_html()
    # Its script may run, and reach nothing of the notebook.
    assert attributes["sandbox"] == "allow-scripts"
    assert repr(hostile_report).startswith("SelectionReport(")


def test_without_jinja_the_dict_is_still_there(report, monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("safdr.report.page"):
            raise ModuleNotFoundError("No module named 'jinja2'", name="jinja2")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    assert report.to_dict()["features"]
    with pytest.raises(ImportError, match=r"pip install 'safdr\[report\]'"):
        report.to_html()


def test_a_page_needs_no_matplotlib(searched, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr(safdr, "report", safdr.report)
    for name in [name for name in sys.modules if name.startswith("safdr.report")]:
        monkeypatch.delitem(sys.modules, name)
    anew = importlib.import_module("safdr.report").SelectionReport
    assert anew is not SelectionReport
    assert len(anew.from_estimator(*searched).to_html()) > 10_000


def test_a_search_of_one_size_has_its_page():
    X, y = rows(4)
    search = AnnealingSelectorCV(min_features=2, max_features=2, **QUICK).fit(X, np.where(y, 2, 5))
    found = parsed(SelectionReport.from_estimator(search, X, np.where(y, 2, 5)).to_html()).found
    places = [attrs[key] for _, attrs in found for key in ("x", "y", "cx", "cy") if key in attrs]
    assert places
    assert np.isfinite([float(place) for place in places]).all()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *[(None, "–"), (1.0, "1.000"), (2.0049, "2.005"), (0.9996, "1 − 0.00040")],
        *[(1 + 1.9e-5, "1 + 1.9 × 10⁻⁵"), (1 - 8.7e-7, "1 − 8.7 × 10⁻⁷"), (21485.6, "21,486")],
    ],
)
def test_an_odds_ratio_never_says_nothing(value, text):
    assert ratio(value) == text


def test_numbers_of_a_column_have_as_many_places():
    column = [0.69554, -0.003, None, 12.5]
    assert [even(each, column) for each in column] == ["0.70", "−0.00", "–", "12.50"]
    assert [even(each, column[:3]) for each in column[:3]] == ["0.6955", "−0.0030", "–"]
    assert even(1234567.8, [1234567.8]) == "1,234,568"
    assert even(2e-5, [2e-5]) == "2.000 × 10⁻⁵"


# ---- The first sentences ------------------------------------------------------------------------


def test_the_first_sentences_have_the_held_out_score_where_there_is_one(report):
    content = report.to_dict()
    scores = content["scores"]
    first, second, third = explanation(content)
    assert "Given one held-out row of each class" in first
    assert f"{100 * scores['test']['value']:.1f} % of the time" in first
    assert f"held out: {scores['test']['value']:.3f}" in second
    assert "validation splits" in third
    first, second = explanation({**content, "scores": {**scores, "test": None}})
    assert "Given one row of each class" in first
    assert f"{100 * scores['validation']['mean']:.1f} % of the time" in first


def test_a_label_with_a_space_at_its_end_is_quoted(report):
    content = report.to_dict()
    content["target"]["classes"] = ["No", "Yes "]
    assert "= <bdi>&#34;Yes &#34;</bdi>" in SelectionReport(content).to_html()
