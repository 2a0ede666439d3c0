"""Devices of torch, their free memory, and rows on them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from safdr._engine.arrays import FloatArray, IntArray
from safdr._memory import available_memory

# Largest size in bytes of the tensors of one step.
BLOCK_BYTES = 2**30


def free_bytes(device: torch.device) -> float:
    """Return the free memory of a device; infinity if it is unknown."""
    if device.type != "cuda":
        available = available_memory()
        return np.inf if available is None else available
    torch.cuda.empty_cache()
    return float(torch.cuda.mem_get_info(device)[0])


def in_parts(values: Tensor, length: int) -> Any:
    return torch.split(values, max(1, length))


class DeviceRows:
    """Rows of a tensor on a device; columns and statistics are NumPy arrays."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor
        self.shape: tuple[int, int] = (tensor.shape[0], tensor.shape[1])

    def __getitem__(self, key: Any) -> Any:
        """Return a subset of rows on the device, or columns as an array."""
        return _here(self.tensor[key]) if isinstance(key, tuple) else DeviceRows(self.tensor[key])

    def take(self, columns: IntArray, axis: int) -> FloatArray:
        assert axis == 1
        return np.ascontiguousarray(self[:, columns])

    def min(self, axis: int) -> FloatArray:
        return _here(self.tensor.amin(axis))

    def max(self, axis: int) -> FloatArray:
        return _here(self.tensor.amax(axis))


def _here(values: Tensor) -> FloatArray:
    return np.asarray(values.to("cpu", torch.float64).numpy())
