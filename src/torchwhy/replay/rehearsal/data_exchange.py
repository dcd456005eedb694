"""Exchanges data between samples of captured batches: the control of experiments on labels and inputs."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from torchwhy.observe.torch_features.tensor_parts import precise
from torchwhy.replay.rehearsal.capture.captured_program import CapturedStep, Tensors

Batch = tuple[CapturedStep, dict[int, torch.Tensor]]  # a step, and the slots to exchange in it


def rows_of(tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor with samples along its first dimension; a single number is one sample."""
    return tensor.detach().reshape(1) if tensor.dim() == 0 else tensor.detach()


def as_they_are(steps: Sequence[CapturedStep]) -> list[Batch]:
    """Return steps with nothing exchanged."""
    return [(step, {}) for step in steps]


def shuffled(
    steps: Sequence[CapturedStep], slots: Sequence[int], generator: torch.Generator
) -> list[Batch]:
    """Return steps of equal shapes with the rows of some slots exchanged across all of them.

    Rows of slots with equally many rows stay together: a box stays with its class.
    """
    changed: list[dict[int, torch.Tensor]] = [{} for _ in steps]
    orders: dict[int, torch.Tensor] = {}
    for slot in slots:
        rows = [rows_of(step.slots[slot].tensor) for step in steps]
        count = rows[0].shape[0]
        if count not in orders:
            orders[count] = torch.randperm(count * len(steps), generator=generator)
        for place, part in enumerate(torch.cat(rows)[orders[count]].split(count)):
            like = steps[place].slots[slot].tensor
            changed[place][slot] = part.reshape(like.shape)
    return list(zip(steps, changed, strict=True))


def from_others(
    step: CapturedStep, others: Sequence[CapturedStep], slots: Sequence[int]
) -> list[Tensors]:
    """Return the data of some slots as other steps have it, one after another."""
    return [
        {slot: other.slots[slot].tensor for slot in slots} for other in others if other is not step
    ]


def without_repeats(steps: Sequence[CapturedStep], slots: Sequence[int]) -> list[CapturedStep]:
    """Return steps of which no sample occurs in an earlier one: so that held-out samples are new."""
    seen: set[bytes] = set()
    kept = []
    for step in steps:
        rows = {row for slot in slots for row in _row_bytes(step.slots[slot].tensor, slot)}
        if not rows & seen:
            kept.append(step)
        seen |= rows
    return kept


def bytes_of_rows(tensor: torch.Tensor) -> list[bytes]:
    """Return the content of each row."""
    rows = rows_of(tensor).contiguous()
    flat = rows.reshape(rows.shape[0], -1).cpu()
    if flat.dtype in (torch.bfloat16, torch.float16):
        flat = flat.float()
    return [row.numpy().tobytes() for row in flat]


def _row_bytes(tensor: torch.Tensor, slot: int) -> set[bytes]:
    return {slot.to_bytes(4, "little") + row for row in bytes_of_rows(tensor)}


def planted(
    steps: Sequence[CapturedStep],
    inputs: int,
    target: int,
    generator: torch.Generator,
    *,
    directions: int,
) -> list[Batch]:
    """Return steps whose targets follow from their inputs, with the same frequencies: sorted along a random score.

    With one direction the score is linear in the inputs; with two it is their product, which no linear model learns.
    """
    rows = [rows_of(step.slots[inputs].tensor) for step in steps]
    targets = [rows_of(step.slots[target].tensor) for step in steps]
    given = precise(torch.cat([one.reshape(one.shape[0], -1) for one in rows]))
    given = given - given.mean(0)
    given = given / given.std(0).clamp_min(1e-12)
    weights = torch.randn(given.shape[1], directions, generator=generator, dtype=torch.float64)
    score = (given @ weights).prod(1)
    pool = torch.cat(targets)
    keys = precise(pool.reshape(pool.shape[0], -1))
    keys = precise(keys.argmax(1)) if keys.shape[1] > 1 else keys[:, 0]
    ordered = pool[keys.argsort(stable=True)]
    placed = torch.empty_like(pool)
    placed[score.argsort(stable=True)] = ordered
    count = targets[0].shape[0]
    parts = placed.split(count)
    return [
        (step, {target: parts[place].reshape(step.slots[target].tensor.shape)})
        for place, step in enumerate(steps)
    ]
