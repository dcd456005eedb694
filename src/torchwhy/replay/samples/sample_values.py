"""Keeps the values of the guilty sample and of a good one, a few kilobytes, for the page."""

from __future__ import annotations

import math

import torch

from torchwhy.observe.probes.batches import Batch
from torchwhy.observe.recorder import Recorder
from torchwhy.record.events import SampleValues
from torchwhy.record.numbers import Real, encode
from torchwhy.replay.microscope.tensor_facts import plain

MOST_VALUES = 1024  # of one tensor of one sample; of a larger one every n-th in each direction
MOST_TENSORS = 4  # of a batch
DIGITS = 6


class SampleValuesWriter:
    """Writes the values once per failure; with `--no-data` never."""

    def __init__(self, recorder: Recorder, *, keeps_data: bool) -> None:
        self._recorder = recorder
        self._keeps_data = keeps_data

    def write(self, batch: Batch, rows: dict[int, int], *, size: int, step: int) -> None:
        """Write the first of the guilty rows, with the good row that replaces it, of each tensor of the batch."""
        if not self._keeps_data or not rows:
            return
        bad, good = next(iter(rows.items()))
        tensors = [
            (path, leaf)
            for path, leaf in batch.leaves()
            if leaf.dim() and leaf.shape[0] == size and leaf.layout is torch.strided
        ]
        for path, leaf in tensors[:MOST_TENSORS]:
            shape = list(leaf.shape[1:])
            every = thinning(shape)
            self._recorder.write(
                SampleValues(
                    step=step,
                    field=path,
                    dtype=str(leaf.dtype).removeprefix("torch."),
                    shape=shape,
                    every=every,
                    position=bad,
                    bad=_values(leaf[bad], every),
                    good_position=good,
                    good=_values(leaf[good], every),
                )
            )


def thinning(shape: list[int]) -> list[int]:
    """Return for each dimension of which every n-th index is kept; the longest gives way first."""
    every = [1] * len(shape)
    while math.prod(_kept(shape, every)) > MOST_VALUES:
        kept = _kept(shape, every)
        longest = max(kept)
        for place, length in enumerate(kept):
            # Directions of the same length stay in proportion, as those of an image do.
            if length * 2 > longest:
                every[place] += 1
    return every


def _kept(shape: list[int], every: list[int]) -> list[int]:
    return [-(-size // step) for size, step in zip(shape, every, strict=True)]


def _values(row: torch.Tensor, every: list[int]) -> list[Real]:
    chosen = row.detach()[tuple(slice(None, None, step) for step in every)]
    return [encode(_short(float(value))) for value in plain(chosen).reshape(-1).tolist()]


def _short(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
