"""Knows what made the losses that the program trains on, and so which numbers of an evaluation are losses."""

from __future__ import annotations

import ast
from types import FrameType

import torch

from torchwhy.observe.probes.metrics.called_objects import Surroundings, surroundings_of
from torchwhy.observe.probes.metrics.number_makers import Maker, makers_of
from torchwhy.observe.program.frames import Site, span_of
from torchwhy.observe.torch_features.interpreter import frame_at
from torchwhy.plain_data import dataclass
from torchwhy.source.calls import receiver
from torchwhy.source.files import layer_of, loaded

MOST_SITES = 8  # places of the program that run backward passes


@dataclass(frozen=True)
class Loss:
    """A number that the program computes as it computes its loss; `part`, if it is one of several addends of that."""

    part: Maker | None


class TrainedLosses:
    """Follows the root of the first backward pass at each place, and compares what evaluations compute with it."""

    def __init__(self) -> None:
        self._at: dict[Site, tuple[Maker, ...]] = {}

    def before_backward(self) -> None:
        """Follow the loss of a backward pass that the program runs at a new place."""
        frame = user_frame(frame_at(1))
        if frame is None or len(self._at) >= MOST_SITES:
            return
        site = Site(frame.f_code, frame.f_lasti)
        if site not in self._at:
            self._at[site] = _makers_of_root(site, surroundings_of(frame))

    def loss_at(self, site: Site, frame: FrameType) -> Loss | None:
        """Return the loss that the program reads at a place; None if the number is none, or cannot be followed."""
        source = loaded(site.code.co_filename)
        node = source.at(span_of(site)) if source is not None else None
        # A parameter of a helper that reads numbers may be a loss in one call and an accuracy in the next.
        here = surroundings_of(frame).without_callers()
        if isinstance(node, ast.JoinedStr):
            shown = [part.value for part in node.values if isinstance(part, ast.FormattedValue)]
            found = [self._loss(one, here) for one in shown if not isinstance(one, ast.Call)]
            return found[0] if found and all(found) else None
        return self._loss(node, here)

    def _loss(self, node: ast.AST | None, here: Surroundings) -> Loss | None:
        makers = makers_of(node, here)
        trained = [one for one in self._at.values() if one]
        if not makers:
            return None
        if any(sorted(map(repr, one)) == sorted(map(repr, makers)) for one in trained):
            return Loss(None)
        parts = {maker for one in trained for maker in one}
        if len(makers) == 1 and makers[0] in parts:
            return Loss(makers[0])
        is_loss = any(one.kind == "torch" or one in parts for one in makers)
        return Loss(None) if is_loss else None


def _makers_of_root(site: Site, here: Surroundings) -> tuple[Maker, ...]:
    source = loaded(site.code.co_filename)
    call = source.at(span_of(site)) if source is not None else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return ()
    of_tensor = isinstance(here.value(call.func.value), torch.Tensor)
    return makers_of(call.func.value if of_tensor else receiver(call), here)


def user_frame(frame: FrameType | None) -> FrameType | None:
    """Return the innermost frame of the program itself."""
    while frame is not None and layer_of(frame.f_code.co_filename) != "user":
        frame = frame.f_back
    return frame
