"""The linear model of a result as Python, SQL, ONNX or a scorecard."""

from safdr.export.model import ExportError
from safdr.export.write import check_path, make, write

__all__ = ["ExportError", "check_path", "make", "write"]
