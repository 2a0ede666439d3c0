"""The linear model of a result as Python, SQL, ONNX or a scorecard."""

from safdr.export.model import ExportError
from safdr.export.write import make

__all__ = ["ExportError", "make"]
