"""Old names, until the branches of fits and kernel are merged."""

from safdr._engine.rows import RowSubset as TakenRows
from safdr._engine.rows import materialize as gathered
from safdr._engine.rows import take_columns, take_rows

__all__ = ["TakenRows", "gathered", "take_columns", "take_rows"]
