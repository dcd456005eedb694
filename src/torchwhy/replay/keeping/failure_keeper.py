"""Keeps a failing step: notes what is needed when the alarm is raised, and writes it when the program is stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from torchwhy.observe.devices.generator_states import GeneratorStates
from torchwhy.observe.optimizers.watched_optimizers import WatchedOptimizers
from torchwhy.observe.probes.batches import Batch
from torchwhy.observe.recorder import Recorder
from torchwhy.observe.settings import Settings
from torchwhy.observe.steps.check import Check
from torchwhy.observe.torch_features.tensor_parts import has_values
from torchwhy.record.kept.kept_failure import StateKept, UpdateSkipped
from torchwhy.replay.keeping.kept_batch import chosen_tensors, keep_batches
from torchwhy.replay.keeping.program_variables import described, running_frames
from torchwhy.replay.keeping.saved_state import FoundState, find_state, save_state
from torchwhy.replay.step.snapshot import Snapshot

MOST_SKIPPED = 1000  # updates whose rows are recorded


class FailureKeeper:
    """Does nothing before a step fails; with `keep_state` None it does nothing at all."""

    def __init__(
        self,
        settings: Settings,
        optimizers: WatchedOptimizers,
        snapshot: Snapshot,
        recorder: Recorder,
    ) -> None:
        self._directory: Path = settings.directory
        self._rank = settings.rank
        self._keeps_data = settings.keeps_data
        self._limit = settings.keep_state
        self._optimizers = optimizers
        self._snapshot = snapshot
        self._recorder = recorder
        self._found: FoundState | None = None
        self._variables: dict[int, torch.Tensor] = {}
        self._batches: list[Batch] = []
        self._skipped = 0

    def note(self, check: Check, batches: list[Batch]) -> None:
        """Find the state before the update of a bad step is made."""
        if self._limit is None:
            return
        self._batches = batches
        frames = running_frames()
        if self._keeps_data:
            event, tensors = described(frames, check.step)
            self._recorder.write(event)
            self._variables = chosen_tensors(tensors, has_batches=bool(batches))
        if self._limit and not self._rank and check.watched is not None:
            optimizers = [one.optimizer for one in self._optimizers.all()]
            self._found = find_state(
                frames, [one for one in optimizers if one is not None], self._random_state()
            )

    def write(self, check: Check) -> None:
        """Write what was noted; the buffers are as before the step."""
        found, batches, variables = self._found, self._batches, self._variables
        self._found, self._batches, self._variables = None, [], {}
        if self._limit is None:
            return
        if self._keeps_data:
            self._recorder.write(
                keep_batches(batches, variables, self._directory, step=check.step, rank=self._rank)
            )
        if not self._limit or self._rank:
            return
        if found is None or check.bad_parameters:
            self._recorder.write(
                StateKept(step=check.step, limit=self._limit, unkept="update-made")
            )
            return
        self._recorder.write(
            save_state(
                found,
                self._directory,
                step=check.step,
                limit=self._limit,
                restored=self._snapshot.has_all_buffers,
                drawn=bool(batches),
            )
        )

    def skipped(self, check: Check, batches: list[Batch]) -> None:
        """Record the rows of an update that is left out."""
        self._skipped += 1
        if self._skipped > MOST_SKIPPED:
            return
        rows: list[int] = []
        bad: list[int] = []
        for batch in batches:
            indices = batch.indices or []
            rows += indices
            bad += [indices[place] for place in _bad_places(batch, len(indices))]
        self._recorder.write(UpdateSkipped(step=check.step, rows=rows, bad_rows=bad))

    def _random_state(self) -> GeneratorStates | None:
        if self._batches:
            return self._batches[0].random_state
        return self._snapshot.random_state


@torch.no_grad()
def _bad_places(batch: Batch, count: int) -> list[int]:
    """Return which samples of a batch have data that are not finite."""
    bad: set[int] = set()
    for _, leaf in batch.leaves():
        if not _has_rows(leaf, count):
            continue
        finite = torch.isfinite(leaf).reshape(count, -1).all(dim=1)
        bad |= {place for place, is_fine in enumerate(finite.tolist()) if not is_fine}
    return sorted(bad)


def _has_rows(leaf: Any, count: int) -> bool:
    is_plain = leaf.layout is torch.strided and has_values(leaf)
    return bool(count and is_plain and leaf.dim() and leaf.shape[0] == count and leaf.numel())
