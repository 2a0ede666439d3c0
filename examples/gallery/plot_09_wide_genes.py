"""
Wide: more genes than patients
==============================

5000 synthetic genes of 120 patients, with blocks of genes that move together. Six carry the
signal. The screen keeps the genes that enter an L1 path first, and only these are annealed.
"""

import matplotlib.pyplot as plt
import numpy as np

from safdr import AnnealingSelectorCV

rng = np.random.default_rng(1)
n, n_genes, signal = 120, 5000, [10, 500, 1200, 2600, 3300, 4800]
y = np.arange(n) % 2
pathways = rng.normal(size=(n, n_genes // 25)).repeat(25, axis=1)
X = 0.6 * pathways + rng.normal(size=(n, n_genes))
X[:, signal] += 1.1 * y[:, None] * np.array([1, -1, 1, 1, -1, 1])

search = AnnealingSelectorCV(max_features=8, cv=3, random_state=0).fit(X, y)
found = set(search.subset_.tolist())
print(search.n_features_by_rule_)
print(f"{len(found & set(signal))} of the {len(found)} chosen carry signal: {sorted(found)}")

# %%
# The score at the chosen size is optimistic with so many columns to choose from; fresh rows tell.
fresh = 0.6 * rng.normal(size=(400, n_genes // 25)).repeat(25, axis=1)
fresh += rng.normal(size=(400, n_genes))
labels = np.arange(400) % 2
fresh[:, signal] += 1.1 * labels[:, None] * np.array([1, -1, 1, 1, -1, 1])
probabilities = search.predict_proba(fresh)[:, 1]
print(f"accuracy on 400 fresh patients: {np.mean((probabilities > 0.5) == labels):.3f}")

figure, ax = plt.subplots(layout="constrained")
for label in (0, 1):
    ax.hist(
        probabilities[labels == label], bins=25, range=(0, 1), alpha=0.6, label=f"class {label}"
    )
ax.set(xlabel="Predicted probability", ylabel="Fresh patients", title="Rows never seen")
ax.legend()
