"""
Counts and survival times
=========================

Select features for claim rates with exposures, and for survival times with censored rows.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from safdr import AnnealingRegressorSelectorCV, AnnealingSurvivalSelectorCV

rng = np.random.default_rng(0)
n = 1200
X = pd.DataFrame(rng.normal(size=(n, 20)), columns=[f"factor_{j}" for j in range(20)])
risk = 0.6 * X["factor_2"] - 0.5 * X["factor_7"] + 0.4 * X["factor_11"]

# %%
# A rate is a count over its exposure. The exposure is the weight of the row, in any unit.
years = rng.uniform(0.1, 2.0, n)
claims = rng.poisson(years * np.exp(risk - 1))
search = AnnealingRegressorSelectorCV(8, family="poisson", random_state=0)
search.fit(X, claims / years, sample_weight=years)
print("Claims:", list(search.get_feature_names_out()))
print(f"Explained deviance: {search.cv_results_['mean_test_score'].max():.2f}")

# %%
# A survival time has two fields: whether the event was observed, and the time.
event, censored = rng.exponential(np.exp(-risk)), rng.exponential(2.0, n)
y = np.rec.fromarrays([event <= censored, np.minimum(event, censored)], names="event,time")
search = AnnealingSurvivalSelectorCV(8, random_state=0).fit(X, y)
print("Survival:", list(search.get_feature_names_out()))
print(f"Concordance: {search.cv_results_['mean_test_score'].max():.2f}")

# %%
# The curves of the rows with the lowest, the middle and the highest risk.
scores = search.predict(X)
rows = np.argsort(scores)[[0, n // 2, -1]]
figure, ax = plt.subplots(layout="constrained")
for row, label in zip(rows, ("lowest", "middle", "highest"), strict=True):
    curve = search.predict_survival_function(X.iloc[[row]])[0]
    ax.step(curve.x, curve.y, where="post", label=label)
ax.set(xlabel="Time", ylabel="Share without an event", ylim=(0, 1.02))
ax.legend(title="Risk")
