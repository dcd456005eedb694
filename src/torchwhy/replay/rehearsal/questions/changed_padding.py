"""Does padding matter? What the program marks as padding is changed, with its masks as they are and turned round."""

from __future__ import annotations

import torch

from torchwhy.replay.rehearsal.allowance import CannotAsk
from torchwhy.replay.rehearsal.answer import Answer
from torchwhy.replay.rehearsal.changed_runs import ChangedRuns, Values, base_of, moved
from torchwhy.replay.rehearsal.padding_marks import Mask, PaddedInput, masks_of, padded_inputs
from torchwhy.replay.rehearsal.step_collection import CapturedSteps

SLUG = "padding-ignored"
MOST_MASKS = 6


def ask(steps: CapturedSteps) -> Answer:
    """Change the padding, and compare the outputs for the elements that are none."""
    runs = ChangedRuns(steps, steps.main)
    tried: list[tuple[float, Answer]] = []
    for padded in padded_inputs(runs.step):
        for mask in masks_of(runs.step, padded)[:MOST_MASKS]:
            answer = _try(runs, padded, mask)
            tried.append((answer.facts["padding"] - _least(answer), answer))
    if not tried:
        raise CannotAsk("no mask of the captured step follows the padding of an input")
    return max(tried, key=lambda one: one[0])[1]


def _try(runs: ChangedRuns, padded: PaddedInput, mask: Mask) -> Answer:
    step, other = runs.step, mask.turned(runs.step)
    padding, sequences = padded.changed(step), padded.changed_sequences(step)
    as_turned = runs.values(other)
    facts: dict[str, float | str] = {
        "padding": _effect(runs, padded, runs.before, runs.values({padded.given: padding})),
        "sequences": _effect(runs, padded, runs.before, runs.values({padded.given: sequences})),
        "padding turned": _effect(
            runs, padded, as_turned, runs.values({**other, padded.given: padding})
        ),
        "sequences turned": _effect(
            runs, padded, as_turned, runs.values({**other, padded.given: sequences})
        ),
        "padded": int(padded.padding.sum()),
        "elements": padded.padding.numel(),
        "operation": base_of(mask.operation),
    }
    softmaxes = mask.softmaxes(step)
    if softmaxes:
        masked = runs.values({}, masked=softmaxes)
        changed = runs.values({padded.given: padding}, masked=softmaxes)
        facts["padding masked before"] = _effect(runs, padded, masked, changed)
    return Answer(facts, {"mask": mask.operation.span, "enters": step.slots[padded.given].span})


def _least(answer: Answer) -> float:
    """Return how little the padding does with the mask at its best."""
    turned = float(answer.facts["padding turned"])
    return min(turned, float(answer.facts.get("padding masked before", turned)))


def _effect(runs: ChangedRuns, padded: PaddedInput, before: Values, after: Values) -> float:
    """Return by how much the outputs moved, apart from those at the padding."""
    outputs = runs.step.outputs or runs.step.roots
    found = 0.0
    for number in outputs:
        first, second = before[number], after[number]
        if not first.is_floating_point():
            continue
        if not bool(first.isfinite().any()) or bool(first.isnan().any() or second.isnan().any()):
            raise CannotAsk("the captured step has outputs that are not finite")
        by = _of_sequences(moved(first, second), padded.padding)
        found = max(found, float(by.max()) if by.numel() else 0.0)
    return found


def _of_sequences(by: torch.Tensor, padding: torch.Tensor) -> torch.Tensor:
    """Return the elements of an output that do not stand at the padding; all of them if it has no positions."""
    rows, length = padding.shape
    if by.dim() and by.shape[0] == rows * length:
        return by[~padding.flatten()]
    axes = [axis for axis, size in enumerate(by.shape) if axis and size == length]
    if len(axes) == 1 and by.shape[0] == rows:
        return by.movedim(axes[0], 1)[~padding]
    return by
