"""
A scorecard: groups, costs and signs
====================================

Loans, made up. Some features cost money to ask for, the columns of a region belong together, two
incomes measure one thing, and nobody wants to explain why a larger income makes a default more
likely. What a credit desk wants is not the best subset, but the best one allowed.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from safdr import AnnealingSelector, Constraints

rng = np.random.default_rng(0)
n = 3000
income, trouble = rng.normal(size=(2, n))
debt = 0.7 * income + 0.5 * trouble + rng.normal(size=n)
region = rng.integers(0, 4, size=n)
X = pd.DataFrame(
    {
        "income": income + 1.2 * rng.normal(size=n),
        "income_checked": income + 0.9 * rng.normal(size=n),
        "debt": debt,
        "late_payments": trouble + 1.2 * rng.normal(size=n),
        "bureau_score": trouble + 0.6 * rng.normal(size=n),
        "credit_lines": 0.9 * income + 0.8 * debt + 0.3 * rng.normal(size=n),
        "age": rng.normal(size=n),
        **{f"region_{i}": (region == i).astype(float) for i in (1, 2, 3)},
    }
)
logit = -1.0 - 0.9 * income + 0.5 * debt + 1.2 * trouble + 0.8 * (region == 2)
y = (rng.random(n) < 1 / (1 + np.exp(-logit))).astype(int)  # 1 is a default

# %%
# One income of two; the region whole or not at all, as one feature; no age. And signs: income
# makes a default less likely, debt, late payments, a bad bureau score and many credit lines more.
groups = [["region_1", "region_2", "region_3"]]
rules = {
    "never_include": ["age"],
    "at_most_one_of": [["income", "income_checked"]],
}
signs = {
    "income": -1,
    "income_checked": -1,
    "debt": 1,
    "late_payments": 1,
    "bureau_score": 1,
    "credit_lines": 1,
}
free = AnnealingSelector(5, random_state=0).fit(X, y)
grouped = Constraints(groups=groups, **rules)
allowed = AnnealingSelector(5, constraints=grouped, random_state=0).fit(X, y)
signed = AnnealingSelector(5, constraints=Constraints(signs=signs, **rules), random_state=0).fit(
    X, y
)
for name, selector in (("free", free), ("groups", allowed), ("signs", signed)):
    terms = zip(selector.get_feature_names_out(), selector.estimator_.coef_[0], strict=True)
    told = ", ".join(f"{feature} {value:+.2f}" for feature, value in terms)
    print(f"{name:<7}loss {selector.loss_:.4f}: {told}")

# %%
# Each bureau score costs money. The larger ``cost_strength``, the more of the criterion a costly
# feature must bring; the curve says what going without it costs.
strengths = np.array([0.0, 0.01, 0.03, 0.1, 0.3, 1.0])
bought, losses = [], []
for strength in strengths:
    selector = AnnealingSelector(
        3,
        constraints=Constraints(**rules),
        feature_cost={"bureau_score": 1.0},
        cost_strength=strength,
        random_state=0,
    ).fit(X, y)
    bought.append("bureau_score" in selector.get_feature_names_out())
    losses.append(selector.cross_entropy_)

figure, ax = plt.subplots(layout="constrained")
ax.plot(range(len(strengths)), losses, color="0.6")
for has, label, color in ((True, "with the bureau score", "C1"), (False, "without", "C0")):
    at = [i for i, own in enumerate(bought) if own == has]
    ax.plot(at, [losses[i] for i in at], "o", color=color, label=label)
ax.set_xticks(range(len(strengths)), [f"{s:g}" for s in strengths])
ax.set(
    xlabel="cost_strength", ylabel="Cross-entropy", title="What leaving out a costly feature costs"
)
ax.legend()
