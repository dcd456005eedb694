"""Remembers the rows that the model meets: in the steps that train it, and under `no_grad`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import torch

from torchwhy.observe.probes.loaders import data_survey as survey
from torchwhy.plain_data import dataclass
from torchwhy.replay.rehearsal.capture.captured_program import CapturedStep
from torchwhy.replay.rehearsal.data_code.row_pools import row_digests

FEWEST_ROWS = 8
MOST_ROWS = 2**16
MOST_ELEMENTS = 2**22
TWO_AXES = 2  # samples, and what each of them holds


@dataclass
class Evaluated:
    """The rows of one batch that was evaluated, and how often."""

    rows: frozenset[int]
    count: int
    times: int = 1


class MetRows:
    """Notes rows by their digests; nothing of the program's data is kept."""

    def __init__(self) -> None:
        self.trained: dict[int, int] = {}  # the step that met a row first
        self.steps = 0
        self.batches: dict[tuple[int, ...], Evaluated] = {}
        self._held = 0

    def train(self, step: CapturedStep, slots: Sequence[int]) -> None:
        """Note the rows of a step that trains: each has a target, as the neighbours in a graph have not."""
        self.steps += 1
        counts = {
            len(one.tensor) for one in step.slots if one.role == "target" and one.tensor.dim()
        }
        for number in slots:
            tensor = step.slots[number].tensor
            if not _has_rows(tensor) or len(tensor) not in counts:
                continue
            if len(self.trained) < MOST_ROWS:
                for digest in row_digests(tensor).tolist():
                    self.trained.setdefault(digest, self.steps)

    def evaluate(
        self, given: Iterable[torch.Tensor], is_weight: Callable[[torch.Tensor], bool]
    ) -> None:
        """Note the rows that an operation without a graph takes together with a parameter."""
        weights = [is_weight(one) for one in given]
        if not any(weights):
            return
        for tensor, is_one in zip(given, weights, strict=True):
            if is_one or not _has_rows(tensor):
                continue
            digests = tuple(row_digests(tensor).tolist())
            known = self.batches.get(digests)
            if known is not None:
                known.times += 1
            elif self._held < MOST_ROWS:
                self.batches[digests] = Evaluated(frozenset(digests), len(digests))
                self._held += len(digests)


def _has_rows(tensor: torch.Tensor) -> bool:
    return (
        tensor.dim() >= TWO_AXES
        and tensor.shape[0] >= FEWEST_ROWS
        and tensor.numel() <= MOST_ELEMENTS
        and not tensor.requires_grad
        and survey.is_measurable(tensor)
    )
