"""The model as an ONNX graph with one input for each column."""

from __future__ import annotations

import json
import math
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safdr.export.model import Columns, FloatArray, Model, Term, unused

OPSET, IR_VERSION = 19, 9


class _Graph:
    """Nodes and constants, whose names no column has."""

    def __init__(self, model: Model) -> None:
        import onnx

        self.onnx, self.taken = onnx, {*model.names, *model.outputs}
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def node(self, operation: str, *inputs: str, output: str = "", **settings: Any) -> str:
        output = output or self.name("tensor")
        make = self.onnx.helper.make_node
        self.nodes.append(make(operation, list(inputs), [output], **settings))
        return output

    def constant(self, values: Any) -> str:
        name = self.name("constant")
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(values), name))
        return name

    def info(self, name: str, kind: str = "DOUBLE", width: int = 1) -> Any:
        kinds = self.onnx.TensorProto
        return self.onnx.helper.make_tensor_value_info(name, getattr(kinds, kind), ["rows", width])

    def name(self, wanted: str) -> str:
        (name,) = unused([f"{wanted}_{len(self.nodes)}_{len(self.constants)}"], self.taken)
        return name


def to_onnx(model: Model, _: str) -> bytes:
    """Write the model as an ONNX graph; a missing number is NaN, and missing text is empty."""
    graph = _Graph(model)
    onnx = graph.onnx
    joined = graph.node("Concat", *(_add_term(graph, term) for term in model.terms), axis=1)
    weights = graph.constant([term.coefficients for term in model.terms])
    product = graph.node("MatMul", joined, weights)
    sums = graph.node("Add", product, graph.constant([model.intercepts]))
    outputs = (_add_classes if model.link == "softmax" else _add_outputs)(graph, model, sums)
    kinds = {term.column: "STRING" if term.is_text else "DOUBLE" for term in model.terms}
    inputs = [graph.info(name, kind) for name, kind in kinds.items()]
    made = onnx.helper.make_model(
        onnx.helper.make_graph(graph.nodes, "safdr", inputs, outputs, graph.constants),
        opset_imports=[onnx.helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
    )
    about = {"target": model.target, "classes": json.dumps(model.classes)}
    onnx.helper.set_model_props(made, about)
    onnx.checker.check_model(made, full_check=True)
    return bytes(made.SerializeToString())


def _add_term(graph: _Graph, term: Term) -> str:
    value, fill = term.column, graph.constant([[math.nan if term.fill is None else term.fill]])
    if term.is_text:
        known = graph.node("Not", graph.node("Equal", value, graph.constant(_texts([[""]]))))
        wanted: Any = _texts([[term.equals]])
    else:
        largest = graph.constant([[sys.float_info.max]])
        known = graph.node("LessOrEqual", graph.node("Abs", value), largest)
        wanted = None if term.equals is None else [[float(term.equals)]]
    if wanted is not None:
        same = graph.node("Equal", value, graph.constant(wanted))
        value = graph.node("Cast", same, to=graph.onnx.TensorProto.DOUBLE)
    clipped = graph.node("Clip", value, graph.constant(term.low), graph.constant(term.high))
    return graph.node("Where", known, clipped, fill)


def _add_outputs(graph: _Graph, model: Model, sums: str) -> list[Any]:
    names = model.outputs
    if model.link == "log":
        graph.node("Exp", sums, output=names[0])
        return [graph.info(names[0])]
    ends = [graph.constant(end) for end in model.limits or (-math.inf, math.inf)]
    graph.node("Clip", sums, *ends, output=names[0])
    if model.link == "logit":
        graph.node("Sigmoid", sums, output=names[1])
    if model.points:
        offset, factor = (graph.constant([[value]]) for value in model.points)
        graph.node("Sub", offset, graph.node("Mul", factor, sums), output=names[2])
    return [graph.info(name) for name in names]


def _add_classes(graph: _Graph, model: Model, sums: str) -> list[Any]:
    """Add the most probable class, and the probabilities of all in one tensor."""
    is_text = isinstance(model.classes[0], str)
    labels = _texts(model.classes) if is_text else np.array(model.classes, np.int64)
    best, name = graph.node("ArgMax", sums, axis=1, keepdims=1), model.outputs[0]
    graph.node("Gather", graph.constant(labels), best, output=name)
    (shares,) = unused(["probabilities"], graph.taken)
    graph.node("Softmax", sums, axis=1, output=shares)
    width = len(model.classes)
    return [graph.info(name, "STRING" if is_text else "INT64"), graph.info(shares, width=width)]


def _texts(values: Any) -> NDArray[Any]:
    return np.array(values, dtype=object)


def run_onnx(model: Model, content: bytes, columns: Columns, _: str) -> FloatArray:
    """Return the numeric outputs of the graph for rows, by the evaluator of onnx."""
    import onnx
    from onnx.reference import ReferenceEvaluator

    feeds: dict[str, Any] = {}
    for term in model.terms:
        values = columns[term.column]
        if term.is_text:
            feeds[term.column] = _texts([[each or ""] for each in values])
        else:
            feeds[term.column] = np.array(values, dtype=np.float64)[:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        outputs: Any = ReferenceEvaluator(onnx.load_model_from_string(content)).run(None, feeds)
    return np.asarray(np.hstack(outputs[int(model.link == "softmax") :]), dtype=np.float64)
