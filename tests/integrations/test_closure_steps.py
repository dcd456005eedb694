"""A step whose closure ran a moment earlier is the same step."""

from __future__ import annotations

from importlib import import_module

import pytest
import torch

from torchwhy.integrations.closure_steps import ClosureSteps

OPTIMIZERS = import_module("torch.optim.optimizer")


def train(kind, **options):
    """Return the weights, the losses that `step` gave, and how often the closure ran."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(), torch.nn.Linear(4, 1))
    optimizer = kind(model.parameters(), **options)
    rows, calls = torch.randn(8, 4), []

    def closure():
        calls.append(True)
        optimizer.zero_grad()
        loss = model(rows).pow(2).mean()
        loss.backward()
        return loss

    ways = ((closure,), {}), ((), {"closure": closure})
    losses = [optimizer.step(*args, **named).item() for args, named in ways]
    return [p.detach() for p in model.parameters()], losses, len(calls)


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.AdamW, torch.optim.LBFGS])
def test_weights_losses_and_calls_are_the_same(kind):
    weights, losses, calls = train(kind, lr=0.1)
    steps = ClosureSteps()

    steps.put_on_first()
    steps.put_on_last()
    try:
        watched, watched_losses, watched_calls = train(kind, lr=0.1)
    finally:
        steps.take_off()

    assert all(map(torch.equal, weights, watched))
    assert (losses, calls) == (watched_losses, watched_calls)


def test_gradients_are_there_before_the_step_is_judged():
    seen = []
    steps = ClosureSteps()
    steps.put_on_first()
    judge = OPTIMIZERS.register_optimizer_step_pre_hook(
        lambda optimizer, args, kwargs: seen.append((len(args), dict(kwargs)))
    )
    steps.put_on_last()

    train(torch.optim.SGD, lr=0.1)

    judge.remove()
    steps.take_off()
    assert seen == [(1, {}), (1, {})]
    assert not OPTIMIZERS._global_optimizer_pre_hooks
