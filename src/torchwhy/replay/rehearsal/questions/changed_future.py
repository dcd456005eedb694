"""Does the past see the future? The element that an output is to predict is changed, and the output compared.

Asked where the targets are the inputs shifted by one along time, which is a fact of their content.
"""

from __future__ import annotations

import torch

from torchwhy.finding import SourceSpan
from torchwhy.plain_data import dataclass
from torchwhy.replay.rehearsal.allowance import CannotAsk
from torchwhy.replay.rehearsal.answer import Answer
from torchwhy.replay.rehearsal.changed_runs import ChangedRuns, Values, moved
from torchwhy.replay.rehearsal.mixing_places import first_leak
from torchwhy.replay.rehearsal.shifted_targets import (
    ShiftedTarget,
    at_positions,
    shifted_targets,
)
from torchwhy.replay.rehearsal.step_collection import CapturedSteps

SLUG = "future-unseen"
MOST_SEQUENCES = 4
MOST_CODES = 8


@dataclass(frozen=True)
class Seen:
    """How far the output moved whose element to predict was changed, and the outputs from there on."""

    before: float
    after: float
    position: int
    values: Values


def ask(steps: CapturedSteps) -> Answer:
    """Change one element of the sequences, and compare the outputs that come before it."""
    runs = ChangedRuns(steps, steps.main)
    tried = []
    for shift in list(shifted_targets(runs.step))[:MOST_SEQUENCES]:
        seen = [one for at in _places(shift) if (one := _change(runs, shift, at)) is not None]
        if seen:
            tried.append((shift, max(seen, key=lambda one: one.before)))
    if not tried:
        own = _own_elements(runs)
        if own is not None:
            return own
        raise CannotAsk("no target is an input shifted by one, so no output is to predict the next")
    # An encoder may see what its decoder is to say: the input that a step sees least is the one to be hidden.
    shift, worst = min(tried, key=lambda one: one[1].before)
    leak = (
        first_leak(runs, worst.values, length=shift.length, position=worst.position)
        if worst.before
        else None
    )
    places: dict[str, SourceSpan | None] = {
        "output": shift.meets.span,
        "enters": runs.step.slots[shift.given].span,
    }
    facts: dict[str, float | str] = {
        "before": worst.before,
        "after": worst.after,
        "position": worst.position,
        "length": shift.length,
        "sequences": len(tried),
    }
    if leak is not None:
        places["mixing"] = leak.mixing.span
        places["mask"] = leak.mask.span if leak.mask is not None else None
        facts["operation"] = leak.name
    return Answer(facts, places)


def _own_elements(runs: ChangedRuns) -> Answer | None:
    """Return how far an output moves whose own element is its target, if the model reads in order.

    Asked of whole numbers only: a causal network that compresses a signal has it as input and target on purpose.
    """
    step = runs.step
    for shift in list(shifted_targets(step, by=0))[:MOST_SEQUENCES]:
        if step.slots[shift.target].tensor.is_floating_point():
            continue
        at = _places(shift)[1] - 1
        if not 0 < at < shift.length - 1:
            continue
        values = runs.values({shift.given: _changed(step.slots[shift.given].tensor, shift, at)})
        by = at_positions(shift, step, moved(runs.before[shift.output], values[shift.output]))
        if by is None:
            continue
        pieces = (by.narrow(shift.axis, 0, at), by.select(shift.axis, at), _later(by, shift, at))
        earlier, own, later = (float(one.max()) for one in pieces)
        if earlier > 0.0 or later == 0.0:
            continue  # it reads the sequence as a whole, or each element by itself
        if _goes_through_a_code(runs, shift):
            continue
        facts = {"own": own, "later": later}
        facts |= {"position": at, "length": shift.length}
        return Answer(facts, {"output": shift.meets.span, "enters": step.slots[shift.given].span})
    return None


def _goes_through_a_code(runs: ChangedRuns, shift: ShiftedTarget) -> bool:
    """Tell whether all that the output knows of an element goes through fewer numbers than the model gets of it.

    An autoencoder has its inputs as targets on purpose. Its code is a narrow value that, left as it was, leaves the
    output as it was. The last element is changed, so that what differs belongs to one position.
    """
    given = runs.step.slots[shift.given].tensor
    changed = {shift.given: _changed(given, shift, shift.length - 1)}
    widths = {
        number: int((value != runs.before[number]).sum())
        for number, value in runs.values(changed).items()
        if value.is_floating_point() and value.shape == runs.before[number].shape
    }
    reached = [number for number, count in widths.items() if count]
    if not reached or shift.output not in reached:
        return False
    width = min(widths[reached[0]], widths[shift.output])
    for number in [one for one in reached if widths[one] < width][:MOST_CODES]:
        kept = runs.values(changed, instead={number: runs.before[number]})
        if torch.equal(kept[shift.output], runs.before[shift.output]):
            return True
    return False


def _later(by: torch.Tensor, shift: ShiftedTarget, at: int) -> torch.Tensor:
    return by.narrow(shift.axis, at + 1, by.shape[shift.axis] - at - 1)


def _places(shift: ShiftedTarget) -> list[int]:
    """Return some elements that an output with a loss is to predict."""
    others = [axis for axis in range(shift.counts.dim()) if axis != shift.axis]
    counts = shift.counts.amax(others) if others else shift.counts
    positions = [int(one) + 1 for one in counts.nonzero().flatten()]
    chosen = {positions[len(positions) * share // 4] for share in (1, 2, 3)}
    return sorted(chosen)


def _change(runs: ChangedRuns, shift: ShiftedTarget, at: int) -> Seen | None:
    given = runs.step.slots[shift.given].tensor
    changed = _changed(given, shift, at)
    values = runs.values({shift.given: changed})
    by = at_positions(shift, runs.step, moved(runs.before[shift.output], values[shift.output]))
    if by is None:
        return None
    counted = shift.counts.select(shift.axis, at - 1)
    before = by.select(shift.axis, at - 1)[counted]
    after = (
        by.narrow(shift.axis, at, by.shape[shift.axis] - at) if at < by.shape[shift.axis] else by
    )
    return Seen(float(before.max()), float(after.max()), at, values)


def _changed(given: torch.Tensor, shift: ShiftedTarget, at: int) -> torch.Tensor:
    """Return an input with one element of its sequences exchanged by another one, where most differs."""
    per_element = given.numel() // int(
        torch.Size(shift.shape).numel()
    )  # classes of a one-hot input
    changed = given.clone().reshape(*shift.shape, per_element)
    here = changed.select(shift.axis, at)
    others = [place for place in range(shift.length) if place != at]
    best = max(others, key=lambda one: int((changed.select(shift.axis, one) != here).sum()))
    here.copy_(changed.select(shift.axis, best).clone())
    return changed.reshape(given.shape)
