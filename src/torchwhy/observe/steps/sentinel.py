"""The per-step decision: is this step about to write something bad?

Called before each backward pass and around each optimizer step. Writes the `Step` and `Alarm` events and asks
its handler, which the boot provides, what to do about a bad one; knows nothing of replay itself.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import torch

from torchwhy.observe.native.records import SentinelRecord
from torchwhy.observe.probes.batches import described
from torchwhy.observe.probes.weights import chosen, root_mean_squares
from torchwhy.observe.program.frames import calling_span
from torchwhy.observe.steps import gradients
from torchwhy.observe.steps.dropped_losses import DroppedLosses
from torchwhy.observe.steps.random_state import RandomState
from torchwhy.observe.steps.stale_gradients import StaleGradientWatch
from torchwhy.observe.steps.stale_manual_gradients import StaleManualGradientWatch
from torchwhy.observe.steps.watched_optimizers import WatchedOptimizer, WatchedOptimizers
from torchwhy.observe.torch_features.autograd_nodes import sequence_number
from torchwhy.observe.torch_features.interpreter import frame_at
from torchwhy.observe.torch_features.mode_stack import unseen
from torchwhy.observe.torch_features.tensor_parts import has_values
from torchwhy.observe.torch_features.torch_internals import world_size
from torchwhy.record.events import Alarm, ScaleChanged, Step, Weights
from torchwhy.record.numbers import Real, encode, is_finite

if TYPE_CHECKING:
    from torchwhy.observe.session import Session

BAD_SCALED_LOSSES = 8  # in a row: the scale has then fallen 256-fold, and it was not the scale


@dataclass
class Check:
    """What was seen before one optimizer step: the verdict and the numbers behind it."""

    step: int
    watched: WatchedOptimizer | None
    losses: list[Real]
    bad_loss: bool = False
    bad_gradients: bool = False
    bad_parameters: list[str] = field(default_factory=list)
    has_closure: bool = False

    @property
    def is_bad(self) -> bool:
        """Tell whether anything is non-finite."""
        return self.bad_loss or self.bad_gradients or bool(self.bad_parameters)


class Handler(Protocol):
    """What the boot wires in: the microscope and the rewind."""

    def optimizer_made(self) -> None: ...
    def before_backward(self, losses: list[torch.Tensor], *, accumulates: bool) -> None: ...
    def before_step(self, check: Check) -> None: ...
    def after_step(self, check: Check | None) -> None: ...
    def is_quiet(self) -> bool: ...
    def copies_after_steps(self) -> tuple[bool, RandomState | None]: ...
    def after_quiet_step(self) -> None: ...
    def drew_batches(self, before: int, now: int) -> int: ...
    def quiet_limits(self, watched: WatchedOptimizer) -> tuple[float, int]: ...
    def take_quiet_losses(self, watched: WatchedOptimizer, losses: list[float]) -> None: ...
    def bad_backward(self, check: Check) -> None: ...
    def loss_was_read(self, loss: torch.Tensor) -> None: ...
    def at_exit(self) -> None: ...
    def program_compiles(self) -> None: ...
    def program_died(self, error: BaseException) -> Callable[[], object] | None: ...


class Sentinel(SentinelRecord):
    """Holds the losses since the last step and judges each step before it writes."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.optimizers = WatchedOptimizers(session)
        self.stale_gradients = StaleGradientWatch(session)
        self.stale_manual_gradients = StaleManualGradientWatch(session)
        self.step = 0
        self.backwards = 0
        self.sequence_before = (
            0  # number of the next autograd node when the last backward pass but one
        )
        self.sequence = 0  # and the last one began
        self.last_read: torch.Tensor | None = None
        self.dropped = DroppedLosses()
        self.bad_evaluations = False  # the program has read a bad number outside of training
        self.scaler: Any = None
        self.gradients_scaled = False
        self.scaler_answers = False  # the gradients of the step in hand were found finite by it
        self.in_update = False
        self.frozen = False
        self.losses: list[Any] = []  # since the last step: tensors, or numbers already read
        self.open_check: Check | None = None
        self._scale = 0.0
        self.bad_scaled_losses = 0
        self.last_scaled_losses: list[Real] = []
        self._shapes: list[str] | None = None
        self.told_shapes: Any = None
        self.began = time.perf_counter()
        self._home: int | None = None  # the thread that trains

    def is_elsewhere(self, *, steps: bool = False) -> bool:
        """Tell whether this is not the thread that trains: the one that made the first step, as long as it lives.

        Torch writes the gradients of other threads without Python's lock: nobody may look at them from here.
        """
        here = threading.get_ident()
        if self._home is None:
            self._home = here if steps else None
        elif self._home != here:
            if any(thread.ident == self._home for thread in threading.enumerate()):
                return True
            self._home = here
        return False

    def before_backward(self, outputs: Any, *, accumulates: bool) -> None:
        """Note the roots of a backward pass; in a program without optimizer this is the step."""
        self.sequence_before, self.sequence = self.sequence, sequence_number()
        self.last_read = None
        given = [t for t in outputs if isinstance(t, torch.Tensor)]
        roots = [t for t in given if t.numel() == 1 and has_values(t)]
        if accumulates or not self.optimizers.any_made:
            self.losses += _detached(roots)
            self.backwards += 1
        if (not accumulates or len(roots) < len(given)) and not self.frozen:
            # torch.autograd.grad, or an output that is handed its gradient: no loss, but the forward passes it goes
            # through had a use for their graphs.
            self.session.modes.gradient_ran(given)
        self._before_each_backward(roots, accumulates=accumulates)
        self.session.handler.before_backward(roots, accumulates=accumulates)
        if not self.optimizers.any_made and roots:
            self._judge_backward()
        elif self.scaler is not None and accumulates:
            self._judge_scaled(roots)

    def before_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        """Judge the losses and gradients that this step is about to use."""
        watched = self.optimizers.of(optimizer, frame_at(2))
        closure = len(args) > 1 or kwargs.get("closure") is not None
        check = Check(self.step, watched, self._take_losses(), has_closure=closure)
        tensors = watched.gradients()
        if not closure:
            check.bad_loss = not all(map(is_finite, check.losses))
            check.bad_gradients = not self._gradients_fine(optimizer, tensors)
        self.open_check = check
        self.in_update = not closure  # a closure is the program's own code
        if not self.frozen:
            self._note_step(watched)
        if not self.frozen:
            self._record(check, tensors)
        self.session.handler.before_step(check)

    def after_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:  # noqa: ARG002 - torch's signature
        """Close the step; a closure's own losses and the weights it wrote are judged here."""
        self.in_update = self.scaler_answers = False
        check, self.open_check = self.open_check, None
        if check is None:
            return
        if check.has_closure and not self.frozen:
            check.losses += self._take_losses()
            check.bad_loss = not all(map(is_finite, check.losses))
        self.session.handler.after_step(check)
        if not self.frozen:
            if check.watched is not None:
                self.stale_gradients.after_step(check.watched, self.step)
            self.step += 1
            self.dropped.stepped()
            if check.watched is not None:
                check.watched.steps += 1
            if self.step >= self.session.holdings.next_step:
                self.session.look_at_program(self.step)
            self.session.leave_after_last_step()

    def _before_each_backward(self, roots: list[torch.Tensor], *, accumulates: bool) -> None:
        if accumulates and not self.frozen:
            frame = frame_at(2)
            self._watch_backward(roots, frame)

    def _watch_backward(self, roots: list[torch.Tensor], frame: Any) -> None:
        self.session.calls.note_inner("backward", frame)
        self.session.modes.backward_ran(roots)
        if self.optimizers.any_made:
            self.stale_gradients.before_backward(roots, frame)
        else:
            self.stale_manual_gradients.before_backward(roots, frame)

    def _note_step(self, watched: WatchedOptimizer) -> None:
        frame = frame_at(2)
        self.session.calls.note_inner("step", frame)
        self.session.calls.end_step(self.step)
        self.stale_gradients.before_step(watched, self.step, frame)

    def alarm(self, check: Check, *, withheld: bool, what: str | None = None) -> None:
        """Write what was found bad, by name."""
        watched = check.watched
        names = list(check.bad_parameters)
        if not names and watched is not None and check.bad_gradients:
            names = [
                n
                for n, g in watched.named_gradients()
                if g is not None and not gradients.is_finite(g)
            ]
        kind = what or (
            "parameter" if check.bad_parameters else "loss" if check.bad_loss else "gradient"
        )
        self.session.write(
            Alarm(
                step=check.step,
                optimizer=watched.index if watched else None,
                what=kind,  # type: ignore[arg-type]
                losses=check.losses,
                names=names[:8],
                withheld=withheld,
                location=calling_span(),
            )
        )

    def note_read(self, loss: torch.Tensor) -> None:
        """Remember the loss the program looks at; if it stops now, this is why."""
        now = loss.detach() if has_values(loss) else None
        self.dropped.read(self.last_read, now)
        self.last_read = now
        self.session.handler.loss_was_read(loss)

    def _judge_backward(self) -> None:
        check = Check(self.step, None, self._take_losses())
        check.bad_loss = not all(map(is_finite, check.losses))
        if not self.frozen:
            self._record(check, [])
        if check.bad_loss:
            self.session.handler.bad_backward(check)
        self.step += 1
        if self.step >= self.session.holdings.next_step:
            self.session.look_at_program(self.step)
        self.session.leave_after_last_step()

    @unseen
    def _judge_scaled(self, roots: list[torch.Tensor]) -> None:
        """Judge losses under a GradScaler, which skips the step of a bad one, so that nobody would ask later.

        A skipped step is normal and survived; losses that stay bad while the scale falls are not.
        """
        if self.frozen or all(gradients.is_finite(root) for root in roots):
            self.bad_scaled_losses = 0
            return
        self.bad_scaled_losses += 1
        target = self.session.rerun_step
        enough = BAD_SCALED_LOSSES if target is None else 1
        if self.bad_scaled_losses < enough or self.step < (target or 0):
            self.last_scaled_losses = self._take_losses()
            return
        check = Check(self.step, None, self._take_losses(), bad_loss=True)
        self._record(check, [])
        self.session.handler.bad_backward(check)

    def _take_losses(self) -> list[Real]:
        losses, self.losses = self.losses, []
        scale = self._current_scale()
        values = [loss if type(loss) is float else _number(loss) for loss in losses]
        return [encode(value / scale) for value in values if value is not None]

    def _current_scale(self) -> float:
        return 1.0 if self.scaler is None else self.scale_is(float(self.scaler.get_scale()))

    def scaler_answers_for(self, optimizer: Any) -> bool:
        """Tell whether the scaler has seen to it that this step's gradients are finite, or will not be used."""
        return self.scaler_answers or getattr(optimizer, "found_inf", None) is not None

    def scale_is(self, scale: float) -> float:
        """Take note of the scale of the losses, and return what to divide them by."""
        if scale != self._scale:
            self._scale = scale
            self.session.write(
                ScaleChanged(step=self.step, scale=encode(scale), location=calling_span())
            )
        return scale or 1.0

    @unseen
    def note_scale(self) -> None:
        """Follow the loss scale also where every step is skipped, so that no optimizer is heard of."""
        self._current_scale()

    def _gradients_fine(self, optimizer: Any, tensors: list[torch.Tensor | None]) -> bool:
        # A fused optimizer under GradScaler is told found_inf and skips by itself: that is not ours to judge.
        if self.scaler_answers_for(optimizer):
            return True
        first = next((tensor for tensor in tensors if tensor is not None), None)
        if first is None:
            return True
        if type(first) is torch.Tensor and first.device.type == "cpu" and world_size() == 1:
            if gradients.quickly_finite(tensors):
                return True
        elif gradients.all_finite(gradients.sums_of(tensors)):
            return True
        return all(gradients.is_finite(t) for t in tensors if t is not None)

    @unseen
    def _record(self, check: Check, tensors: list[torch.Tensor | None]) -> None:
        now = time.perf_counter()
        milliseconds, self.began = (now - self.began) * 1000, now
        watched = check.watched
        self.session.write(
            Step(
                step=check.step,
                optimizer=watched.index if watched else -1,
                losses=check.losses,
                milliseconds=round(milliseconds, 3),
                learning_rates=watched.changed_rates() if watched else None,
                batch=self.changed_shapes(),
                gradients_finite=not check.bad_gradients,
            )
        )
        if watched is not None:
            watched.gradient_sizes = None
            if watched.steps >= watched.next_sample or check.is_bad:
                self._measure_weights(check, watched, tensors)
                watched.next_sample = self.session.budget.next_sample(watched.steps)

    def _measure_weights(
        self, check: Check, watched: WatchedOptimizer, tensors: list[torch.Tensor | None]
    ) -> None:
        parameters, names = watched.parameters(), watched.names()
        picks = chosen(parameters)
        watched.gradient_sizes = root_mean_squares([tensors[i] for i in picks])
        self.session.write(
            Weights(
                step=check.step,
                optimizer=watched.index,
                names=[names[i] for i in picks],
                weight_rms=root_mean_squares([parameters[i] for i in picks]),
                gradient_rms=watched.gradient_sizes,
            )
        )

    def changed_shapes(self) -> list[str] | None:
        """Return the shapes of the batch in hand when they differ from the last time."""
        batches = self.session.batches
        if batches.shapes is self.told_shapes:
            return None
        self.told_shapes = batches.shapes
        if not batches.recent:
            return None
        shapes = described(batches.recent[-1].data)
        if shapes == self._shapes:
            return None
        self._shapes = shapes
        return shapes


def _number(loss: torch.Tensor) -> float | None:
    return None if loss.is_complex() else float(loss.item())


@unseen
def _detached(tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    return [tensor.detach() for tensor in tensors if has_values(tensor)]
