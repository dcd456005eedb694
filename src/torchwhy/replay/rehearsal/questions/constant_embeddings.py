"""Are outputs different for different inputs? The loss of one output for all inputs, beside that of different ones.

Asked where a loss compares outputs of the model with each other and with nothing else, as embeddings are learned.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from statistics import fmean

import torch

from torchwhy.replay.rehearsal.allowance import CannotAsk
from torchwhy.replay.rehearsal.answer import Answer
from torchwhy.replay.rehearsal.capture.captured_program import CapturedStep
from torchwhy.replay.rehearsal.capture.step_cut import Uses
from torchwhy.replay.rehearsal.changed_runs import ChangedRuns
from torchwhy.replay.rehearsal.copy_training import Trainee, adam
from torchwhy.replay.rehearsal.step_collection import CapturedSteps, StepGroup

SLUG = "outputs-differ"
RATE = 1e-2
UPDATES = 120
FEWEST_ROWS = 4
FEWEST_STEPS = 4
MOST_ARRANGED = 4
SAMPLES_AND_FEATURES = 2  # the axes of embeddings


def ask(steps: CapturedSteps) -> Answer:
    """Train on some captured steps, and compare the loss of the others with that of a constant output."""
    group = steps.only
    step = group.steps[0]
    trained = steps.trainable(group)
    outputs = _compared(step)
    if len(group.alike()) < FEWEST_STEPS:
        raise CannotAsk("too few steps were captured")
    runs = ChangedRuns(steps, group)
    _refuse_fixed_sides(runs, step, outputs, trained)
    own = runs.before[outputs[0]]
    constant = own.mean(0, keepdim=True).expand_as(own).contiguous()
    compares = next(
        one
        for one in reversed(step.operations)
        if any(ref.kind == "value" and ref.number in outputs for ref in one.refs)
    )
    start, after = _train(steps, group, trained)
    return Answer(
        {
            "constant": _loss(runs, dict.fromkeys(outputs, constant)),
            "equal": _loss(runs, dict.fromkeys(outputs, own)),
            "best": min(_loss(runs, one) for one in _arrangements(outputs, own)),
            "start": start,
            "trained": after,
            "updates": UPDATES,
            "compared": len(outputs),
        },
        {"compares": compares.span, "loss": step.place},
    )


def _loss(runs: ChangedRuns, instead: dict[int, torch.Tensor]) -> float:
    values = runs.values({}, instead=instead)
    return float(sum(values[root].sum() for root in runs.step.roots))


def _arrangements(outputs: list[int], own: torch.Tensor) -> Iterator[dict[int, torch.Tensor]]:
    """Yield outputs of which some belong to the same samples, and some to others."""
    other = own.roll(1, 0)
    for chosen in product((own, other), repeat=min(len(outputs) - 1, MOST_ARRANGED)):
        rest = [own] * (len(outputs) - 1 - len(chosen))
        yield dict(zip(outputs, [own, *chosen, *rest], strict=True))


def _compared(step: CapturedStep) -> list[int]:
    """Return the last values before the loss that weights made, if the loss compares several of them."""
    uses = Uses(step.operations)
    of_model = {
        number
        for one in step.operations
        if uses.role_in(one) == "input"
        for number in one.results
        if number is not None
    }
    found: dict[int, tuple[int, ...]] = {}
    shapes = {
        n: s for one in step.operations for n, s in zip(one.results, one.shapes, strict=False)
    }
    for operation in step.operations:
        if uses.role_in(operation) != "target":
            continue
        data = [step.slots[ref.number].tensor for ref in operation.refs if ref.kind == "slot"]
        if any(one.numel() > 1 for one in data):
            raise CannotAsk("the loss compares the outputs with targets")
        if any(ref.detached for ref in operation.refs):
            raise CannotAsk("a side of the comparison is held fixed")
        for number in uses.computed(operation):
            if number in of_model:
                found[number] = shapes.get(number) or ()
    kinds = set(found.values())
    shape = next(iter(kinds), ())
    if len(found) < 2 or len(kinds) != 1 or len(shape) != SAMPLES_AND_FEATURES:
        raise CannotAsk("the loss does not compare outputs with each other")
    if shape[0] < FEWEST_ROWS or shape[1] < 2:
        raise CannotAsk("the loss does not compare outputs with each other")
    return list(found)


def _refuse_fixed_sides(
    runs: ChangedRuns, step: CapturedStep, outputs: list[int], trained: frozenset[int]
) -> None:
    copies = {n: w.clone().requires_grad_(n in trained) for n, w in (step.weights or {}).items()}
    _, seen = step.run(copies, keep=outputs)
    if not all(one.requires_grad for one in seen.values()):
        raise CannotAsk("a side of the comparison is held fixed")
    if not all(bool(torch.isfinite(runs.before[n]).all()) for n in outputs):
        raise CannotAsk("the outputs are not finite")


def _train(steps: CapturedSteps, group: StepGroup, trained: frozenset[int]) -> tuple[float, float]:
    """Return the loss of every second captured step, before and after training on the others."""
    learned, held_out = group.alike()[::2], group.alike()[1::2]
    trainee = Trainee(steps.initial_weights(group), trained, adam(RATE), steps.allowance)
    start = fmean(trainee.loss(one) for one in held_out)
    for update in range(UPDATES):
        trainee.learn(learned[update % len(learned)])
    return start, fmean(trainee.loss(one) for one in held_out)
