"""Columns become a data frame of the kind that is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import narwhals as nw


def to_frame(columns: Mapping[str, Any], backend: Any, caller: str) -> Any:
    """Return a frame of pandas, polars or pyarrow; an error says what to install."""
    try:
        return nw.from_dict(columns, backend=backend).to_native()
    except ImportError as error:
        raise ImportError(
            f"{caller}(backend={backend!r}) needs {backend}, which is not installed. Install it "
            f"(pip install {backend}), or ask for another backend: 'pandas', 'polars' or 'pyarrow'."
        ) from error


def kind_of(table: Any) -> Any:
    """Return the backend of a data frame; pandas for what is none."""
    frame = nw.from_native(table, pass_through=True)
    return frame.implementation if isinstance(frame, nw.DataFrame) else "pandas"
