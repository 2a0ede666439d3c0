"""Random formulas with nasty names and levels, and rows for them that nobody would expect."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from safdr._old_export.formula import Formula, Term
from safdr._old_table.recipe import Feature

TEXTS = [
    *("'", '"', "''", '""', "\\", "\\\\", "\\'", '\\"', "a\\", "\\' OR 1=1 --", '\\" + 1 AS "y'),
    *("new\nline", "\r", "x\r\ny", " ", " x ", "\t", "\x1c", "\x85", "\u2028", "\ufeff", "\x0b"),
    *("NULL", "NA", "nan", "inf", "?", "1", "01", "1.0", "1,5", "1e5", "true", "TRUE", "False"),
    *("SELECT", "rows_to_score", "scored", "log_odds", "Probability", "tensor_1", "TERMS"),
    *("prediction", "Prediction_", "score_1", "probability_a", "probabilities"),
    *("'; DROP TABLE t; --", "--", "/*", "*/", "%s", "{0}", "{target}", ":x", "$1", "a,b", "a;b"),
    *("é", "É", "e\u0301", "ß", "🦊", "\u202e", "/|~#^\\", "x" * 300, "a", "A", "b\0", "\0"),
]
ALPHABET = "aA1 \"'\\\n\r,;|\t/.-é🦊"
NUMBERS = [0.0, -0.0, 1.0, 5e-324, 1e-300, 1e300, 1.7976931348623157e308, 2.0**53 + 2, 0.1]


@dataclass(frozen=True)
class Case:
    """A formula; rows like those that a model learns from, and rows like no other."""

    formula: Formula
    usual: pa.Table
    odd: pa.Table


def make_case(rng: np.random.Generator) -> Case:
    """A formula on one to five columns, all of them in both tables."""
    names = _different(rng, int(rng.integers(1, 6)))
    features = [feature for name in names for feature in _features(rng, name)]
    # A number has one sum, two classes too, and more of them one each.
    n_classes = int(rng.choice([0, 2, rng.integers(3, 7)]))
    n_sums = max(1, n_classes * (n_classes > 2))
    terms = tuple(Term(feature, _coefficients(rng, n_sums)) for feature in features)
    target, table = text(rng), text(rng) or "t"
    classes = tuple(_different(rng, n_classes))
    formula = Formula(terms, _coefficients(rng, n_sums), target, classes, table)
    levels = {name: [f.level for f in features if f.column == name] for name in names}
    first = formula.columns
    usual = {n: _usual(rng, first[n], levels[n], 20) for n in names}
    odd = {n: _odd(rng, first[n], levels[n], 15) for n in names}
    if rng.random() < 0.5:
        # As in a model: the intercept takes off what columns far from 0 add.
        middle = np.median(formula.sums(pa.table(usual)), axis=0)
        intercepts = tuple((rng.normal(size=n_sums) - middle).tolist())
        formula = replace(formula, intercepts=intercepts)
    if rng.random() < 0.4:
        # As in a penalised model: values beyond those of the training rows are the nearest of them.
        terms = tuple(_between(term, usual[term.feature.column]) for term in formula.terms)
        formula = replace(formula, terms=terms)
    return Case(formula, pa.table(usual), pa.table(odd))


def _between(term: Term, values: pa.Array) -> Term:
    """A term that counts values between the ends of those given, and what fills gaps, alone."""
    if term.feature.kind != "number":
        return replace(term, low=0.0, high=1.0)
    known = [value for value in [*values.to_pylist(), term.feature.fill] if value is not None]
    return replace(term, low=min(known), high=max(known))


def text(rng: np.random.Generator) -> str:
    """One of the known troublemakers, or a few characters that make trouble."""
    if rng.random() < 0.6:
        return str(rng.choice(np.array(TEXTS, dtype=object)))
    return "".join(rng.choice(list(ALPHABET), size=rng.integers(0, 6)))


def _different(rng: np.random.Generator, n: int) -> list[str]:
    found: dict[str, None] = {}
    while len(found) < n:
        name = text(rng)
        if name:
            found[name] = None
    return list(found)


def _features(rng: np.random.Generator, name: str) -> list[Feature]:
    """One feature of a column, or one for each of some levels."""
    kind: Any = str(rng.choice(["number", "boolean", "text"], p=[0.5, 0.1, 0.4]))
    filled = rng.random() < 0.4
    if kind == "text":
        levels = {text(rng): None for _ in range(rng.integers(1, 4))}
        return [Feature("f", name, "level", level, 0.0 if filled else None) for level in levels]
    fill = 1e3 * rng.normal() if kind == "number" else float(rng.integers(2))
    return [Feature("f", name, kind, fill=fill if filled else None)]


def _coefficients(rng: np.random.Generator, n: int) -> tuple[float, ...]:
    """Of any size, as the columns are."""
    size = 10.0 ** rng.integers(-20, 20)
    return tuple(float(rng.choice([0.0, rng.normal(), rng.normal() * size])) for _ in range(n))


def _number(rng: np.random.Generator) -> float:
    if rng.random() < 0.1:
        return float(rng.choice(NUMBERS))
    return float(rng.normal() * 10.0 ** rng.integers(-10, 10))


def _usual(rng: np.random.Generator, feature: Feature, levels: list, n: int) -> pa.Array:
    """Values without gaps, unless they are filled; numbers may be far from 0 and close together."""
    if feature.kind == "number":
        offset = rng.choice([0.0, 1.7e9, 10.0 ** rng.integers(-20, 20)])
        values = [float(offset + rng.normal() * 10.0 ** rng.integers(-3, 4)) for _ in range(n)]
    elif feature.kind == "boolean":
        values = [bool(rng.integers(2)) for _ in range(n)]
    else:
        values = [str(rng.choice(np.array([*levels, "other"], dtype=object))) for _ in range(n)]
    if feature.fill is not None:
        values = [None if rng.random() < 0.2 else value for value in values]
    return pa.array(values, _type(feature))


def _odd(rng: np.random.Generator, feature: Feature, levels: list, n: int) -> pa.Array:
    """Values that are missing, extreme, or nearly levels."""
    if feature.kind == "number":
        choices = [None, np.nan, np.inf, -np.inf, _number(rng), _number(rng), *NUMBERS]
    elif feature.kind == "boolean":
        choices = [None, True, False]
    else:
        near = [v for x in levels for v in (x, x.upper(), x + " ", x.replace("\\", "\\\\"), x[1:])]
        choices = [None, "", text(rng), *near]
    picked = [choices[i] for i in rng.integers(len(choices), size=n)]
    return pa.array(picked, _type(feature))


def _type(feature: Feature) -> pa.DataType:
    return {"number": pa.float64(), "boolean": pa.bool_(), "level": pa.string()}[feature.kind]
