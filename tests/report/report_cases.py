"""Rows, settings and hostile names that the tests of the report share."""

from sklearn.datasets import make_classification

QUICK = {"n_replicas": 12, "max_steps": 15, "random_state": 0}

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
    """Two classes, told apart by the first features."""
    return make_classification(
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
