"""Graphs on rows that have no number, and models that a graph can't hold."""

import numpy as np
import pytest

pytest.importorskip("onnx")
pa = pytest.importorskip("pyarrow")

from safdr._old_export.errors import ExportError
from safdr._old_export.formula import Formula, Term
from safdr._old_export.onnx import run_onnx, to_onnx
from safdr._old_table.recipe import Feature


def make_formula(*features):
    terms = tuple(Term(feature, (2.0,)) for feature in features)
    return Formula(terms, (0.5,), "late", ("no", "yes"), "rows")


def run_in_runtime(content, table):
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(content, providers=["CPUExecutionProvider"])
    feeds = {
        each.name: table.column(each.name).to_numpy()[:, None] for each in session.get_inputs()
    }
    return np.hstack(session.run(None, feeds))


def run_in_reference(content, table):
    return np.array(run_onnx(content, table))


@pytest.mark.parametrize("run", [run_in_reference, run_in_runtime])
@pytest.mark.parametrize("kind", ["number", "boolean"])
@pytest.mark.parametrize("fill", [None, 1.0])
def test_infinity_is_missing_as_in_the_table(run, kind, fill):
    table = pa.table({"a": [np.inf, -np.inf, np.nan, 1.0, 0.0]})
    found = run(to_onnx(make_formula(Feature("a", "a", kind, fill=fill))), table)
    missing = np.nan if fill is None else 2.5
    np.testing.assert_array_equal(found[:, 0], [missing, missing, missing, 2.5, 0.5])
    np.testing.assert_array_equal(np.isnan(found[:, 1]), np.isnan(found[:, 0]))


def test_an_empty_level_and_a_gap_are_the_same_to_a_graph():
    with pytest.raises(ExportError, match="'t' has both empty and missing text"):
        to_onnx(make_formula(Feature("t = ", "t", "level", "", fill=0.0)))
    content = to_onnx(make_formula(Feature("t = ", "t", "level", "")))
    assert run_in_reference(content, pa.table({"t": ["", "x"]}))[:, 0].tolist() == [2.5, 0.5]


def test_what_a_graph_can_not_hold_is_refused():
    with pytest.raises(ExportError, match="no features"):
        to_onnx(make_formula())
    for feature in (Feature("a", "a\udc80", "number"), Feature("a", "a", "level", "\udc80")):
        with pytest.raises(ExportError, match="half a character"):
            to_onnx(make_formula(feature))
    with pytest.raises(ExportError, match="zero character"):
        to_onnx(make_formula(Feature("a", "a", "level", "b\0")))


@pytest.mark.parametrize("size", [-5000.0, 5000.0])
def test_extreme_log_odds_warn_of_nothing(size):
    found = run_in_reference(
        to_onnx(make_formula(Feature("a", "a", "number"))), pa.table({"a": [size]})
    )
    assert found[0].tolist() == [0.5 + 2 * size, float(size > 0)]
