"""
A Dask cluster
==============

Each pass runs where the rows are; only sums come back. The cluster here has two threads of this
process; with ``Client("tcp://…")`` the same lines run on yours.
"""

import dask
import numpy as np
import pandas as pd
from dask import dataframe as dd
from dask.distributed import Client, LocalCluster

from safdr import AnnealingSelectorCV, PathDisplay, Stream

dask.config.set({"distributed.worker.memory.terminate": False})
rng = np.random.default_rng(0)
X = rng.normal(size=(4000, 8))
frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(8)])
frame["late"] = (X[:, 1] - X[:, 4] + rng.logistic(size=4000) > 0).astype(int)

cluster = LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None)
with cluster, Client(cluster):
    rows = dd.from_pandas(frame, npartitions=4)
    search = AnnealingSelectorCV(max_features=5, random_state=0)
    search.fit(Stream(rows, sample_rows=1500), "late")

print(list(search.get_feature_names_out()))
print(search.streamed_)

# %%
# Without ``Stream(…, sample_rows=…)``, rows that are fewer than the sample (200 000) are all
# read, and the answer is the one in memory, bit for bit:
here = AnnealingSelectorCV(max_features=5, random_state=0)
here.fit(frame.drop(columns="late"), frame.late)
print(here.subset_, search.subset_)
PathDisplay.from_estimator(search).plot().ax_.set_title("Scores of rows on a cluster")
