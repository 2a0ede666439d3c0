"""Terminal, page, JSON and repr of ten different results agree in every number."""

import io
import json
import re

import numpy as np
import pytest
from rich.console import Console

from helpers.html import parsed
from safdr import Report, text
from safdr.cli import terminal

NUMBER = re.compile(r"[+−]?\d(?:[\d,]*\d)?(?:\.\d+)?(?:\u00a0×\u00a010[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)?")


def terminal_text(result, monkeypatch):
    file = io.StringIO()
    monkeypatch.setattr(terminal, "console", lambda: Console(file=file, width=4000))
    terminal.print_report(result)
    return file.getvalue()


def page_text(report):
    return " ".join(parsed(report.to_html()).text)


def numbers(shown):
    return set(NUMBER.findall(" ".join(shown.split())))


def test_every_number_of_the_terminal_is_on_the_page(each_case, monkeypatch):
    report = each_case.report
    shown = terminal_text(report.to_dict(), monkeypatch)
    page = page_text(report)
    # The terminal counts half-samples in a sentence, the page in a table.
    missing = numbers(shown) - numbers(page)
    assert not missing, missing


def test_every_sentence_is_the_same(each_case, monkeypatch):
    result = each_case.report.to_dict()
    shown = " ".join(terminal_text(result, monkeypatch).split())
    page = " ".join(page_text(each_case.report).split())
    sentences = [text.headline(result), text.size(result), text.proof(result), text.near(result)]
    sentences += [text.stability(result), *(each["text"] for each in result["warnings"])]
    for sentence in filter(None, sentences):
        plain = " ".join(sentence.split())
        assert plain in shown
        assert plain in page


def test_the_numbers_are_those_of_the_dictionary(each_case):
    report = each_case.report
    result, page = report.to_dict(), page_text(report)
    wanted = [text.fixed(result["score"]["test"][0])]
    wanted += [text.fixed(mean) for mean in result["score"].get("cv", [])[:1]]
    for term in result["model"]["terms"]:
        wanted += map(text.number, term["coefficients"])
    wanted += [text.percent(each["recall"]) for each in result["test"].get("thresholds", [])]
    wanted += [f"{len(text.selected(result))}"]
    assert {each.split(" %")[0] for each in wanted} <= {
        each.strip("+") for each in numbers(page)
    } | set(wanted)
    assert text.fixed(result["score"]["test"][0]) in repr(report)
    assert repr(report) == text.short(result)


def test_json_keeps_everything(each_case, tmp_path):
    report = each_case.report
    report.save(tmp_path / "result.json")
    again = Report.load(tmp_path / "result.json")
    assert again.to_dict() == report.to_dict()
    assert again.to_html() == report.to_html()
    assert repr(again) == repr(report)


def test_a_report_is_read_by_its_keys_and_never_changed(case):
    report = case("two").report
    report["score"]["name"] = "other"
    report.to_dict()["score"]["name"] = "other"
    assert report["score"]["name"] == "roc_auc"
    assert "score" in report
    assert "psi" not in report
    assert report.to_html() == report.to_html()
    assert report._repr_html_().startswith("<iframe srcdoc=")


@pytest.mark.parametrize("ending", ["py", "sql", "csv", "html"])
def test_files_are_made_from_the_dictionary_alone(case, tmp_path, ending):
    report = case("two").report
    report.save(tmp_path / "from.json")
    Report.load(tmp_path / "from.json").save(tmp_path / f"late.{ending}")
    report.save(tmp_path / f"now.{ending}")
    late, now = ((tmp_path / f"{name}.{ending}").read_text() for name in ("late", "now"))
    assert late.replace("late", "now") == now.replace("late", "now")


def test_json_has_no_nulls_and_no_odd_numbers(each_case):
    def walk(value):
        if isinstance(value, dict):
            assert all(isinstance(key, str) for key in value)
            value = list(value.values())
        if isinstance(value, list):
            for each in value:
                walk(each)
        else:
            assert isinstance(value, bool | int | float | str)
            assert not isinstance(value, float) or np.isfinite(value)

    walk(each_case.report.to_dict())
    json.loads(each_case.report.to_json())
