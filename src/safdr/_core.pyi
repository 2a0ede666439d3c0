"""Signatures of the compiled core."""

import numpy as np
from numpy.typing import NDArray

def sweep(
    A: NDArray[np.float64],
    D: NDArray[np.float64],
    A_all: NDArray[np.float64],
    D_all: NDArray[np.float64],
    order: NDArray[np.int32],
    streams: NDArray[np.uint64],
    beta: NDArray[np.float64],
    which: NDArray[np.int64] | None,
    *,
    size: int,
    n_fixed: int,
    n_usable: int,
    n_proposals: int,
    collinear_tol: float,
    n_threads: int,
    conflicts: NDArray[np.uint8] | None = None,
    cost: NDArray[np.float64] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]: ...
def climb(
    A: NDArray[np.float64],
    D: NDArray[np.float64],
    order: NDArray[np.int32],
    *,
    size: int,
    n_fixed: int,
    n_usable: int,
    collinear_tol: float,
    n_threads: int,
    conflicts: NDArray[np.uint8] | None = None,
    cost: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]: ...
def subset_values(
    A: NDArray[np.float64],
    D: NDArray[np.float64],
    subsets: NDArray[np.int32],
    *,
    n_threads: int,
    left: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]: ...
def walk(
    A: NDArray[np.float64],
    D: NDArray[np.float64],
    subset: NDArray[np.int32],
    positions: NDArray[np.int64],
    candidates: NDArray[np.int64],
    *,
    collinear_tol: float,
) -> tuple[NDArray[np.float64], float]: ...
def standardise(
    X: NDArray[np.float64],
    mean: NDArray[np.float64],
    scale: NDArray[np.float64],
    columns: NDArray[np.int32],
) -> NDArray[np.float64]: ...
def local_model(
    Z: NDArray[np.float64],
    y: NDArray[np.float64],
    weight: NDArray[np.float64] | None,
    coefficients: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
def fit_logistic(
    Z: NDArray[np.float64],
    y: NDArray[np.float64],
    weight: NDArray[np.float64] | None,
    subsets: NDArray[np.int32],
    *,
    start: NDArray[np.float64] | None = None,
    model: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]] | None = None,
    max_iter: int,
    tol: float,
    n_threads: int,
) -> tuple[
    NDArray[np.float64],
    NDArray[np.float64],
    NDArray[np.bool_],
    NDArray[np.bool_],
    NDArray[np.float64],
    NDArray[np.int64],
]: ...
def fit_multinomial(
    Z: NDArray[np.float64],
    codes: NDArray[np.int32],
    weight: NDArray[np.float64] | None,
    subsets: NDArray[np.int32],
    start: NDArray[np.float64],
    left: NDArray[np.float64],
    slow_steps: NDArray[np.int64],
    *,
    max_iter: int,
    tol: float,
    exact: bool,
    n_threads: int,
) -> tuple[
    NDArray[np.float64],
    NDArray[np.float64],
    NDArray[np.bool_],
    NDArray[np.bool_],
    NDArray[np.bool_],
    NDArray[np.float64],
    NDArray[np.int64],
    NDArray[np.int64],
]: ...
