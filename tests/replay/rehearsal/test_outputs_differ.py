"""Losses that compare outputs with each other: does anything keep different samples apart?"""

from __future__ import annotations

import pytest

from tests.support.children import Zygote, shared_zygote
from tests.support.rehearsals import Rehearsed, rehearse

PROGRAM = """
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 6))
predictor = nn.Linear(6, 6)
optimizer = torch.optim.Adam([*encoder.parameters(), *predictor.parameters()], lr=1e-2)
for step in range(12):
    x = torch.randn(32, 10)
    a, b = (encoder(x + 0.2 * torch.randn_like(x)) for _ in range(2))
    {loss}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
COLLAPSE = {
    "distance": "loss = (a - predictor(b)).pow(2).sum(1).mean()",
    "cosine": "loss = -F.cosine_similarity(a, b, dim=1).mean() + 0 * predictor.weight.sum()",
}
STAY_APART = {
    "stopped gradient": "loss = -F.cosine_similarity(predictor(a), b.detach(), dim=1).mean()",
    "other samples": "loss = F.triplet_margin_loss(a, predictor(b), b.roll(1, 0))",
    "targets": "loss = F.cross_entropy(a @ predictor(b).T, torch.arange(32))",
    "variance": "loss = F.mse_loss(a, predictor(b)) + F.relu(1 - a.std(0)).mean() + F.relu(1 - b.std(0)).mean()",
}


@pytest.fixture
def zygote() -> Zygote:
    return shared_zygote()


def _rehearse(loss: str, zygote: Zygote) -> Rehearsed:
    return rehearse(PROGRAM.format(loss=loss), zygote=zygote, steps=12)


@pytest.mark.parametrize("name", COLLAPSE)
def test_a_loss_that_only_pulls_is_reported(name: str, zygote: Zygote) -> None:
    done = _rehearse(COLLAPSE[name], zygote)

    assert done.check("outputs-differ").answer == "no"
    (finding,) = [one for one in done.report.findings if one.detector == "collapsed-output"]
    assert finding.location is not None
    assert finding.location.line == 13


@pytest.mark.parametrize("name", STAY_APART)
def test_a_loss_that_keeps_samples_apart_is_not_reported(name: str, zygote: Zygote) -> None:
    done = _rehearse(STAY_APART[name], zygote)

    assert done.check("outputs-differ").answer != "no"
    assert not [one for one in done.report.findings if one.detector == "collapsed-output"]
