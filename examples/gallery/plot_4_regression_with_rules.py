"""
Regression with rules
=====================

Predict prices of flats, with rules for the features: groups, exclusive features, signs and costs.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from safdr import AnnealingRegressorSelector, AnnealingRegressorSelectorCV, Constraints

rng = np.random.default_rng(0)
n = 1500
area, quality, noise = rng.normal(size=(3, n))
district = rng.integers(0, 4, n)
X = pd.DataFrame(
    {
        "area": area + 0.1 * rng.normal(size=n),
        "area_of_plan": area + 0.3 * rng.normal(size=n),
        "rooms": 0.9 * area + 0.4 * rng.normal(size=n),
        "survey": quality + 0.3 * rng.normal(size=n),
        "age": -0.8 * quality + 0.6 * rng.normal(size=n),
        "floor": rng.normal(size=n),
        **{f"district_{i}": (district == i).astype(float) for i in (1, 2, 3)},
    }
)
y = 300 + 60 * area + 30 * quality + 25 * (district == 2) + 20 * noise

# %%
# The columns of the district are one feature. Only one area may be selected. Age must not raise the
# price. A survey costs money, in units of the criterion (R²).
rules = Constraints(
    groups={"district": ["district_1", "district_2", "district_3"]},
    at_most_one_of=[["area", "area_of_plan"]],
)
signs = Constraints(signs={"age": -1, "area": 1}, at_most_one_of=[["area", "area_of_plan"]])
options = {
    "no rules": {},
    "groups": {"constraints": rules},
    "signs": {"constraints": signs},
    "costs": {"feature_cost": {"survey": 0.1}},
}
for name, option in options.items():
    selector = AnnealingRegressorSelector(3, random_state=0, **option).fit(X, y)
    print(f"{name:<10}R² {selector.score(X, y):.3f}  {list(selector.get_feature_names_out())}")

# %%
search = AnnealingRegressorSelectorCV(constraints=rules, random_state=0).fit(X, y)
figure, ax = plt.subplots(layout="constrained")
ax.scatter(search.predict(X), y, s=9, alpha=0.5)
ax.axline((300, 300), slope=1, color="0.5", linewidth=1)
ax.set(xlabel="Predicted price", ylabel="Price", title=f"{search.n_features_} features")
