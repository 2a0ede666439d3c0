"""Callbacks of scikit-learn 1.9 and later; in earlier versions there are none."""

from __future__ import annotations

from typing import Any

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks  # scikit-learn 1.9
except ImportError:

    class _NoContext:
        """A callback context that does nothing."""

        def subcontext(self, **_: Any) -> _NoContext:
            return self

        def call_on_fit_task_begin(self, **_: Any) -> None:
            pass

        def call_on_fit_task_end(self, **_: Any) -> None:
            pass

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stand in for scikit-learn's class in versions without callbacks."""

        def _init_callback_context(self, **_: Any) -> _NoContext:
            return _NoContext()

    def with_callbacks(method: Any) -> Any:
        """Return the method."""
        return method


__all__ = ["CallbackSupportMixin", "with_callbacks"]
