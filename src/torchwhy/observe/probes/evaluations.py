"""Losses that the program reads while it evaluates: one mean per place in the source and per training step."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from torchwhy.observe.frames import Site, span_of, user_sites
from torchwhy.observe.torch_compat import unseen
from torchwhy.record.learning import Evaluated

if TYPE_CHECKING:
    from torchwhy.observe.session import Session

MOST_PLACES = 16  # places in the source that are followed
MOST_POINTS = 400  # evaluations kept of each; a longer run is told of by its last ones
WORDS = (
    "loss",
    "criterion",
    "entropy",
    "mse",
    "error",
    "nll",
)  # what people call a number that should fall


@dataclass
class _Place:
    steps: list[int] = field(default_factory=list)
    totals: list[float] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)


class Evaluations:
    """Follows numbers that are read without gradients, outside of any update, from expressions that name a loss."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._places: dict[Site, _Place | None] = {}

    def read(self, tensor: Any) -> None:
        """Note one number that the program reads; called while gradients are off."""
        sentinel = self._session.sentinel
        if sentinel.in_update or not sentinel.step or not tensor.is_floating_point():
            return
        sites = user_sites(sys._getframe(1), limit=1)
        if not sites:
            return
        if sites[0] not in self._places:
            text = (span_of(sites[0]).expression or "").lower()
            follows = len(self._places) < MOST_PLACES and any(word in text for word in WORDS)
            self._places[sites[0]] = _Place() if follows else None
        place = self._places[sites[0]]
        if place is not None:
            _add(place, sentinel.step, _value(tensor))

    def tell(self) -> None:
        """Write the curves at the end of the program."""
        for site, place in self._places.items():
            if place is not None and len(place.steps) > 1:
                means = [
                    total / count for total, count in zip(place.totals, place.counts, strict=True)
                ]
                self._session.write(
                    Evaluated(
                        location=span_of(site),
                        steps=place.steps[-MOST_POINTS:],
                        values=means[-MOST_POINTS:],
                    )
                )


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
    return float(torch._C.TensorBase.item(tensor))
