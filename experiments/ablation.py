"""What the batches are worth: SA-FDR with other batch settings against its defaults, in pairs.

Settings are decided on the validation rows of the folds. The test part is shown for information
only: defaults that were chosen on it would flatter every later result.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from experiments.datasets import DATASETS
from experiments.methods import SA_FDR
from experiments.protocol import RULES
from experiments.store import Row, check_comparable
from experiments.summary import Group, Mean, group, paired
from experiments.table import MISSING, csv_text, markdown_table

# Off; then one thing changed at a time; then many small batches.
VARIANTS = (
    "sa-fdr+batch_fraction=1.0+n_batches=1",
    "sa-fdr+n_batches=2",
    "sa-fdr+n_batches=10",
    "sa-fdr+n_batches=20",
    "sa-fdr+batch_fraction=0.25",
    "sa-fdr+batch_fraction=0.75",
    "sa-fdr+batch_draw=proposal",
    "sa-fdr+batch_fraction=0.25+n_batches=20",
)
HEADER = (
    *("Data", "Settings", "Repeats"),
    *(f"{what} ({rule})" for rule in RULES for what in ("k*", "Δk*", "Δ validation AUC")),
    *("Δ validation AUC, mean over k", "Δ test AUC, mean over k (not used)", "s/fold"),
)


@dataclass(frozen=True)
class Contrast:
    """One variant on one data set against the defaults; differences are variant − default.

    `validation_change` and `validation_curve_change` decide; `test_change` and `test_curve_change`
    are for information.
    """

    data: str
    settings: str
    k: dict[str, Mean]
    k_change: dict[str, Mean]
    validation_change: dict[str, Mean]
    validation_curve_change: Mean
    test_change: dict[str, Mean]
    test_curve_change: Mean
    seconds: float


def make_contrasts(rows: Iterable[Row]) -> list[Contrast]:
    """Compare each variant with the defaults on the repeats that both have."""
    kept = [row for row in rows if row["method"].split("+")[0] == SA_FDR]
    check_comparable(kept)
    groups = group(kept)
    contrasts: list[Contrast] = []
    for data in DATASETS:
        default = groups.pop((data, SA_FDR), None)
        if default is None:
            continue
        others = [g for (name, _), g in sorted(groups.items()) if name == data]
        variants = [g for g in others if g.rows.keys() & default.rows.keys()]
        if variants:
            contrasts.extend(_contrast(g, default) for g in (default, *variants))
    return contrasts


def _contrast(variant: Group, default: Group) -> Contrast:
    common = variant.rows.keys() & default.rows.keys()
    variant, default = (
        Group(g.data, g.method, {repeat: g.rows[repeat] for repeat in sorted(common)})
        for g in (variant, default)
    )
    return Contrast(
        variant.data,
        variant.method.removeprefix(SA_FDR).removeprefix("+").replace("+", ", ") or "default",
        {rule: Mean.of(variant.k(rule).values()) for rule in RULES},
        {rule: _difference(variant.k(rule), default.k(rule)) for rule in RULES},
        {r: _difference(variant.validation_auc(r), default.validation_auc(r)) for r in RULES},
        _difference(variant.validation_curve(), default.validation_curve()),
        {rule: _difference(variant.auc(rule), default.auc(rule)) for rule in RULES},
        _difference(variant.test_curve(), default.test_curve()),
        variant.fold_seconds(),
    )


def _difference(one: dict[int, float], other: dict[int, float]) -> Mean:
    difference = paired(one, other)
    assert difference is not None  # the groups were cut to the same repeats
    return difference


def to_markdown(contrasts: Sequence[Contrast]) -> str:
    """The contrasts as a table."""
    return markdown_table(HEADER, [_cells(contrast) for contrast in contrasts])


def _cells(contrast: Contrast) -> list[str]:
    is_default = contrast.settings == "default"
    found = []
    for rule in RULES:
        found.append(f"{contrast.k[rule].value:.2f}")
        found.append(MISSING if is_default else _signed(contrast.k_change[rule], 2))
        found.append(MISSING if is_default else _signed(contrast.validation_change[rule], 4))
    return [
        DATASETS[contrast.data].title,
        contrast.settings,
        str(contrast.validation_curve_change.n),
        *found,
        MISSING if is_default else _signed(contrast.validation_curve_change, 4),
        MISSING if is_default else _signed(contrast.test_curve_change, 4),
        f"{contrast.seconds:.2f}",
    ]


def _signed(mean: Mean, digits: int) -> str:
    text = f"{mean.value:+.{digits}f}"
    return text if mean.n < 2 else f"{text} ± {mean.error:.{digits}f}"


def to_csv(contrasts: Sequence[Contrast]) -> str:
    """The contrasts in full."""
    return csv_text([_record(contrast) for contrast in contrasts])


def _record(contrast: Contrast) -> dict[str, object]:
    record: dict[str, object] = {
        "data": contrast.data,
        "settings": contrast.settings,
        "repeats": contrast.validation_curve_change.n,
    }
    for rule in RULES:
        record[f"k_{rule}"] = contrast.k[rule].value
        for name in ("k_change", "validation_change", "test_change"):
            change: Mean = getattr(contrast, name)[rule]
            record[f"{name}_{rule}"] = change.value
            record[f"{name}_{rule}_error"] = change.error
    for name in ("validation_curve_change", "test_curve_change"):
        change = getattr(contrast, name)
        record[name] = change.value
        record[f"{name}_error"] = change.error
    record["seconds_per_fold"] = contrast.seconds
    return record
