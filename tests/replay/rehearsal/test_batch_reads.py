"""Which parts of a batch count as read."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from torchwhy.replay.microscope.operations import info_of
from torchwhy.replay.rehearsal.capture.batch_reads import BatchReads

aten = torch.ops.aten


class Keeper:
    """Holds one batch of three parts at a time, as the keeper of batches does."""

    def __init__(self):
        self.drawn = 0
        self.recent = []

    def draw(self):
        self.drawn += 1
        self.parts = [torch.rand(4) for _ in range(3)]
        leaves = [(f"batch[{n}]", one) for n, one in enumerate(self.parts)]
        self.recent = [SimpleNamespace(trains=True, leaves=lambda: leaves)]


@pytest.fixture
def keeper():
    return Keeper()


def run(reads, function, *args):
    result = function(*args)
    given = [one for one in args if isinstance(one, torch.Tensor)]
    reads.operation(info_of(function), given, result)
    return result


def test_a_part_that_only_copies_and_views_touch_is_unread(keeper):
    reads = BatchReads(keeper)

    for _ in range(3):
        keeper.draw()
        used, copied, unread = keeper.parts
        run(reads, aten.add.Tensor, used, used)
        copy = run(reads, aten._to_copy.default, copied)
        run(reads, aten.view.default, unread, [2, 2])

    assert copy is not copied
    assert reads.unread(fewest=3) == ["batch[1]", "batch[2]"]


def test_a_copy_that_is_read_is_a_read_of_its_part(keeper):
    reads = BatchReads(keeper)
    keeper.draw()

    copy = run(reads, aten.clone.default, keeper.parts[1])
    run(reads, aten.sum.default, copy)

    assert reads.read == {"batch[1]": 1}


def test_values_that_numpy_gets_are_read(keeper):
    reads = BatchReads(keeper)
    keeper.draw()

    run(reads, aten.detach.default, keeper.parts[2])

    assert reads.read == {"batch[2]": 1}
