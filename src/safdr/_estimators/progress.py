"""Progress through scikit-learn's callbacks (1.9 and later); before that, none."""

from __future__ import annotations

from typing import Any

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class _NoContext:
        """Takes the calls that a callback context takes, and does nothing."""

        def subcontext(self, **_: Any) -> _NoContext:
            return self

        def call_on_fit_task_begin(self, **_: Any) -> None:
            pass

        def call_on_fit_task_end(self, **_: Any) -> None:
            pass

    # mypy sees both branches of the import.
    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in where scikit-learn has no callbacks."""

        def _init_callback_context(self, **_: Any) -> _NoContext:
            return _NoContext()

    def with_callbacks(method: Any) -> Any:
        """Return the method as it is."""
        return method


__all__ = ["CallbackSupportMixin", "with_callbacks"]
