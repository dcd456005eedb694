"""Can it learn one batch by heart? Copies train on the first captured batch, with Adam and with the own settings."""

from __future__ import annotations

import math

import torch

from torchwhy.observe.torch_features.tensor_parts import precise
from torchwhy.replay.rehearsal.allowance import CannotAsk
from torchwhy.replay.rehearsal.answer import Answer
from torchwhy.replay.rehearsal.capture.captured_program import CapturedStep, Tensors
from torchwhy.replay.rehearsal.copy_training import MakeOptimizer, Trainee, adam, like
from torchwhy.replay.rehearsal.step_collection import CapturedSteps

SLUG = "one-batch-by-heart"
UPDATES = 60
RATES = (1e-2, 1e-3)
SAME_UPDATE = (
    0.05  # of the length of an update: rounding of tiny gradients turns some signs for Adam
)
DRAWS = 3  # of other weights, at which a gradient of 0 must be 0 again


def ask(steps: CapturedSteps) -> Answer:
    """Return how far the loss of one batch falls, and whether a gradient reaches any parameter."""
    group = steps.main
    step, weights = group.steps[0], steps.initial_weights(group)
    trained = steps.trainable(group)
    largest = _largest_gradient(step, weights, trained)
    facts: dict[str, object] = {"first": step.loss, "gradient": largest, "updates": UPDATES}
    places = {"loss": step.place}
    if largest == 0.0:
        facts["gradients elsewhere"] = [
            _largest_gradient(step, _elsewhere(weights, draw), trained) for draw in range(DRAWS)
        ]
        return Answer(facts, places)
    best = None
    for rate in RATES:
        losses = _learn(step, weights, trained, adam(rate), steps)
        if best is None or losses[-1] < best[1][-1]:
            best = (rate, losses)
        if losses[-1] < 0.5 * step.loss:
            break
    assert best is not None
    facts |= {"rate": best[0], "ours": best[1][-1], "curve": best[1][:: UPDATES // 10]}
    try:
        own = like(steps.optimizer_of(group), steps.parameters.tensors)
        _check_update(step, weights, trained, own, steps)
        losses = _learn(step, weights, trained, own, steps)
        facts |= {"own": losses[-1], "own curve": losses[:: UPDATES // 10]}
    except CannotAsk as reason:
        facts["own refused"] = str(reason)
    return Answer(facts, places)


def _learn(
    step: CapturedStep,
    weights: Tensors,
    trained: frozenset[int],
    make: MakeOptimizer,
    steps: CapturedSteps,
) -> list[float]:
    """Return the losses, the last one after all updates; infinity where they are not finite."""
    trainee = Trainee(weights, trained, make, steps.allowance)
    losses = [trainee.learn(step) for _ in range(UPDATES)]
    losses.append(trainee.loss(step))
    return [one if math.isfinite(one) else math.inf for one in losses]


def _check_update(
    step: CapturedStep,
    weights: Tensors,
    trained: frozenset[int],
    make: MakeOptimizer,
    steps: CapturedSteps,
) -> None:
    """Raise CannotAsk unless an update of the copies is the one that the program made.

    It is another one if the program clips, scales or adds up gradients before the optimizer uses them.
    """
    trainee = Trainee(weights, trained, make, steps.allowance)
    trainee.learn(step)
    for number, change in (step.changes or {}).items():
        made = precise(trainee.copies[number].detach() - weights[number])
        size = float(precise(change).norm())
        if not float((made - precise(change)).norm()) <= SAME_UPDATE * size:
            raise CannotAsk("the program changes the gradients before its optimizer uses them")
    if not step.changes:
        raise CannotAsk("the first update was not captured")


def _largest_gradient(step: CapturedStep, weights: Tensors, trained: frozenset[int]) -> float:
    copies = {n: w.detach().clone().requires_grad_(n in trained) for n, w in weights.items()}
    loss, _ = step.run(copies)
    if not loss.requires_grad:
        return 0.0
    asked = [copies[n] for n in trained if n in copies]
    found = torch.autograd.grad(loss, asked, allow_unused=True)
    return max(
        (float(one.abs().max()) for one in found if one is not None and one.numel()), default=0.0
    )


def _elsewhere(weights: Tensors, draw: int) -> dict[int, torch.Tensor]:
    generator = torch.Generator().manual_seed(draw)
    moved = {}
    for number, tensor in weights.items():
        size = float(precise(tensor).pow(2).mean().sqrt()) if tensor.numel() else 0.0
        noise = torch.randn(tensor.shape, generator=generator).to(tensor)
        moved[number] = tensor + max(size, 0.01) * noise if tensor.is_floating_point() else tensor
    return moved
