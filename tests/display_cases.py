"""Displays to draw, and whether what they drew can be read."""

import itertools

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.text import Text
from sklearn.datasets import make_classification

from safdr import Annealing
from safdr.display import (
    DiscriminantDisplay,
    PathDisplay,
    ProxyDisplay,
    SelectionDisplay,
    StabilityDisplay,
    SubstitutesDisplay,
    TraceDisplay,
)

mpl.use("Agg")

DISPLAYS = [
    *("path", "trace", "proxy", "discriminant", "selection"),
    *("stability", "substitutes"),
]
QUICK = {"annealing": Annealing(n_replicas=15, max_steps=15), "random_state": 0}


def rows(n_features):
    X, y = make_classification(
        300,
        n_features,
        n_informative=min(6, n_features),
        n_redundant=0,
        n_clusters_per_class=1,
        class_sep=0.7,
        flip_y=0.1,
        random_state=0,
    )
    names = [
        f"concentration_of_compound_in_the_{i:02d}th_sample_of_the_patient [mg/dL]"
        for i in range(n_features)
    ]
    return pd.DataFrame(X, columns=names), np.where(y, "has the illness for certain", "healthy")


def make(kind, search, X, y):
    if kind == "path":
        return PathDisplay.from_estimator(search)
    if kind == "trace":
        return TraceDisplay.from_estimator(search)
    if kind == "proxy":
        return ProxyDisplay.from_estimator(search, X, y, n_random=200, random_state=0)
    if kind == "discriminant":
        return DiscriminantDisplay.from_estimator(search, X, y, (0, 1), random_state=0)
    if kind == "stability":
        how = {"n_resamples": 6, "random_state": 0, "max_features_shown": 60}
        return StabilityDisplay.from_estimator(search, X, y, **how)
    if kind == "substitutes":
        return SubstitutesDisplay.from_estimator(search, X, y, max_features_shown=60)
    return SelectionDisplay.from_estimator(search, max_features_shown=60)


def selection(counts, **options):
    counts = np.array(counts)
    defaults = {
        "n_features": np.arange(1, counts.shape[1] + 1),
        "n_splits": 5,
        "names": np.array([f"x{i}" for i in range(len(counts))], dtype=object),
        "n_features_chosen": 2,
        "support": counts[:, 1] >= 3,
    }
    return SelectionDisplay(n_folds_chosen=counts, **{**defaults, **options})


def drawn_texts(figure, monkeypatch):
    """Texts that get ink, with their boxes in pixels."""
    drawn = []
    draw = Text.draw

    def record(self, renderer, *args, **kwargs):
        if self.get_visible() and self.get_text().strip():
            drawn.append((self.get_text(), self.get_window_extent(renderer)))
        return draw(self, renderer, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(Text, "draw", record)
        figure.draw_without_rendering()
    assert drawn
    return drawn


def check_legible(figure, monkeypatch):
    texts = drawn_texts(figure, monkeypatch)
    for text, box in texts:
        # Half a pixel is the rounding of the renderer.
        inside = box.x0 >= -0.5 and box.y0 >= -0.5
        inside = inside and box.x1 <= figure.bbox.x1 + 0.5 and box.y1 <= figure.bbox.y1 + 0.5
        assert inside, f"{text!r} leaves the figure: {box}"
    for (first, a), (second, b) in itertools.combinations(texts, 2):
        width = min(a.x1, b.x1) - max(a.x0, b.x0)
        height = min(a.y1, b.y1) - max(a.y0, b.y0)
        assert not (width > 0.5 and height > 0.5), f"{first!r} overlaps {second!r}"
