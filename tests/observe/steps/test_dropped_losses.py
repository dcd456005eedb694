"""Bad losses that a program drops: once is a reason to look, after a survived one it is the program's habit."""

from __future__ import annotations

import torch

from torchwhy.observe.steps.dropped_losses import DroppedLosses

GOOD = torch.tensor(1.0)


def bad() -> torch.Tensor:
    return torch.tensor(float("nan"))


def test_first_bad_loss_is_not_usual() -> None:
    assert not DroppedLosses().one_more_is_usual


def test_bad_loss_is_usual_after_one_that_did_no_harm() -> None:
    dropped = DroppedLosses()
    dropped.read(bad(), GOOD)
    dropped.stepped()

    assert dropped.one_more_is_usual


def test_longer_row_than_ever_is_not_usual() -> None:
    dropped = DroppedLosses()
    dropped.read(bad(), GOOD)
    dropped.stepped()
    dropped.read(bad(), bad())

    assert not dropped.one_more_is_usual


def test_one_loss_read_twice_is_one_loss() -> None:
    dropped, loss = DroppedLosses(), bad()
    dropped.read(loss, loss)
    dropped.stepped()

    assert not dropped.one_more_is_usual
