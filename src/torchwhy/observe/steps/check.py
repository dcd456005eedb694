"""What is known of one step before it writes: the verdict on its losses and gradients."""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from torchwhy.observe.optimizers.watched_optimizers import WatchedOptimizer
from torchwhy.observe.program.frames import calling_span
from torchwhy.observe.steps import gradients
from torchwhy.plain_data import dataclass
from torchwhy.record.events import Alarm
from torchwhy.record.numbers import Real

MOST_NAMES = 8  # bad gradients or weights that an alarm names


@dataclass
class Check:
    """The verdict on one optimizer step (or, without optimizers, on one backward pass) and its numbers."""

    step: int
    watched: WatchedOptimizer | None
    losses: list[Real]
    bad_loss: bool = False
    bad_gradients: bool = False
    bad_parameters: list[str] = field(default_factory=list)
    has_closure: bool = False
    since: int | None = None  # the last step known to be fine, if that is not the one before
    is_compiled: bool = False  # the step is part of compiled code
    norms: list[float] | None = (
        None  # of sampled gradients and weights, if they were read with the losses
    )

    @property
    def is_bad(self) -> bool:
        """Tell whether anything is non-finite."""
        return self.bad_loss or self.bad_gradients or bool(self.bad_parameters)


def alarm_of(check: Check, *, withheld: bool) -> Alarm:
    """Return the alarm about a bad step, with the names of its bad gradients or weights."""
    watched = check.watched
    names = list(check.bad_parameters)
    if not names and watched is not None and check.bad_gradients:
        names = [
            name
            for name, gradient in watched.named_gradients()
            if gradient is not None and not gradients.is_finite(gradient)
        ]
    kind: Literal["parameter", "loss", "gradient"] = (
        "parameter" if check.bad_parameters else "loss" if check.bad_loss else "gradient"
    )
    return Alarm(
        step=check.step,
        optimizer=watched.index if watched else None,
        what=kind,
        losses=check.losses,
        names=names[:MOST_NAMES],
        withheld=withheld,
        location=calling_span(),
        since=check.since,
        compiled=check.is_compiled,
    )
