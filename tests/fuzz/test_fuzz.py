"""Each fuzz target runs without a failure, and finds a fault that is put in."""

from unittest.mock import patch

import numpy as np
import pytest

from fuzz.__main__ import NAMES, main, run

FAULTS = {
    "estimators": ("fuzz.oracles.value", lambda *_: 0.5),
    "fits": ("fuzz.fits.bound", lambda *_: 1.0),
    "constraints": ("fuzz.constraints.has_signs", lambda *_, margin: margin > 0),
    "wide": ("fuzz.cases.Case.is_allowed", lambda *_: False),
    "streams": ("fuzz.streams.MAX_ERROR", -1.0),
    "exports": ("fuzz.exports.score", lambda model, _: [0.123] * len(model["intercepts"])),
    "tables": ("fuzz.tables.write_number", lambda *_: "1.5"),
    "options": ("fuzz.options.check_whole", lambda *_: np.testing.assert_equal(1, 2)),
}


@pytest.mark.parametrize("name", NAMES)
def test_targets_pass(name):
    n_cases, failures = run(name, seed=0, n_cases=6, seconds=60, n_jobs=1)
    assert n_cases == 6
    assert not failures, failures[0][1]


@pytest.mark.parametrize("name", NAMES)
def test_targets_find_a_fault(name):
    from fuzz.__main__ import failure

    check = __import__(f"fuzz.{name}", fromlist=["check"]).check
    with patch(*FAULTS[name]):
        assert any(failure(check, seed) for seed in range(30))


def test_failures_are_printed_with_their_seed(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["fuzz", "exports", "--cases", "2", "--jobs", "1"])
    assert main() == 0
    assert "exports: 2 cases, 0 failed" in capsys.readouterr().out
