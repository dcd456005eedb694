"""What a rehearsal finds out about the data by reading rows again."""

from __future__ import annotations

import random

import pytest
import torch
from torch.utils.data import Dataset

from tests.support.children import shared_zygote
from tests.support.rehearsals import rehearse
from torchwhy.observe.probes.loaders.seen_loader import SeenLoader
from torchwhy.record.inputs.data_events import EVALUATION_QUESTION, VALUES_QUESTION
from torchwhy.replay.rehearsal.data_code.reread_rows import reread

PROGRAM = """
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Points(Dataset):
    def __init__(self, n, noise):
        self.x, self.noise = torch.randn(n, 4), noise

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        x = self.x[i]
        if self.noise:
            x = x + torch.randn(4)
        return x, int(self.x[i, 0] > 0)


def main():
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    train, val = DataLoader(Points(40, True), 8, shuffle=True), DataLoader(Points(16, NOISE), 8)
    for epoch in range(20):
        for x, y in train:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch < 1:
            with torch.no_grad():
                print(sum(nn.functional.cross_entropy(model(x), y).item() for x, y in val))


main()
"""


class Flipped(Dataset):
    """Rows that are sometimes negated, with a label."""

    def __len__(self):
        return 8

    def __getitem__(self, index):
        row = torch.full((3,), float(index + 1))
        sign = random.choice([-1, 1])
        return {"x": row * sign, "label": index % 2}


def _loader() -> SeenLoader:
    rows = [torch.arange(8)]
    return SeenLoader(
        0, None, kind="Flipped", rows=8, workers=0, sampler=None, evaluates=True, drawn=rows
    )


@pytest.fixture
def zygote():
    return shared_zygote()


def test_a_row_that_changes_is_named_with_the_line_that_draws():
    before = random.getstate()

    rows, changed = reread(_loader(), Flipped(), step=3)

    assert rows == 6
    assert changed is not None
    assert (changed.changed, changed.kept) == (["row['x']"], ["row['label']"])
    assert changed.location is not None
    assert "random.choice" in (changed.location.expression or "")
    assert random.getstate() == before


def test_a_random_row_is_found_though_evaluation_ran_once(zygote):
    found = rehearse(PROGRAM.replace("NOISE", "True"), zygote=zygote)

    cause = next(one for one in found.report.findings if one.detector == "random-evaluation-data")

    assert cause.location is not None
    assert cause.location.expression == "x = x + torch.randn(4)"
    assert found.check(EVALUATION_QUESTION).answer == "no"


def test_fixed_rows_are_fine(zygote):
    found = rehearse(PROGRAM.replace("NOISE", "False"), zygote=zygote)

    assert found.check(EVALUATION_QUESTION).answer == "yes"
    assert found.check(VALUES_QUESTION).answer == "yes"
    assert found.report.findings == ()


def test_a_loop_without_a_loader_could_not_be_asked(zygote):
    text = """
import torch
x, w = torch.randn(40, 4), torch.zeros(4, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
for i in range(0, 40, 4):
    loss = ((x[i : i + 4] @ w - x[i : i + 4, 0]) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
    found = rehearse(text, zygote=zygote)

    assert found.check(EVALUATION_QUESTION).answer == "could-not-ask"
    assert found.check(VALUES_QUESTION).reason
