"""
A table larger than memory
==========================

Rows are read in passes, a few thousand at a time. Here the file is small; with one of 100 GB the
code is the same.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from safdr import AnnealingSelectorCV, Moments, Stream, prove

rng = np.random.default_rng(0)
folder = TemporaryDirectory()
names = [f"x{i}" for i in range(12)]
for part in range(4):
    X = rng.normal(size=(5000, 12))
    logit = X[:, 0] - 0.8 * X[:, 3] + 0.6 * X[:, 7]
    late = rng.random(5000) < 1 / (1 + np.exp(-logit))
    columns = dict(zip(names, X.T, strict=True)) | {"late": late}
    pq.write_table(pa.table(columns), Path(folder.name, f"part-{part}.parquet"))

# %%
# A folder of Parquet and the name of the target. Only a sample of the rows is kept (here 2000, to
# show it; by itself it would be 200 000); models and scores are those of all rows.
search = AnnealingSelectorCV(max_features=6, random_state=0)
search.fit(Stream(folder.name, sample_rows=2000), "late")
print(list(search.get_feature_names_out()))
print({name: search.streamed_[name] for name in ("n_rows", "n_sample_rows", "scored_on")})

# %%
# Moments of parts add up, wherever they were made, so a proof needs no rows at all.
parts = [
    Moments.from_batches(pq.ParquetFile(path).iter_batches(), "late")
    for path in sorted(Path(folder.name).glob("*.parquet"))
]
total = parts[0] + parts[1] + parts[2] + parts[3]
values = [prove(total, size).value for size in range(1, 9)]
print(f"{total.n_samples} rows;", prove(total, 3))

figure, ax = plt.subplots(layout="constrained")
ax.plot(range(1, 9), values, "o-")
ax.set(xlabel="Number of features", ylabel="Criterion value", title="Proven best of each size")
folder.cleanup()
