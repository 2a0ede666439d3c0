"""
From a table to SQL
===================

Encode a table with categories and missing values, select features, and export the model as a query
and as a scorecard.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from sklearn.pipeline import make_pipeline

from safdr import AnnealingSelectorCV, Report, TableEncoder

rng = np.random.default_rng(0)
n = 1200
income = rng.lognormal(8, 0.4, n).round()
status = rng.choice(["owner", "tenant", "other"], n, p=[0.4, 0.5, 0.1])
late = rng.poisson(0.7, n)
odds = -1.5 - (np.log(income) - 8) + 0.9 * late + 0.7 * (status == "tenant")
table = pd.DataFrame(
    {
        "customer": [f"C{i:05d}" for i in range(n)],
        "income": [f"{x:,.0f} EUR" for x in income],
        "status": status,
        "late_payments": np.where(rng.random(n) < 0.05, np.nan, late),
        "age": rng.integers(18, 80, n),
    }
)
y = np.where(rng.random(n) < 1 / (1 + np.exp(-odds)), "default", "paid")

# %%
# The encoder reads numbers in text, makes columns of categories and drops identifiers.
encoder = TableEncoder(missing="median")
pipeline = make_pipeline(encoder, AnnealingSelectorCV(random_state=0)).fit(table, y)
print(list(pipeline[-1].get_feature_names_out(encoder.get_feature_names_out())))

# %%
# The report is the page, the dictionary and the exports. Each file is checked before it is written.
report = Report.from_estimator(pipeline, table, y)
with TemporaryDirectory() as folder:
    for name in ("model.sql", "scorecard.csv"):
        report.save(Path(folder, name))
        print(Path(folder, name).read_text())
