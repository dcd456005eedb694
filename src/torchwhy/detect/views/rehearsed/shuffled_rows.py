"""Which line puts rows in an order of its own, so that they no longer fit those of another array."""

from __future__ import annotations

from collections import Counter, defaultdict

from torchwhy.record.inputs.data_events import RowsOrdered
from torchwhy.record.trace import Trace


def ordered_alone(trace: Trace) -> RowsOrdered | None:
    """Return the last order that only one array was put in; None if all orders are shared, or if there is none.

    If no array was seen to be put in an order, as with lists and NumPy, the last of several different drawn orders.
    """
    by_rows: dict[int, list[RowsOrdered]] = defaultdict(list)
    for one in trace.of(RowsOrdered):
        by_rows[one.rows].append(one)
    for group in by_rows.values():
        applied = [one for one in group if one.is_applied]
        times = Counter(one.order for one in applied)
        alone = [one for one in applied if times[one.order] == 1]
        if alone:
            return alone[-1]
    for group in by_rows.values():
        drawn = {one.order: one for one in group}
        if len(drawn) > 1 and not any(one.is_applied for one in group):
            return list(drawn.values())[-1]
    return None
