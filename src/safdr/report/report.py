"""Report: a fitted selector as a dictionary, a page and files."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any, Self

from safdr import text
from safdr._estimators.inputs import is_source
from safdr._files import write_atomically
from safdr.report.describe import SCHEMA, describe
from safdr.report.reading import Rows, is_selector


class Report:
    """A selection as a dictionary, one HTML page, and exported models.

    Make it with `from_estimator`, or `load` one that was saved as JSON. In a notebook it shows
    its page.

    Parameters
    ----------
    content : dict
        The result dictionary, as returned by `to_dict`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from safdr import AnnealingSelector, Report
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> selector = AnnealingSelector(3, random_state=0).fit(X, y)
    >>> report = Report.from_estimator(selector, X, y)
    >>> [term["feature"] for term in report["model"]["terms"]]
    ['worst radius', 'worst concave points', 'worst texture']
    """

    def __init__(self, content: Mapping[str, Any]) -> None:
        if content.get("schema") != SCHEMA:
            raise ValueError(
                f"content must have schema {SCHEMA}; got {content.get('schema')}. Make the result "
                "again with this version of safdr."
            )
        self._content = dict(content)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        X_test: Any = None,
        y_test: Any = None,
        *,
        sample_weight: Any = None,
        sample_weight_test: Any = None,
        groups: Any = None,
        by: Mapping[str, Any] | None = None,
        encoder: Any = None,
        prove: float | None = None,
        near_optimal: float | None = None,
        stability: int | None = None,
        substitutes: bool = False,
        what_if: bool = True,
        source: Any = None,
        details: Mapping[str, Any] | None = None,
        n_jobs: int | None = None,
    ) -> Self:
        """Describe a fitted selector, or a pipeline that ends with one.

        Parameters
        ----------
        estimator : selector or Pipeline
            Fitted to `X` and `y`.

        X, y : array-like of shape (n_samples, n_features) and (n_samples,)
            Training rows. Of a pipeline: before its first step.

        X_test, y_test : array-like, default=None
            Held-out rows: scores, calibration, thresholds and segments are measured on these.

        sample_weight, sample_weight_test : array-like of shape (n_samples,), default=None
            Weights of the training rows and of the held-out rows.

        groups : array-like of shape (n_samples,), default=None
            Groups of training rows that half-samples and splits keep together.

        by : dict of array-like or DataFrame, default=None
            Columns of the held-out rows; scores are reported by segment.

        encoder : TableEncoder, default=None
            What made `X` from a table. A pipeline with one needs none.

        prove : float, default=None
            Seconds for `safdr.prove`.

        near_optimal : float, default=None
            `rtol` of `safdr.near_optimal`.

        stability : int, default=None
            Number of half-samples of `safdr.stability`.

        substitutes : bool, default=False
            Search the best replacement of each selected feature.

        what_if : bool, default=True
            Add the numbers of the page's "What if".

        source : tuple, default=None
            ``(X, y)`` or ``(X, y, sample_weight)`` of a fit to rows read in chunks, such as
            ``(path, "target")``. Questions read it; `X` and `y` are then a sample of the rows.

        details : dict, default=None
            Entries for the result: `title`, `target`, `data`, `settings`, `notes`, `seconds` and
            `warnings` (dictionaries of `kind`, `text` and `advice`). For example
            ``{"target": {"name": "late"}, "notes": ["Orders of 2024"]}``.

        n_jobs : int, default=None
            Parallel jobs of the questions.

        Returns
        -------
        Report
        """
        if (X_test is None) != (y_test is None):
            raise ValueError("X_test and y_test go together; got one without the other.")
        if is_source(X, y) or is_source(X_test, y_test):
            raise ValueError(
                "X, y, X_test and y_test must be rows in memory; got a source. Pass a sample of "
                "the rows as X and y, and the source as source=(path, target)."
            )
        selector, steps = _split(estimator)
        details, names = dict(details or {}), None
        if steps is not None:
            X, names = steps.transform(X), steps.get_feature_names_out()
            X_test = None if X_test is None else steps.transform(X_test)
            if encoder is None and len(steps) == 1 and hasattr(steps[0], "terms"):
                encoder = steps[0]
            if encoder is None:
                listed = ", ".join(type(step).__name__ for _, step in steps.steps)
                details["notes"] = [*details.get("notes", ()), f"Terms are columns after {listed}."]
        elif encoder is not None:
            names = encoder.get_feature_names_out()
        test = None if X_test is None else Rows(X_test, y_test, sample_weight_test, by)
        asked = {
            "prove": prove,
            "near_optimal": near_optimal,
            "stability": stability,
            "substitutes": substitutes,
            "what_if": what_if,
            "source": source,
            "groups": groups,
            "n_jobs": n_jobs,
        }
        train = Rows(X, y, sample_weight)
        return cls(describe(selector, train, test, asked, details, names=names, encoder=encoder))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Load a report that was saved as JSON."""
        return cls(json.loads(Path(path).read_text(encoding="utf-8")))

    def __getitem__(self, key: str) -> Any:
        return copy.deepcopy(self._content[key])

    def __contains__(self, key: str) -> bool:
        return key in self._content

    def to_dict(self) -> dict[str, Any]:
        """Return the result dictionary: plain types; absent keys do not apply."""
        return copy.deepcopy(self._content)

    def to_json(self) -> str:
        """Return the result dictionary as JSON."""
        return json.dumps(self._content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    def to_html(self) -> str:
        """Return the page, which needs jinja2 and matplotlib: one file, without network access."""
        from safdr.report.page import render

        return render(self._content)

    def save(self, path: str | Path, **options: Any) -> None:
        """Write a file; its ending says what: .json, .html, .py, .sql, .onnx or .csv (scorecard).

        Parameters
        ----------
        path : str or Path
            The file. It is written atomically, and replaces one that exists.

        **options
            Options of exports, such as ``points=(20, 600, 50)`` of a scorecard.
        """
        write_atomically(Path(path), self.render(path, **options))

    def render(self, path: str | Path, **options: Any) -> bytes:
        """Return what `save` writes.

        Parameters
        ----------
        path : str or Path
            The ending of this name says what.

        **options
            Options of exports, which JSON and the page ignore.
        """
        ending = Path(path).suffix.lower()
        if ending in (".json", ".html"):
            made = self.to_json() if ending == ".json" else self.to_html()
            return made.encode("utf-8", "backslashreplace")
        from safdr.export.write import make

        return make(self._content, path, **options)

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{escape(self.to_html())}" sandbox="allow-scripts" '
            'title="Feature selection report" style="width: 100%; height: 720px; border: 0">'
            "</iframe>"
        )

    def __repr__(self) -> str:
        return text.short(self._content)


def _split(estimator: Any) -> tuple[Any, Any]:
    """Return the selector, and the pipeline before it."""
    if is_selector(estimator):
        return estimator, None
    steps = getattr(estimator, "steps", [])
    if not steps or not is_selector(steps[-1][1]):
        raise TypeError(
            "estimator must be a fitted selector of safdr, or a pipeline that ends with one; got "
            f"{type(estimator).__name__}."
        )
    return steps[-1][1], estimator[:-1] if len(steps) > 1 else None
