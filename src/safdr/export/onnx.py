"""The model as an ONNX graph with one input for each column."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safdr.export.model import ExportError, Model, Term, unused

OPSET, IR_VERSION = 19, 9


def import_onnx() -> Any:
    """Import onnx, or say how to install it."""
    try:
        import onnx
    except ImportError as error:
        raise ExportError(
            "Export to .onnx needs the package onnx. Install it with: pip install 'safdr[onnx]'."
        ) from error
    return onnx


class Graph:
    """Nodes and constants whose names no column has."""

    def __init__(self, model: Model) -> None:
        self.onnx = import_onnx()
        self.model = model
        self.taken = {*model.names, *model.outputs}
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def node(self, operation: str, *inputs: str, output: str = "", **settings: Any) -> str:
        """Add an operation and return the name of its output."""
        output = output or self._name()
        self.nodes.append(self.onnx.helper.make_node(operation, list(inputs), [output], **settings))
        return output

    def constant(self, values: Any) -> str:
        """Add a constant and return its name."""
        name = self._name()
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(values), name))
        return name

    def _name(self) -> str:
        (name,) = unused([f"tensor_{len(self.nodes) + len(self.constants)}"], self.taken)
        self.taken.add(name)
        return name

    def value(self, term: Term) -> str:
        """Add a term and return the name of its tensor."""
        x, double = term.column, self.onnx.TensorProto.DOUBLE
        fill = self.constant([[math.nan if term.fill is None else term.fill]])
        if term.is_text:
            known = self.node("Not", self.node("Equal", x, self.constant(_texts([[""]]))))
            same = self.node("Equal", x, self.constant(_texts([[term.equals]])))
            value = self.node("Cast", same, to=double)
        else:
            largest = self.constant([[sys.float_info.max]])
            known = self.node("LessOrEqual", self.node("Abs", x), largest)
            value = x
            if term.equals is not None:
                same = self.node("Equal", x, self.constant([[float(term.equals)]]))
                value = self.node("Cast", same, to=double)
        ends = [self.constant(end) for end in (term.low, term.high)]
        return self.node("Where", known, self.node("Clip", value, *ends), fill)

    def add_outputs(self, sums: str) -> list[Any]:
        """Add what the scores become, and describe it."""
        names, kinds = self.model.outputs, self.onnx.TensorProto
        if self.model.link == "softmax":
            return self._add_classes(sums, names)
        if self.model.link == "identity":
            low, high = self.model.limits or (-math.inf, math.inf)
            self.node("Clip", sums, self.constant(low), self.constant(high), output=names[0])
        else:
            self.node("Identity", sums, output=names[0])
            self.node("Sigmoid", sums, output=names[1])
        if self.model.points:
            scaled = self.node("Mul", sums, self.constant([[-self.model.points.factor]]))
            offset = self.constant([[self.model.points.offset]])
            self.node("Add", scaled, offset, output=names[2])
        return [self.info(name, kinds.DOUBLE) for name in names]

    def _add_classes(self, sums: str, names: list[str]) -> list[Any]:
        """The most probable class, and the probabilities of all in one tensor."""
        kinds = self.onnx.TensorProto
        text = any(isinstance(label, str) for label in self.model.classes)
        labels = _texts(self.model.classes) if text else np.array(self.model.classes, np.int64)
        best = self.node("ArgMax", sums, axis=1, keepdims=1)
        self.node("Gather", self.constant(labels), best, output=names[0])
        (shares,) = unused(["probabilities"], self.taken)
        self.node("Softmax", sums, axis=1, output=shares)
        kind = kinds.STRING if text else kinds.INT64
        return [
            self.info(names[0], kind),
            self.info(shares, kinds.DOUBLE, len(self.model.classes)),
        ]

    def info(self, name: str, kind: int, width: int = 1) -> Any:
        """Describe an input or output."""
        return self.onnx.helper.make_tensor_value_info(name, kind, ["rows", width])

    def inputs(self) -> list[Any]:
        """Describe the columns: texts, and numbers as doubles."""
        kinds = self.onnx.TensorProto
        text = {term.column: term.is_text for term in self.model.terms}
        return [
            self.info(n, kinds.STRING if is_text else kinds.DOUBLE) for n, is_text in text.items()
        ]


def _texts(values: Any) -> NDArray[Any]:
    return np.array(values, dtype=object)


def to_onnx(model: Model) -> bytes:
    """Write the model as an ONNX graph; a missing number is NaN, and missing text is empty."""
    graph = Graph(model)
    onnx = graph.onnx
    joined = graph.node("Concat", *map(graph.value, model.terms), axis=1)
    weights = graph.constant([term.coefficients for term in model.terms])
    sums = graph.node(
        "Add", graph.node("MatMul", joined, weights), graph.constant([model.intercepts])
    )
    outputs = graph.add_outputs(sums)
    made = onnx.helper.make_model(
        onnx.helper.make_graph(graph.nodes, "safdr", graph.inputs(), outputs, graph.constants),
        opset_imports=[onnx.helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
    )
    about = {"target": model.target, "classes": json.dumps(model.classes)}
    onnx.helper.set_model_props(made, about)
    onnx.checker.check_model(made, full_check=True)
    return bytes(made.SerializeToString())


def run_onnx(
    model: Model, content: bytes, columns: Mapping[str, NDArray[Any]]
) -> NDArray[np.float64]:
    """Return the numeric outputs of the graph for rows, by the evaluator of onnx."""
    onnx = import_onnx()
    from onnx.reference import ReferenceEvaluator

    text = {term.column for term in model.terms if term.is_text}
    feeds = {
        name: _texts([[each or ""] for each in values])
        if name in text
        else np.array([[math.nan if each is None else each] for each in values], dtype=np.float64)
        for name, values in columns.items()
    }
    with np.errstate(over="ignore", invalid="ignore"):
        outputs: Any = ReferenceEvaluator(onnx.load_model_from_string(content)).run(None, feeds)
    numbers: NDArray[np.float64] = np.hstack(outputs[int(model.link == "softmax") :])
    return numbers
