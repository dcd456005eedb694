"""Which numbers a program reads are losses, by what it calls them."""

from __future__ import annotations

import ast

import pytest

from torchwhy.replay.nonfinite.evaluation_losses import is_called_loss


def spelled(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


@pytest.mark.parametrize(
    "text",
    [
        "val_loss.item",
        "criterion(model(x), y).item",
        "F.cross_entropy(out, y).mean().item()",
        "float(test_loss)",
        "self.losses['val'].item",
        "f'epoch {val_loss:.3f}'",
    ],
)
def test_a_loss_is_known_by_its_name(text: str):
    assert is_called_loss(spelled(text))


@pytest.mark.parametrize(
    "text",
    [
        "torch.exp(loss).item",
        "torch.tensor([loss.item()]).std().item",
        "accuracy.item",
        "float(correlation)",
        "f'{loss.item():.3f} {accuracy}'",
        "(loss / count).item",
    ],
)
def test_what_is_computed_of_a_loss_is_no_loss(text: str):
    assert not is_called_loss(spelled(text))
