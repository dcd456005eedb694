"""Tells rows that were copied from rows that coincide because their values are few."""

from __future__ import annotations

from torchwhy.record.inputs.data_events import RowsRepeated

FEWEST_ELEMENTS = 3  # Another category of a one-hot group changes two.
SHARE = 0.25  # of the elements


def no_coincidence(one: RowsRepeated) -> bool:
    """Tell whether repeated rows are far from all other rows.

    Where rows coincide by chance, rows that nearly coincide are many times more frequent.
    """
    return one.nearest >= max(FEWEST_ELEMENTS, SHARE * one.elements)
