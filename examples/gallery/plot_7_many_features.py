"""
More features than rows
=======================

5,000 synthetic genes of 120 patients. Six genes carry the signal, and genes of a pathway are
correlated. A screen keeps the genes that enter the L1 path first, and the search uses these.
"""

import matplotlib.pyplot as plt
import numpy as np

from safdr import AnnealingSelector

rng = np.random.default_rng(1)
N_GENES, SIGNAL = 5000, [10, 500, 1200, 2600, 3300, 4800]


def draw_patients(n):
    """Return genes and labels of n patients."""
    labels = np.arange(n) % 2
    pathways = rng.normal(size=(n, N_GENES // 25)).repeat(25, axis=1)
    genes = 0.6 * pathways + rng.normal(size=(n, N_GENES))
    genes[:, SIGNAL] += 1.1 * labels[:, None] * np.array([1, -1, 1, 1, -1, 1])
    return genes, labels


X, y = draw_patients(120)
selector = AnnealingSelector(6, random_state=0).fit(X, y)
hits = set(selector.subset_.tolist()) & set(SIGNAL)
print(f"{len(hits)} of {selector.n_features_} selected genes carry signal: {sorted(hits)}")

# %%
# With so many features the score on the training rows is optimistic. New patients give an honest
# score.
X_new, y_new = draw_patients(400)
probability = selector.predict_proba(X_new)[:, 1]
print(f"accuracy on new patients: {selector.score(X_new, y_new):.3f}")

figure, ax = plt.subplots(layout="constrained")
for label in (0, 1):
    ax.hist(probability[y_new == label], 25, range=(0, 1), alpha=0.6, label=f"class {label}")
ax.set(xlabel="Predicted probability", ylabel="New patients")
ax.legend()
