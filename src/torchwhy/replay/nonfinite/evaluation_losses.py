"""Finds losses that are non-finite only in evaluation, where no optimizer step judges them.

Only numbers count that the program reads without gradients and computes as a loss (`trained_losses`): the metric of an
absent class is often NaN and means nothing. A function that checks for NaN itself is left alone.
"""

from __future__ import annotations

import ast
import math
import os
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import torch

from torchwhy.observe import descriptors, guest
from torchwhy.observe.probes import reads
from torchwhy.observe.probes.metrics.evaluations import Evaluations
from torchwhy.observe.probes.metrics.trained_losses import TrainedLosses, user_frame
from torchwhy.observe.program.frames import Site, span_of, user_sites
from torchwhy.observe.recorder import Recorder
from torchwhy.observe.steps.training_state import TrainingState
from torchwhy.observe.torch_features import mode_stack
from torchwhy.observe.torch_features.interpreter import frame_at
from torchwhy.observe.torch_features.mode_stack import unseen
from torchwhy.observe.torch_features.tensor_parts import has_values, item, local_part
from torchwhy.plain_data import dataclass
from torchwhy.record.events import Alarm
from torchwhy.record.numbers import Real, encode
from torchwhy.source.files import loaded, scope_of
from torchwhy.source.scopes import inside

# A function that calls one of these expects bad values and handles them.
EXPECTING = ("isnan", "isfinite", "isinf", "nan_to_num", "nanmean", "nansum", "nanmedian")
# Files on the way from a tensor's `item` to here; every other file of our package reads for itself.
PLUMBING = {__file__, *(module.__file__ for module in (guest, reads, descriptors, mode_stack))}
OWN_ROOT = str(Path(guest.__file__).resolve().parents[1]) + os.sep
MOST_SITES = 16  # places in the source that are followed


@dataclass
class _Reading:
    """One place that reads a loss: the evaluations in a row that were bad, and the last good one before them."""

    step: int
    is_bad: bool
    value: Real
    first_bad: int
    last_good: int = 0
    among_finite: bool = False  # after the same forward passes, a finite number was read here, too


class WatchedEvaluations(Evaluations):
    """Follows evaluations as its base does, and keeps the bad losses for the end of the program.

    `when_bad` is called with each of them as the program reads it.
    """

    def __init__(
        self,
        recorder: Recorder,
        state: TrainingState,
        trained: TrainedLosses,
        forwards: Callable[[], int],
        when_bad: Callable[[torch.Tensor], object] = lambda _: None,
    ) -> None:
        super().__init__(recorder, state, trained, forwards)
        self._when_bad = when_bad
        self._readings: dict[Site, _Reading | None] = {}

    def read(self, tensor: Any) -> None:
        """Note one number that the program reads; called while gradients are off."""
        if not read_by_us(frame_at(1)):
            super().read(tensor)
            self._judge(tensor)

    def read_later(self, tensor: Any) -> None:
        """Note a number that was computed without gradients and is read while these are on again."""
        self._judge(tensor)

    def _judge(self, tensor: torch.Tensor) -> None:
        """Keep the number if it is bad, or read where a bad one was read before."""
        state = self._state
        if state.in_update or not state.step or not tensor.is_floating_point():
            return
        if tensor.numel() != 1 or not has_values(tensor):
            return
        # Both callers are protected, so no mode sees this; torch's own `item`, because the program's is watched.
        is_bad = not math.isfinite(item(tensor))
        if is_bad or self._readings:
            sites = user_sites(frame_at(1), limit=1)
            if sites and not read_by_us(frame_at(1)):
                self._note(sites[0], tensor, is_bad=is_bad)

    def alarm(self) -> Alarm | None:
        """Return the alarm about the program's last evaluation; None if it was fine."""
        for site, reading in self._readings.items():
            if reading is not None and reading.is_bad:
                return Alarm(
                    step=reading.first_bad,
                    optimizer=None,
                    what="evaluation",
                    losses=[reading.value],
                    location=span_of(site),
                    since=reading.last_good,
                    among_finite=reading.among_finite,
                )
        return None

    def _note(self, site: Site, tensor: torch.Tensor, *, is_bad: bool) -> None:
        readings, step = self._readings, self._state.step
        if site not in readings and is_bad and len(readings) < MOST_SITES:
            good = self._places.get(site)
            last = next((s for s in reversed(good.steps if good else []) if s < step), 0)
            known = _Reading(step, False, encode(0.0), step, last)
            readings[site] = known if self._is_loss(site) else None
            self._state.bad_evaluations = True
        reading = readings.get(site)
        if reading is None:
            return
        if step != reading.step:  # a round of evaluation is over: was it a good one?
            if not reading.is_bad:
                reading.last_good = reading.step
            reading.first_bad = reading.first_bad if reading.is_bad else step
            reading.step, reading.is_bad, reading.among_finite = step, False, False
        if is_bad:
            reading.is_bad, reading.value = True, value_of(tensor)
            followed = self._places.get(site)
            is_among = followed is not None and followed.forwards == self._forwards()
            reading.among_finite = reading.among_finite or is_among
            self._when_bad(tensor)

    def _is_loss(self, site: Site) -> bool:
        frame = user_frame(frame_at(1))
        is_here = frame is not None and frame.f_code is site.code
        loss = self._trained.loss_at(site, frame) if frame is not None and is_here else None
        return loss is not None and not _divides(site) and not expects_bad_values(site)


def read_by_us(frame: FrameType | None) -> bool:
    """Tell whether code of ours read the number."""
    while frame is not None and frame.f_code.co_filename in PLUMBING:
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename.startswith(OWN_ROOT)


@unseen
def value_of(tensor: torch.Tensor) -> Real:
    """Return the one number of a tensor without `item`, which is watched."""
    (value,) = local_part(tensor).reshape(1).tolist()
    return encode(float(value))


def _divides(site: Site) -> bool:
    """Tell whether the program divides where it reads the number: by a count that may be 0."""
    source = loaded(site.code.co_filename)
    node = source.at(span_of(site)) if source is not None else None
    return node is not None and any(isinstance(one, ast.Div) for one in ast.walk(node))


def expects_bad_values(site: Site) -> bool:
    """Tell whether the function at a place tests for bad values, or leaves them out."""
    scope = scope_of(site.code)
    names = {
        part.attr if isinstance(part, ast.Attribute) else getattr(part, "id", "")
        for part in (inside(scope) if scope is not None else ())
    }
    return not names.isdisjoint(EXPECTING)
