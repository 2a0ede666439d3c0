"""
Is there a better one? Proof and near-ties
==========================================

Annealing is a search by chance. The criterion that it searches by can be maximised with certainty
too, for tables of some dozens of features in a fraction of a second; and all subsets that come
near the best can be listed.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from safdr import AnnealingSelector, Moments, near_ties, prove

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
moments = Moments.from_rows(X, y)

# %%
# Moments (means and covariances of the classes) are all that the criterion needs of the rows. The
# published method searches by the same criterion, without shrinkage.
for size in (3, 5, 8):
    proof = prove(moments, size)
    selector = AnnealingSelector.as_published(size, random_state=0).fit(X, y)
    found = selector.result_.criterion_values.max()
    print(
        f"{size} features: proven {proof.value:.6f}, annealing reached {found:.6f}; "
        f"{proof.n_nodes} of the subsets looked at"
    )

# %%
# What is proven is the largest criterion value on these rows: not the smallest loss of a model,
# and nothing about other rows. How flat is the top?
ties = near_ties(moments, 5, within=0.02)
print(f"{ties.n_total} subsets of five come within 2 % of the best")

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
left.plot(range(1, len(ties.values) + 1), ties.values, ".-")
left.set(xlabel="Rank", ylabel="Criterion value", title="Near-ties of five features")
order = ties.feature_counts.argsort()[::-1][:12][::-1]
right.barh(X.columns[order], ties.feature_counts[order] / ties.n_total)
right.set(xlabel="Share of the near-ties", title="Features that nearly all of them have")

# %%
# A feature in all near-ties is needed; one in a third of them has a stand-in.
