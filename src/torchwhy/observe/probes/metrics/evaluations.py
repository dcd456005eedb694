"""Follows the losses that the program reads while it evaluates: one mean per place in the source and training step."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import field
from types import FrameType
from typing import Any

from torchwhy.observe.probes.metrics.compared_shapes import Comparisons
from torchwhy.observe.probes.metrics.metric_reductions import Reductions
from torchwhy.observe.probes.metrics.trained_losses import Loss, TrainedLosses, user_frame
from torchwhy.observe.program.frames import Site, span_of
from torchwhy.observe.recorder import Recorder
from torchwhy.observe.steps.training_state import TrainingState
from torchwhy.observe.torch_features.interpreter import frame_at
from torchwhy.observe.torch_features.mode_stack import unseen
from torchwhy.observe.torch_features.tensor_parts import item
from torchwhy.plain_data import dataclass
from torchwhy.record.learning import Evaluated
from torchwhy.record.wiring import LookedAt

MOST_PLACES = 16  # places in the source that are followed
MOST_POINTS = 400  # evaluations recorded of each, the last ones


@dataclass
class _Place:
    loss: Loss
    steps: list[int] = field(default_factory=list)
    totals: list[float] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    forwards: int = -1  # when a finite number was read last


class Evaluations:
    """Follows losses that are read without gradients, outside of any update; each place is judged at its first read."""

    def __init__(
        self,
        recorder: Recorder,
        state: TrainingState,
        trained: TrainedLosses,
        forwards: Callable[[], int],
    ) -> None:
        self._recorder = recorder
        self._trained = trained
        self._forwards = forwards  # counts those of the program's models
        self._state = state
        self._places: dict[Site, _Place | None] = {}
        self._reductions = Reductions(recorder)
        self._comparisons = Comparisons(recorder)

    def read(self, tensor: Any) -> None:
        """Note one number that the program reads; called while gradients are off."""
        state = self._state
        if state.in_update or not state.step:
            return
        frame = user_frame(frame_at(1))
        if frame is None:
            return
        site = Site(frame.f_code, frame.f_lasti)
        self._comparisons.look(site, frame, state.step)
        if not self._reductions.is_over(site) and not tensor.is_complex():
            self._reductions.read(site, frame, step=state.step, value=_value(tensor))
        if tensor.is_floating_point():
            self._follow(site, frame, tensor, state.step)

    def read_later(self, tensor: Any) -> None:
        """Note a number without graph that is read while gradients are on; this class ignores it."""

    def _follow(self, site: Site, frame: FrameType, tensor: Any, step: int) -> None:
        if site not in self._places:
            may_follow = len(self._places) < MOST_PLACES
            loss = self._trained.loss_at(site, frame) if may_follow else None
            self._places[site] = _Place(loss) if loss is not None else None
        place = self._places[site]
        if place is not None:
            value = _value(tensor)
            if math.isfinite(value):
                _add(place, step, value)
                place.forwards = self._forwards()

    def tell(self) -> None:
        """Write the curves at the end of the program, and how many averages were judged."""
        if self._reductions.judged:
            self._recorder.write(LookedAt(what="average", times=self._reductions.judged))
        for site, place in self._losses():
            if len(place.steps) > 1:
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

    def _losses(self) -> list[tuple[Site, _Place]]:
        """Return the places that read a loss, those of an addend only if the program evaluates just this one.

        Addends of one loss may rise while their sum falls.
        """
        places = [(site, place) for site, place in self._places.items() if place is not None]
        parts = {place.loss.part for _, place in places}
        return places if len(parts) == 1 else [one for one in places if one[1].loss.part is None]


def _add(place: _Place, step: int, value: float) -> None:
    if not place.steps or place.steps[-1] != step:
        place.steps.append(step)
        place.totals.append(0.0)
        place.counts.append(0)
    place.totals[-1] += value
    place.counts[-1] += 1


@unseen
def _value(tensor: Any) -> float:
    return float(item(tensor))
