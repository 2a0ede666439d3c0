"""A table as people have them: text, codes, dates, units, missing values."""

import numpy as np
import pandas as pd


def messy_table(n_rows=300, seed=0):
    """Return a frame of text, as CSV would hold it, and the target."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    x = rng.normal(size=(n_rows, 4)) + 0.8 * y[:, None]
    columns = {
        "row": np.arange(n_rows).astype(str),
        "postcode": [f"0{each}" for each in rng.integers(1000, 1999, n_rows)],
        "income": [f"{40_000 + 9_000 * each:,.0f}" for each in x[:, 0]],
        "rate": [f"{10 + each:.2f}%" for each in x[:, 1]],
        "amount": [f"€ {500 + 90 * each:.2f}" for each in x[:, 2]],
        "score": [f"{each:.3f}" for each in x[:, 3]],
        "city": rng.choice(["Bonn", "Rome", "Paris"], n_rows, p=[0.5, 0.3, 0.2]),
        "grade": (1 + rng.integers(0, 4, n_rows)).astype(str),
        "member": np.where(rng.random(n_rows) < 0.3 + 0.3 * y, "true", "false"),
        "day": pd.date_range("2024-01-01", periods=n_rows).strftime("%d.%m.%Y"),
        "month": (202401 + rng.integers(0, 12, n_rows)).astype(str),
        "constant": "same",
        "customer_id": rng.integers(100, 160, n_rows).astype(str),
        "remark": [f"text {each}" for each in rng.permutation(n_rows)],
    }
    frame = pd.DataFrame(columns).astype(object)
    frame.loc[::40, "score"] = "n/a"
    frame.loc[5::60, "city"] = None
    return frame, np.where(y, "yes", "no")
