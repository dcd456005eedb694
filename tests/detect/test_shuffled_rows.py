"""Which order of rows is held responsible for labels that do not fit."""

from __future__ import annotations

import random

import torch

from tests.detect.helpers import trace_with
from torchwhy.detect.views.rehearsed.shuffled_rows import ordered_alone
from torchwhy.finding import SourceSpan
from torchwhy.record.inputs.data_events import RowsOrdered
from torchwhy.replay.rehearsal.capture.row_orders import RowOrders, digest


class _Position:
    step = 0


def _ordered(line: int, order: str, *, rows: int = 100, is_applied: bool = True) -> RowsOrdered:
    place = SourceSpan(file="train.py", line=line)
    return RowsOrdered(rows=rows, order=order, is_applied=is_applied, location=place)


def test_one_order_for_both_is_not_held_responsible() -> None:
    assert ordered_alone(trace_with(_ordered(3, "a"), _ordered(4, "a"))) is None


def test_an_order_of_one_array_is() -> None:
    found = ordered_alone(trace_with(_ordered(3, "a"), _ordered(4, "a"), _ordered(5, "b")))

    assert found is not None
    assert found.location is not None
    assert found.location.line == 5


def test_arrays_of_other_lengths_do_not_count() -> None:
    trace = trace_with(
        _ordered(3, "a"), _ordered(4, "a"), _ordered(5, "b", rows=30, is_applied=False)
    )

    assert ordered_alone(trace) is None


def test_two_drawn_orders_are_held_responsible_if_none_was_seen_applied() -> None:
    drawn = [_ordered(3, "a", is_applied=False), _ordered(4, "b", is_applied=False)]

    assert ordered_alone(trace_with(*drawn)) == drawn[1]
    assert ordered_alone(trace_with(drawn[0])) is None


def test_shuffled_row_numbers_are_no_data() -> None:
    noted: list[RowsOrdered] = []
    orders = RowOrders(noted.append, _Position())  # type: ignore[arg-type]

    orders._shuffled(random, list(range(50)), None)

    assert not noted


def test_equal_orders_have_one_digest() -> None:
    order = torch.randperm(40, generator=torch.Generator().manual_seed(1))

    assert digest(order) == digest(order.clone()) != digest(order.flip(0))
