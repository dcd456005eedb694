"""Is every part of a batch read, and every argument? If an unread part marks padding, the padding is changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from torchwhy.replay.rehearsal.allowance import CannotAsk
from torchwhy.replay.rehearsal.answer import Answer
from torchwhy.replay.rehearsal.capture.captured_program import CapturedStep
from torchwhy.replay.rehearsal.changed_runs import ChangedRuns, Values
from torchwhy.replay.rehearsal.padding_marks import PaddedInput, padding_indices, row_ends
from torchwhy.replay.rehearsal.step_collection import CapturedSteps, StepGroup

SLUG = "parts-read"
FEWEST_BATCHES = 8
Parts = dict[str, torch.Tensor]


def ask(steps: CapturedSteps) -> Answer:
    """Return the parts of batches that no operation reads, and the tensors that a function is given and never reads."""
    arguments = steps.arguments.unread()
    if not arguments:
        return _parts(steps)
    try:
        answer = _parts(steps)
    except CannotAsk:
        answer = Answer({"unread": 0})
    first = arguments[0]
    named = {"argument": first.name, "function": first.function, "arguments": len(arguments)}
    return Answer({**answer.facts, **named}, {**answer.places, "argument": first.place})


def _parts(steps: CapturedSteps) -> Answer:
    """Return the parts of batches that no operation reads, apart from row numbers and constants."""
    reads = steps.reads
    if reads is None or not reads.given:
        raise CannotAsk("the program draws no batch from a DataLoader")
    if max(reads.given.values()) < FEWEST_BATCHES:
        raise CannotAsk(f"fewer than {FEWEST_BATCHES} batches were drawn")
    unread = reads.unread(fewest=FEWEST_BATCHES)
    telling = [path for path in unread if _tells([one[path] for one in reads.kept if path in one])]
    facts: dict[str, object] = {
        "parts": len(reads.given),
        "batches": max(reads.given.values()),
        "unread": len(telling),
    }
    if not telling:
        return Answer(facts)
    facts["part"] = telling[0]
    tried = (
        (path, _effect_of_padding(steps, group, parts, path))
        for path in telling
        for parts in reads.kept
        for group in steps.groups
    )
    found = next((one for one in tried if one[1] is not None), None)
    if found is not None:
        facts |= {"part": found[0], **(found[1] or {})}
    return Answer(facts, {"loss": steps.main.steps[0].place})


def _tells(values: Sequence[torch.Tensor]) -> bool:
    """Tell whether a part differs between rows, and is no number of the row."""
    if not values or not all(one.dim() and len(one) for one in values):
        return False
    if len({tuple(one.shape[1:]) for one in values}) > 1:
        return True  # padded to the longest sequence of each batch
    rows = torch.cat(list(values))
    flat = rows.reshape(len(rows), -1)
    if bool((flat == flat[:1]).all()):
        return False
    is_number = flat.shape[1] == 1 and bool((flat == flat.round()).all())
    return not (is_number and len(flat.unique()) == len(flat))


def _effect_of_padding(
    steps: CapturedSteps, group: StepGroup, parts: Parts, path: str
) -> dict[str, float] | None:
    """Return the loss with other padding where an unread part marks it; None if it marks none in this step."""
    marked, step = parts.get(path), group.steps[0]
    if marked is None or step.weights is None:
        return None
    for slot in _slots_of(step, parts):
        padding = _padding(marked, step.slots[slot].tensor)
        if padding is None or slot in padding_indices(step):
            continue
        runs, padded = ChangedRuns(steps, group), PaddedInput(slot, padding)
        after = _loss(step, runs.values({slot: padded.changed(step)}))
        return {
            "before": _loss(step, runs.before),
            "after": after,
            "padded": int(padding.sum()),
            "elements": padding.numel(),
        }
    return None


def _loss(step: CapturedStep, values: Values) -> float:
    return float(sum(values[root].sum() for root in step.roots))


def _slots_of(step: CapturedStep, parts: Parts) -> Iterator[int]:
    """Yield the slots that hold a part of the batch as it is, with sequences."""
    for number, slot in enumerate(step.slots):
        one = slot.tensor
        if slot.role != "input" or one.dim() < 2:
            continue
        if any(torch.equal(one, part) for part in parts.values() if part.shape == one.shape):
            yield number


def _padding(marked: torch.Tensor, given: torch.Tensor) -> torch.Tensor | None:
    """Return where a mask, or lengths, says that the sequences of an input are padded with one value."""
    rows, length = given.shape[:2]
    if marked.shape == (rows, length):
        on = (marked != 0) if bool(((marked == 0) | (marked == 1)).all()) else None
        padding = None if on is None else row_ends(~on)
    elif marked.numel() == rows and not marked.is_floating_point():
        lengths = marked.reshape(rows, 1)
        if not 1 <= int(lengths.min()) <= int(lengths.max()) <= length:
            return None
        padding = row_ends(torch.arange(length)[None, :] >= lengths)
    else:
        return None
    if padding is None:
        return None
    filled = given[padding]
    return padding if bool((filled == filled[:1]).all()) else None
