"""Rows that are copies of others, and rows that only coincide."""

from __future__ import annotations

import torch

from torchwhy.detect.views.inputs.row_repeats import no_coincidence
from torchwhy.observe.probes.loaders.row_copies import repeated_among
from torchwhy.record.inputs.data_events import RowsRepeated


def _found(inputs: torch.Tensor, labels: torch.Tensor) -> RowsRepeated:
    found = repeated_among(0, [("batch[0]", inputs), ("batch[1]", labels)])
    assert found is not None
    return found


def test_different_rows_give_nothing() -> None:
    rows = torch.arange(60.0).reshape(20, 3)

    assert repeated_among(0, [("batch[0]", rows), ("batch[1]", torch.arange(20) % 2)]) is None


def test_copies_are_counted_with_an_example() -> None:
    torch.manual_seed(0)
    rows = torch.randn(30, 5)
    labels = torch.arange(30) % 3

    found = _found(torch.cat([rows, rows[:10]]), torch.cat([labels, labels[:10]]))

    assert (found.copies, found.fewest, found.most) == (10, 1, 2)
    assert found.example == [0, 30]
    assert (found.nearest, found.elements) == (5, 5)
    assert no_coincidence(found)
    assert found.contradicting == 0


def test_whole_epochs_occur_equally_often() -> None:
    torch.manual_seed(0)
    rows = torch.randn(12, 4)

    found = _found(rows.repeat(3, 1), (torch.arange(12) % 2).repeat(3))

    assert found.fewest == found.most == 3


def test_labels_that_disagree_are_no_copies() -> None:
    torch.manual_seed(0)
    rows = torch.randn(20, 4)
    labels = torch.zeros(20, dtype=torch.int64)

    found = _found(torch.cat([rows, rows[:3]]), torch.cat([labels, labels[:3] + 1]))

    assert found.copies == 0
    assert (found.contradicting, found.contradiction, found.labels) == (6, [0, 20], [0, 1])
    assert found.recurring == 6


def test_rows_of_a_few_categories_have_near_neighbours() -> None:
    torch.manual_seed(0)
    rows = torch.nn.functional.one_hot(torch.randint(0, 3, (60, 2)), 3).reshape(60, 6).float()

    found = _found(rows, torch.arange(60) % 2)

    assert found.nearest == 2
    assert not no_coincidence(found)


def test_copies_of_a_rare_class_even_out_the_classes() -> None:
    torch.manual_seed(0)
    rows, labels = torch.randn(40, 4), (torch.arange(40) >= 36).long()

    found = _found(
        torch.cat([rows, rows[36:].repeat(8, 1)]), torch.cat([labels, labels[36:].repeat(8)])
    )

    assert found.balance == [1.0, 9.0]
