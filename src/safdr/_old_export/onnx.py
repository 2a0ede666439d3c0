"""The formula as an ONNX graph in double precision: one input a column, so that tables fit."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from safdr._old_export.errors import ExportError
from safdr._old_export.formula import Formula, Term, unused_names, whole_text
from safdr._old_export.outputs import output_of

if TYPE_CHECKING:
    import pyarrow as pa

# The first that compares text.
OPSET = 19
# Of that opset; later versions are refused by older runtimes.
IR_VERSION = 9


def require_onnx() -> Any:
    """The onnx package, or an error that says how to get it."""
    try:
        import onnx
        import onnx.helper
        import onnx.numpy_helper
    except ImportError:
        raise ExportError(
            "An ONNX export needs onnx, which is not installed. Install it with: "
            "pip install 'safdr[onnx]'"
        ) from None
    return onnx


def to_onnx(formula: Formula) -> bytes:
    """The formula as an ONNX model.

    Its inputs are named as the columns and have the shape (n_rows, 1). Its outputs, with an
    underscore more where a column has that name, are ``log_odds`` and ``probability``; of more
    classes ``prediction`` and ``probabilities``; of a number ``prediction``.
    """
    onnx = require_onnx()
    _check(formula)
    graph = Graph(onnx, formula)
    model = onnx.helper.make_model(
        graph.make(),
        opset_imports=[onnx.helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="safdr",
    )
    properties = {
        "target": formula.target,
        "classes": json.dumps(formula.classes),
    }
    if expected := formula.expected():
        # Inputs are numbers; what is none is to be passed as NaN.
        properties["numbers_from_text"] = json.dumps(expected)
    onnx.helper.set_model_props(model, properties)
    onnx.checker.check_model(model, full_check=True)
    return bytes(model.SerializeToString())


def _check(formula: Formula) -> None:
    """Refuse what a graph can't hold."""
    if not formula.terms:
        raise ExportError("The model has no features, and a graph needs an input.")
    whole_text(formula.target)
    for feature in (term.feature for term in formula.terms):
        whole_text(feature.column)
        if isinstance(feature.level, str) and "\0" in whole_text(feature.level):
            raise ExportError(f"ONNX text ends at the zero character, as in {feature.level!r}.")
        if feature.level == "" and feature.fill is not None:
            raise ExportError(
                f"The column {feature.column!r} has both empty and missing text, and ONNX has no "
                "missing text but the empty one. Give the empty text a word of its own."
            )


def run_onnx(content: bytes, table: pa.Table) -> list[Sequence[Any]]:
    """Score rows with the graph itself, by the evaluator that comes with onnx."""
    onnx = require_onnx()
    from onnx.reference import ReferenceEvaluator

    model = onnx.load_model_from_string(content)
    feeds = {
        each.name: column_input(table, each.name, each.type.tensor_type.elem_type)
        for each in model.graph.input
    }
    # Its logistic function warns of the exponents that it then does not use.
    with np.errstate(over="ignore", invalid="ignore"):
        outputs: Any = ReferenceEvaluator(model).run(None, feeds)
    return [[value for part in row for value in part] for row in zip(*outputs, strict=True)]


def column_input(table: pa.Table, name: str, kind: int) -> Any:
    """A column as the graph wants it: a missing number is NaN, and missing text is empty."""
    onnx = require_onnx()
    column = table.column(name)
    if kind == onnx.TensorProto.STRING:
        values: Any = np.array(["" if v is None else v for v in column.to_pylist()], dtype=object)
    else:
        if str(column.type) == "bool":
            column = column.cast("int8")
        values = np.asarray(column.cast("float64", safe=False).to_numpy(), dtype=np.float64)
    return values[:, None]


class Graph:
    """Nodes and constants under names that no column has."""

    def __init__(self, onnx: Any, formula: Formula) -> None:
        self.onnx = onnx
        self.formula = formula
        self.taken = set(formula.columns)
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def make(self) -> Any:
        """The whole graph."""
        coefficients = np.array([term.coefficients for term in self.formula.terms])
        features = [self._feature(term) for term in self.formula.terms]
        joined = self.node("Concat", features, axis=1)
        weighted = self.node("MatMul", [joined, self.constant(coefficients)])
        intercepts = self.constant(np.array([self.formula.intercepts]))
        outputs = output_of(self.formula).nodes(self, self.node("Add", [weighted, intercepts]))
        return self.onnx.helper.make_graph(
            self.nodes,
            "safdr",
            [self._input(term) for term in self._first_terms()],
            outputs,
            self.constants,
        )

    def _first_terms(self) -> list[Term]:
        """One term for each column."""
        return list({term.feature.column: term for term in self.formula.terms}.values())

    def _input(self, term: Term) -> Any:
        kinds = self.onnx.TensorProto
        kind = kinds.STRING if isinstance(term.feature.level, str) else kinds.DOUBLE
        return self.info(term.feature.column, kind)

    def info(self, name: str, kind: int | None = None, width: int = 1) -> Any:
        """What a tensor is; of doubles, unless told otherwise."""
        kind = self.onnx.TensorProto.DOUBLE if kind is None else kind
        return self.onnx.helper.make_tensor_value_info(name, kind, ["rows", width])

    def own_names(self, wanted: Sequence[str]) -> list[str]:
        """Names that no column has."""
        names = unused_names(wanted, self.taken)
        self.taken.update(names)
        return names

    def finite(self, tensor: str) -> str:
        """Whether numbers are neither infinite nor none."""
        largest = self.constant(np.array([[sys.float_info.max]]))
        return self.node("LessOrEqual", [self.node("Abs", [tensor]), largest])

    def _feature(self, term: Term) -> str:
        """Name of the tensor that holds a feature."""
        feature = term.feature
        if isinstance(feature.level, str):
            level = np.array([[feature.level]], dtype=object)
            return self._equal(feature.column, level)
        # Not a number and infinity are missing values, as in the table that the model came from.
        known = self.finite(feature.column)
        filling = self.constant(np.array([[np.nan if feature.fill is None else feature.fill]]))
        value = feature.column
        for number in feature.reading.numbers:
            other = self.node("Equal", [feature.column, self.constant(np.array([[number]]))])
            known = self.node("And", [known, self.node("Not", [other])])
        if isinstance(feature.level, float):
            value = self._equal(value, np.array([[feature.level]]))
        elif term.is_clipped:
            ends = [self.constant(np.array(end)) for end in (term.low, term.high)]
            value = self.node("Clip", [value, *ends])
        return self.node("Where", [known, value, filling])

    def _equal(self, column: str, level: Any) -> str:
        """1 where a column has a value, otherwise 0."""
        same = self.node("Equal", [column, self.constant(level)])
        return self.node("Cast", [same], to=self.onnx.TensorProto.DOUBLE)

    def constant(self, values: Any) -> str:
        """Name of a tensor that never changes."""
        name = self._name()
        self.constants.append(self.onnx.numpy_helper.from_array(values, name))
        return name

    def node(self, operation: str, inputs: list[str], output: str = "", **settings: Any) -> str:
        """Name of the tensor that an operation gives."""
        output = output or self._name()
        self.nodes.append(self.onnx.helper.make_node(operation, inputs, [output], **settings))
        return output

    def _name(self) -> str:
        """A new name for a tensor."""
        return self.own_names([f"tensor_{len(self.taken)}"])[0]
