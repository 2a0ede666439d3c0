"""Report: a fitted selector as a dictionary, a page and files."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path
from typing import Any, Self

from safdr import text
from safdr._files import write_atomically
from safdr.report import reading
from safdr.report.describe import SCHEMA, describe
from safdr.report.reading import Rows


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
        prove: Any = None,
        near_optimal: Any = None,
        stability: Any = None,
        substitutes: Any = False,
        what_if: bool = True,
        source: Any = None,
        title: str | None = None,
        target: Mapping[str, Any] | None = None,
        data: Mapping[str, Any] | None = None,
        settings: Mapping[str, Any] | None = None,
        notes: Iterable[str] = (),
        warnings: Iterable[Mapping[str, Any]] = (),
        seconds: float | None = None,
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

        by : mapping of str to array-like, default=None
            Values of each held-out row; scores are reported by segment.

        encoder : TableEncoder, default=None
            What made `X` from a table. A pipeline with one needs none.

        prove : float, default=None
            Seconds for `safdr.prove`, or its result.

        near_optimal : float, default=None
            `rtol` of `safdr.near_optimal`, or its result.

        stability : int, default=None
            Number of half-samples of `safdr.stability`, or its result.

        substitutes : bool, default=False
            Search the best replacement of each selected feature; or what `safdr.substitutes`
            returned.

        what_if : bool, default=True
            Add the numbers of the page's "What if".

        source : tuple, default=None
            ``(X, y)`` or ``(X, y, sample_weight)`` of a fit to rows read in chunks, such as
            ``(path, "target")``. Questions read it; `X` and `y` are then a sample of the rows.

        title : str, default=None
            Heading of the page.

        target, data, settings : dict, default=None
            Entries that replace those of the result, such as ``target={"name": "late"}``.

        notes : iterable of str, default=()
            Remarks on how the data were made.

        warnings : iterable of dict, default=()
            More warnings: `kind`, `text` and `advice`; `serious` puts one first.

        seconds : float, default=None
            Time of the search.

        n_jobs : int, default=None
            Parallel jobs of the questions.

        Returns
        -------
        Report
        """
        if (X_test is None) != (y_test is None):
            raise ValueError("X_test and y_test go together; got one without the other.")
        selector, transform, made = _split(estimator)
        names = None if encoder is None else encoder.get_feature_names_out()
        if transform is not None:
            X, names = transform.transform(X), transform.get_feature_names_out()
            X_test = None if X_test is None else transform.transform(X_test)
            encoder = encoder or made
            if made is None:
                steps = ", ".join(type(step).__name__ for _, step in transform.steps)
                notes = [*notes, f"Terms are columns after {steps}."]
        test = None if X_test is None else Rows(X_test, y_test, sample_weight_test, by or {})
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
        about = {
            "title": title,
            "target": target,
            "data": data,
            "settings": settings,
            "notes": notes,
            "warnings": warnings,
            "seconds": seconds,
        }
        train = Rows(X, y, sample_weight)
        return cls(describe(selector, train, test, asked, about, names=names, encoder=encoder))

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
        """Return the page: one file, without network access."""
        try:
            from safdr.report.page import render
        except ModuleNotFoundError as error:
            if error.name not in ("jinja2", "matplotlib"):
                raise
            raise ImportError(
                "The page needs jinja2 and matplotlib. Install both: pip install 'safdr[report]'."
            ) from error
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
        ending = Path(path).suffix.lower()
        if ending in (".json", ".html"):
            made = self.to_json() if ending == ".json" else self.to_html()
            write_atomically(Path(path), made.encode("utf-8", "backslashreplace"))
            return
        from safdr.export.write import write

        write(self._content, path, **options)

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{escape(self.to_html())}" sandbox="allow-scripts" '
            'title="Feature selection report" style="width: 100%; height: 720px; border: 0">'
            "</iframe>"
        )

    def __repr__(self) -> str:
        return text.short(self._content)


def _split(estimator: Any) -> tuple[Any, Any, Any]:
    """Return the selector, the steps before it, and the step that knows how columns are made."""
    if reading.is_selector(estimator):
        return estimator, None, None
    steps = list(getattr(estimator, "steps", []))
    if not steps or not reading.is_selector(steps[-1][1]):
        raise TypeError(
            "estimator must be a fitted selector of safdr, or a pipeline that ends with one; got "
            f"{type(estimator).__name__}."
        )
    encoder = steps[-2][1] if len(steps) == 2 and hasattr(steps[-2][1], "terms") else None
    return steps[-1][1], estimator[:-1], encoder
