"""Rows, settings, hostile names, areas and a strict parser that tests of the report share."""

from html.parser import HTMLParser

import numpy as np
from sklearn.datasets import make_classification

from safdr import Annealing
from safdr.measures.intervals import interval_of_counts

VOID = {"meta", "img", "br", "hr", "input", "link"}
QUICK = {"annealing": Annealing(n_replicas=12, max_steps=15), "random_state": 0}

HOSTILE = [
    "<script>document.title = 'hacked'; alert(1)</script>",
    "</svg></style></title><img src=x onerror=alert(2)>",
    "\"double\" and 'single' & ampersand",
    "{{ 7 * 7 }} {% raw %}",
    "emoji 🧬 👩‍🔬 中文名字",
    "שלום עולם طول العمر",
    "\u202egnirts desrever",
    "two\nlines\tand\rmore",
    "same",
    "same",
    "",
    "\ud83d lone \x00 null",
    "n" * 300,
    "W" * 300,
]


def rows(n_features, n_informative=4):
    """Two classes, told apart by the first features, in random order."""
    X, y = make_classification(
        300,
        n_features,
        n_informative=n_informative,
        n_redundant=0,
        n_clusters_per_class=1,
        class_sep=0.6,
        flip_y=0.1,
        shuffle=False,
        random_state=3,
    )
    order = np.random.default_rng(9).permutation(len(y))
    return X[order], y[order]


class Elements(HTMLParser):
    """Every element with its attributes; fails where tags don't match."""

    def __init__(self):
        super().__init__()
        self.found, self.open, self.text = [], [], []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "script" not in self.open:
            self.text.append(data)


def parsed(page):
    elements = Elements()
    elements.feed(page)
    elements.close()
    assert not elements.open
    return elements


def auc_with_interval(positive, negative):
    """Area under the ROC curve of some scores with its interval, each score a bin of its own."""
    scores, place = np.unique(np.concatenate([negative, positive]), return_inverse=True)
    codes = np.repeat([0, 1], [len(negative), len(positive)])
    counts = np.bincount(codes * len(scores) + place, minlength=2 * len(scores))
    return interval_of_counts(counts.reshape(2, -1).astype(np.float64))
