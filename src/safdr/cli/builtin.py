"""The table that is there without a file: scikit-learn's breast-cancer data."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

TARGET = "diagnosis"


def breast_cancer() -> pa.Table:
    """Thirty measures of cell nuclei from 569 samples, and whether the tumour was malignant."""
    import pyarrow as pa
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    columns = dict(zip(map(str, data.feature_names), data.data.T, strict=True))
    return pa.table({**columns, TARGET: data.target_names[data.target].tolist()})
