"""How the numbers were made: settings, versions, and a fingerprint of the data."""

from __future__ import annotations

import hashlib
import json
import math
import platform
import sys
from collections.abc import Mapping
from importlib.metadata import version
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

import safdr


def describe_provenance(estimator: Any) -> dict[str, Any]:
    """Give settings, seed, versions and platform."""
    seed = estimator.random_state
    return {
        "settings": {"selector": type(estimator).__name__, **_settings(estimator)},
        "seed": int(seed) if isinstance(seed, Integral) else None,
        "versions": {
            "safdr": safdr.__version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scikit-learn": version("scikit-learn"),
        },
        "platform": f"{sys.platform} {platform.machine()}",
    }


def fingerprint(
    X: NDArray[np.float64], y: NDArray[Any], names: list[str], *, measured: bool = False
) -> str:
    """Checksum of the data as they were fitted: shape, names, values and target, in their order."""
    classes: list[str] = []
    if measured:
        target = (y + 0.0).astype("<f8")
    else:
        labels, codes = np.unique(y, return_inverse=True)
        classes, target = [str(label) for label in labels], codes.astype("<i8")
    head = json.dumps([list(X.shape), names, classes])
    digest = hashlib.sha256(head.encode())
    # Little-endian everywhere, and one zero: -0.0 + 0.0 is 0.0.
    digest.update((X + 0.0).astype("<f8").tobytes())
    digest.update(target.tobytes())
    return f"sha256:{digest.hexdigest()}"


def _settings(estimator: Any) -> dict[str, Any]:
    """The parameters, as JSON can write them; objects by their repr."""
    parameters = estimator.get_params(deep=False)
    for name, defaults in (("annealing", safdr.Annealing()), ("constraints", safdr.Constraints())):
        parameters |= (parameters.pop(name) or defaults).get_params(deep=False)
    # Elsewhere None is the default; here it switches the screen off.
    if parameters["screen"] is None:
        parameters["screen"] = "none"
    return {name: _plain(value) for name, value in sorted(parameters.items())}


def _plain(value: Any) -> Any:
    """A number, text, None or collection of them as it is; of all else what it says of itself."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and math.isinf(value):
        return "infinite"  # JSON has no number for it
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return getattr(value, "__name__", None) or repr(value)
