"""Draw the pictures of the README from scikit-learn's breast-cancer data."""

from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from safdr import (
    AnnealingSelector,
    AnnealingSelectorCV,
    PathDisplay,
    ProxyDisplay,
    SelectionDisplay,
    TraceDisplay,
)

HERE = Path(__file__).parent


def main() -> None:
    """Write how-it-works.png and selection.png beside this file."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    selector = AnnealingSelector(5, random_state=0).fit(X, y)
    search = AnnealingSelectorCV(max_features=15, n_jobs=2, random_state=0).fit(X, y)

    figure, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
    TraceDisplay.from_estimator(selector).plot(ax=axes[0])
    ProxyDisplay.from_estimator(selector, X, y, random_state=0).plot(ax=axes[1])
    PathDisplay.from_estimator(search).plot(ax=axes[2])
    titles = [
        "1. Replicas cool down",
        "2. The best cross-entropy wins",
        "3. The fewest that will do",
    ]
    for ax, title in zip(axes, titles, strict=True):
        ax.set_title(title)
    figure.savefig(HERE / "how-it-works.png", dpi=110)

    SelectionDisplay.from_estimator(search).plot().figure_.savefig(HERE / "selection.png", dpi=110)


if __name__ == "__main__":
    main()
