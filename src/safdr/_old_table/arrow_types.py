"""What a type of Arrow is: a test for each kind, and words for people."""

from __future__ import annotations

from typing import Any


def is_number(kind: Any) -> bool:
    """Whole numbers, floating or decimal ones."""
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def is_text(kind: Any) -> bool:
    """Texts of either length."""
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind))


def type_words(kind: Any) -> str:
    """What a column of plain types holds."""
    from pyarrow import types

    if types.is_boolean(kind):
        return "true and false"
    if is_number(kind):
        return "numbers"
    if is_text(kind):
        return "text"
    return "dates or times" if types.is_temporal(kind) else f"neither numbers nor text ({kind})"
