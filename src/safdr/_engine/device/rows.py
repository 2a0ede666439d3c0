"""Devices of torch's, what memory they have, and rows that are there."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from safdr._engine.arrays import FloatArray, IntArray
from safdr._memory import available_memory, told_bytes
from safdr.errors import ParameterError

# Tensors that are worked on together take so many bytes at most.
BLOCK_BYTES = 2**30


def open_device(name: Any) -> torch.device:
    """The device of this name; an error says what there is instead."""
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).cpu()
    except (RuntimeError, AssertionError, TypeError, NotImplementedError) as error:
        raise ParameterError(
            "device",
            "must be a device that torch can use here ({there}), or None for the compiled search; "
            "got {name!r}.{why}",
            there="'cpu', 'cuda'" if torch.cuda.is_available() else "'cpu'; it sees no GPU",
            name=name,
            why=_why(error),
        ) from None
    return device


def _why(error: Exception) -> str:
    """What torch says, in a sentence; but not its list of all devices that there are anywhere."""
    said = (str(error).splitlines() or [""])[0].rstrip(".")
    return f" {said}." if said and not said.startswith("Expected one of") else ""


def free_bytes(device: torch.device) -> float:
    """Memory that is left on a device."""
    if device.type == "cuda":
        torch.cuda.empty_cache()
        return float(torch.cuda.mem_get_info(device)[0])
    available = available_memory()
    return np.inf if available is None else float(available)


def check_room(device: torch.device, n_bytes: float, what: str, hint: str) -> None:
    """Raise an error that says how much is needed and what to do, before it is taken."""
    free = free_bytes(device)
    if n_bytes > free:
        raise MemoryError(
            f"{what} would take {told_bytes(n_bytes)} on device {str(device)!r}, where "
            f"{told_bytes(free)} are free. {hint}"
        )


def in_parts(values: Tensor, length: int) -> Any:
    """Some of them at a time."""
    return torch.split(values, max(1, length))


class DeviceRows:
    """Rows of a tensor that stays where it is; what is asked of them comes as NumPy's arrays."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor
        self.shape: tuple[int, int] = (tensor.shape[0], tensor.shape[1])

    def __getitem__(self, key: Any) -> Any:
        """Some rows, still there; or columns of all rows, here."""
        if isinstance(key, tuple):
            assert key[0] == slice(None)
            return _here(self.tensor[:, self._there(key[1])])
        return DeviceRows(self.tensor[self._there(key)])

    def _there(self, places: Any) -> Any:
        if isinstance(places, slice):
            return places
        return torch.as_tensor(places, device=self.tensor.device)

    def take(self, columns: IntArray, axis: int) -> FloatArray:
        """Columns, row after row."""
        assert axis == 1
        return np.ascontiguousarray(self[:, columns])

    def min(self, axis: int) -> FloatArray:
        """Smallest value of each column."""
        return _here(self.tensor.amin(axis))

    def max(self, axis: int) -> FloatArray:
        """Largest value of each column."""
        return _here(self.tensor.amax(axis))


def _here(values: Tensor) -> FloatArray:
    return np.asarray(values.to("cpu", torch.float64).numpy())
