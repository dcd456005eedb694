"""Follows the losses that the program reads while it evaluates: one mean per place in the source and training step."""

from __future__ import annotations

import math
from dataclasses import field
from types import FrameType
from typing import Any

from torchwhy.observe.probes.metrics.compared_shapes import Comparisons
from torchwhy.observe.probes.metrics.metric_reductions import Reductions
from torchwhy.observe.program.frames import Site, span_of
from torchwhy.observe.recorder import Recorder
from torchwhy.observe.steps.training_state import TrainingState
from torchwhy.observe.torch_features.interpreter import frame_at
from torchwhy.observe.torch_features.mode_stack import unseen
from torchwhy.observe.torch_features.tensor_parts import item
from torchwhy.plain_data import dataclass
from torchwhy.record.learning import Evaluated
from torchwhy.record.wiring import LookedAt
from torchwhy.source.files import layer_of

MOST_PLACES = 16  # places in the source that are followed
MOST_POINTS = 400  # evaluations recorded of each, the last ones
# Names of numbers that should fall.
WORDS = ("loss", "criterion", "entropy", "mse", "error", "nll")


@dataclass
class _Place:
    steps: list[int] = field(default_factory=list)
    totals: list[float] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)


class Evaluations:
    """Follows numbers that are read without gradients, outside of any update, from expressions that name a loss."""

    def __init__(self, recorder: Recorder, state: TrainingState) -> None:
        self._recorder = recorder
        self._state = state
        self._places: dict[Site, _Place | None] = {}
        self._reductions = Reductions(recorder)
        self._comparisons = Comparisons(recorder)

    def read(self, tensor: Any) -> None:
        """Note one number that the program reads; called while gradients are off."""
        state = self._state
        if state.in_update or not state.step:
            return
        frame = _user_frame(frame_at(1))
        if frame is None:
            return
        site = Site(frame.f_code, frame.f_lasti)
        self._comparisons.look(site, frame, state.step)
        if not self._reductions.is_over(site) and not tensor.is_complex():
            self._reductions.read(site, frame, step=state.step, value=_value(tensor))
        if tensor.is_floating_point():
            self._follow(site, tensor, state.step)

    def read_later(self, tensor: Any) -> None:
        """Note a number without graph that is read while gradients are on; this class ignores it."""

    def _follow(self, site: Site, tensor: Any, step: int) -> None:
        if site not in self._places:
            text = (span_of(site).expression or "").lower()
            follows = len(self._places) < MOST_PLACES and any(word in text for word in WORDS)
            self._places[site] = _Place() if follows else None
        place = self._places[site]
        if place is not None:
            _add(place, step, _value(tensor))

    def tell(self) -> None:
        """Write the curves at the end of the program, and how many averages were judged."""
        if self._reductions.judged:
            self._recorder.write(LookedAt(what="average", times=self._reductions.judged))
        for site, place in self._places.items():
            if place is not None and len(place.steps) > 1:
                means = [
                    total / count for total, count in zip(place.totals, place.counts, strict=True)
                ]
                self._recorder.write(
                    Evaluated(
                        location=span_of(site),
                        steps=place.steps[-MOST_POINTS:],
                        values=means[-MOST_POINTS:],
                    )
                )


def _user_frame(frame: FrameType | None) -> FrameType | None:
    """Return the innermost frame of the program itself."""
    while frame is not None and layer_of(frame.f_code.co_filename) != "user":
        frame = frame.f_back
    return frame


def _add(place: _Place, step: int, value: float) -> None:
    if not math.isfinite(value):
        return
    if not place.steps or place.steps[-1] != step:
        place.steps.append(step)
        place.totals.append(0.0)
        place.counts.append(0)
    place.totals[-1] += value
    place.counts[-1] += 1


@unseen
def _value(tensor: Any) -> float:
    return float(item(tensor))
