"""
The paper's Figures 1 and 2
===========================

Figure 1: what the criterion looks like, how replicas cool, and that the ratio stands in for the
loss. Figure 2: loss and AUC against the number of features, SA-FDR beside RFE and the Lasso. Run
it from a clone: the experiments are no part of the package.
"""

from pathlib import Path

import experiments
from experiments.datasets import DATASETS, is_there, load
from experiments.figures import COMPARED, draw_figure_1, draw_figure_2
from experiments.store import Cell, RowStore

# %%
# The paper draws Figure 1 for Heart, which has to be fetched once (``python -m experiments
# data``); without it, for the breast-cancer data of scikit-learn.
name = "heart" if is_there(DATASETS["heart"]) else "cancer"
draw_figure_1(load(name))

# %%
# Figure 2 is drawn from the tracked rows of the protocol: twenty repeats, one JSON file each.
store = RowStore(Path(experiments.__file__).parent.parent / "paper")


def rows_of(data):
    """What was kept of a data set, of all methods that the figure compares."""
    cells = [Cell(data, method, repeat) for method in COMPARED for repeat in range(20)]
    return [row for row in map(store.read, cells) if row is not None]


draw_figure_2(rows_of("cancer"), "cancer")

# %%
draw_figure_2(rows_of("heart"), "heart")
