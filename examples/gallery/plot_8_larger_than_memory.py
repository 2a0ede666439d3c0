"""
Larger than memory
==================

Read a table in chunks. This table is small, but the code is the same for 100 GB.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from safdr import AnnealingSelectorCV, PathDisplay, Stream

rng = np.random.default_rng(0)
folder = TemporaryDirectory()
for part in range(4):
    X = rng.normal(size=(5000, 12))
    odds = X[:, 0] - 0.8 * X[:, 3] + 0.6 * X[:, 7]
    columns = {f"x{j}": X[:, j] for j in range(12)}
    columns["late"] = rng.random(5000) < 1 / (1 + np.exp(-odds))
    pq.write_table(pa.table(columns), Path(folder.name, f"part-{part}.parquet"))

# %%
# Pass a folder of Parquet files, and the name of the target. Sums over all rows are exact. Only a
# sample of the rows stays in memory: 200,000 by default, and 2,000 here.
search = AnnealingSelectorCV(random_state=0)
search.fit(Stream(folder.name, sample_rows=2000), "late")
print(list(search.get_feature_names_out()))

# %%
# Any function that returns batches is a source too, such as a query of a database.
batches = Stream(lambda: pq.ParquetFile(Path(folder.name, "part-0.parquet")).iter_batches())
print(AnnealingSelectorCV(random_state=0).fit(batches, "late").subset_)

# %%
PathDisplay.from_estimator(search).plot()
folder.cleanup()
