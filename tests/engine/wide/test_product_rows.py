"""Rows that are kept are those that would be made."""

import numpy as np
import pytest

from safdr._engine.wide import product_rows
from safdr._engine.wide.criterion import WideCriterion


@pytest.mark.parametrize("room", [0, 3, 100])
def test_kept_rows_are_those_of_the_criterion(monkeypatch, room):
    monkeypatch.setattr(product_rows, "KEPT_BYTES", room * 8 * 50)
    monkeypatch.setattr("safdr._engine.wide.rows.BLOCK_COLUMNS", 16)
    rng = np.random.default_rng(0)
    criterion = WideCriterion.of_classes(rng.normal(size=(30, 50)), np.arange(30) % 2, 2, None)
    kept = product_rows.ProductRows(criterion)
    made = []
    against_all = WideCriterion.against_all

    def counted(self, members):
        made.extend(members.tolist())
        return against_all(self, members)

    monkeypatch.setattr(WideCriterion, "against_all", counted)
    for members in ([4, 1, 9], [1, 4], [9, 2, 30], [1, 2]):
        found = np.hstack([rows for _, rows in kept.of(np.array(members))])
        expected = np.hstack([rows for _, rows in against_all(criterion, np.array(members))])
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    # Room for three: 4, the first asked for, has gone, and of 1 and 2 the older one too.
    assert (
        made
        == {
            0: [4, 1, 9, 1, 4, 9, 2, 30, 1, 2],
            3: [4, 1, 9, 2, 30, 1],
            100: [4, 1, 9, 2, 30],
        }[room]
    )
