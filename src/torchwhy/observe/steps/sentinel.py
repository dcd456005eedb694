"""Judges each step before it writes: are its losses and gradients finite?

Called before each backward pass and around each optimizer step. Tells the current handler, which decides what to do
about a bad step; knows nothing of replay itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from torchwhy.observe.devices import device_reading
from torchwhy.observe.optimizers.stale_gradients import StaleGradientWatch
from torchwhy.observe.optimizers.stale_manual_gradients import StaleManualGradientWatch
from torchwhy.observe.optimizers.watched_optimizers import WatchedOptimizer, WatchedOptimizers
from torchwhy.observe.probes.call_order import CallOrder
from torchwhy.observe.probes.forwards.modes import ModeCounter
from torchwhy.observe.probes.memory.holdings import HoldingsProbe
from torchwhy.observe.step_handler import CurrentHandler
from torchwhy.observe.steps import gradients
from torchwhy.observe.steps.check import Check
from torchwhy.observe.steps.compiled_steps import CompiledSteps
from torchwhy.observe.steps.loss_scale import LossScale
from torchwhy.observe.steps.step_events import StepEvents, is_sampled
from torchwhy.observe.steps.step_listeners import StepListeners
from torchwhy.observe.steps.training_state import TrainingState
from torchwhy.observe.torch_features.autograd_nodes import next_node_number
from torchwhy.observe.torch_features.interpreter import frame_at
from torchwhy.observe.torch_features.mode_stack import unseen
from torchwhy.observe.torch_features.tensor_parts import (
    has_values,
    is_part,
    item,
    local_part,
    scale_tensor,
)
from torchwhy.observe.torch_features.torch_internals import world_size
from torchwhy.record.numbers import Real, encode, is_finite

BAD_SCALED_LOSSES = (
    8  # in a row: the scale has then fallen 256-fold, so the scale was not the reason
)


class Sentinel:
    """Judges losses and gradients, records the step, and tells the probes and the handler."""

    def __init__(
        self,
        state: TrainingState,
        handlers: CurrentHandler,
        *,
        optimizers: WatchedOptimizers,
        scale: LossScale,
        events: StepEvents,
        calls: CallOrder,
        modes: ModeCounter,
        holdings: HoldingsProbe,
        write_files: Callable[[], object],
        stale_gradients: StaleGradientWatch,
        stale_manual_gradients: StaleManualGradientWatch,
        listeners: StepListeners,
        rerun_step: int | None,
        step_ended: Callable[[], None],
    ) -> None:
        self._state = state
        self._handlers = handlers
        self._optimizers = optimizers
        self._scale = scale
        self._events = events
        self._calls = calls
        self._modes = modes
        self._holdings = holdings
        self._write_files = write_files
        self._stale_gradients = stale_gradients
        self._stale_manual_gradients = stale_manual_gradients
        self._listeners = listeners
        self._rerun_step = rerun_step
        self._step_ended = step_ended
        self._known_closure: tuple[int, int] | None = None  # step and backward pass
        self.compiled_steps = CompiledSteps(state, optimizers, self.compiled_step)

    def compiled_step(
        self, watched: WatchedOptimizer, bad: list[str] | None, since: int | None
    ) -> None:
        """Judge a step that compiled code has made; `bad` names its bad weights, if they were checked."""
        state = self._state
        check = Check(state.step, watched, self._take_losses())
        check.bad_loss = not all(map(is_finite, check.losses))
        check.bad_parameters = bad or []
        self._events.record(check, watched.gradients())
        if check.is_bad:
            # It has written already: nothing can be withheld.
            check.watched, check.since, check.is_compiled = None, since, True
            self._handlers.current.bad_backward(check)
        state.step += 1
        watched.steps += 1
        self._end_step()

    def before_backward(self, outputs: Any, *, accumulates: bool) -> None:
        """Note the roots of a backward pass; in a program without optimizer this is the step."""
        self.compiled_steps.look()
        state, optimizers = self._state, self._optimizers
        state.next_node_before, state.next_node = state.next_node, next_node_number()
        state.last_read = None
        given = [t for t in outputs if isinstance(t, torch.Tensor)]
        roots = [t for t in given if t.numel() == 1 and has_values(t)]
        if accumulates or not optimizers.any_made:
            state.losses += _detached(roots)
            state.backwards += 1
        if (not accumulates or len(roots) < len(given)) and not state.frozen:
            # torch.autograd.grad, or an output with a gradient of its own: no loss, but the forward passes
            # behind it needed their graphs.
            self._modes.gradient_ran(given)
        self._watch_backward(roots, accumulates=accumulates)
        self._handlers.current.before_backward(roots, accumulates=accumulates)
        if not optimizers.any_made and roots:
            self._judge_backward()
        elif self._scale.scaler is not None and accumulates:
            self._judge_scaled(roots)

    def knows_closure(self, *, accumulates: bool) -> bool:
        """Tell whether a step with a closure is under way, of which one more backward pass tells nothing new.

        If the loss needs gradients of its own, all of them get the answer of the first.
        """
        state, check = self._state, self._state.open_check
        if check is None or not check.has_closure:
            return False
        if accumulates or self._known_closure != (check.step, state.backwards):
            knows = self._knows_closure(check)
            self._known_closure = (check.step, state.backwards) if knows else None
        return self._known_closure is not None

    def _knows_closure(self, check: Check) -> bool:
        state, quiet = self._state, self._handlers.current.quiet
        return (
            check.watched is not None
            and quiet is not None
            and not (state.frozen or state.in_compiled_code)
            and self._scale.scaler is None
            and self._calls.is_full
            and self._stale_gradients.knows_closure(check.watched)
            and quiet.is_idle()
            and world_size() == 1
        )

    def before_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        """Judge the losses and gradients that this step is about to use."""
        frame, state = frame_at(2), self._state
        watched = self._optimizers.of(optimizer, frame)
        if self._optimizers.describe_once(watched, frame):
            self._modes.watch_known_models()
        closure = len(args) > 1 or kwargs.get("closure") is not None
        tensors = watched.gradients()
        if not closure and device_reading.is_on_device(tensors):
            check = self._check_on_device(watched, tensors)
        else:
            check = Check(state.step, watched, self._take_losses(), has_closure=closure)
            check.bad_gradients = not closure and not self._gradients_fine(optimizer, tensors)
        check.bad_loss = not closure and not all(map(is_finite, check.losses))
        state.open_check = check
        state.in_update = not closure  # a closure is the program's own code
        if not state.frozen:
            self._note_step(watched)
        if not state.frozen:
            self._events.record(check, tensors)
            self._listeners.before_step(watched, state.step)
        self._handlers.current.before_step(check)

    def after_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:  # noqa: ARG002 - torch's signature
        """Close the step; the losses of a closure and the weights it wrote are judged here."""
        state = self._state
        state.in_update = self._scale.scaler_answers = False
        check, state.open_check = state.open_check, None
        if check is None:
            return
        if check.has_closure and not state.frozen:
            check.losses += self._take_losses()
            self._events.record_closure(check)
            check.bad_loss = not all(map(is_finite, check.losses))
        self._handlers.current.after_step(check)
        if not state.frozen:
            if check.watched is not None:
                self._stale_gradients.after_step(check.watched, state.step)
            state.step += 1
            state.dropped.stepped()
            if check.watched is not None:
                check.watched.steps += 1
            self._end_step()

    def _end_step(self) -> None:
        if self._state.step >= self._holdings.next_step:
            self._write_files()
            self._holdings.stepped(self._state.step)
        self._step_ended()

    def _watch_backward(self, roots: list[torch.Tensor], *, accumulates: bool) -> None:
        if not accumulates or self._state.frozen:
            return
        frame = frame_at(2)
        self._listeners.before_backward()
        self._calls.note_inner("backward", frame)
        self._modes.backward_ran(roots)
        if self._optimizers.any_made:
            self._stale_gradients.before_backward(roots, frame)
        else:
            self._stale_manual_gradients.before_backward(roots, frame)

    def _note_step(self, watched: WatchedOptimizer) -> None:
        frame = frame_at(2)
        self._calls.note_inner("step", frame)
        self._calls.end_step(self._state.step)
        self._stale_gradients.before_step(watched, self._state.step, frame)

    def note_read(self, loss: torch.Tensor) -> None:
        """Remember the loss that the program reads; if the program stops now, this loss is why."""
        state = self._state
        (now,) = _detached([loss]) or (None,)
        state.dropped.read(state.last_read, now)
        state.last_read = now
        self._handlers.current.loss_was_read(loss)

    def _judge_backward(self) -> None:
        state = self._state
        check = Check(state.step, None, self._take_losses())
        check.bad_loss = not all(map(is_finite, check.losses))
        if not state.frozen:
            self._events.record(check, [])
        if check.bad_loss:
            self._handlers.current.bad_backward(check)
        if state.step == 0:
            self._modes.watch_known_models()
        state.step += 1
        self._end_step()

    @unseen
    def _judge_scaled(self, roots: list[torch.Tensor]) -> None:
        """Judge losses under a GradScaler, which skips the step of a bad one, so that no step judges it later.

        A skipped step is normal and does no harm; losses that stay bad while the scale falls are not.
        """
        state = self._state
        if state.frozen or all(gradients.is_finite(root) for root in roots):
            state.bad_scaled_losses = 0
            return
        state.bad_scaled_losses += 1
        target = self._rerun_step
        enough = BAD_SCALED_LOSSES if target is None else 1
        if state.bad_scaled_losses < enough or state.step < (target or 0):
            state.last_scaled_losses = self._take_losses()
            return
        check = Check(state.step, None, self._take_losses(), bad_loss=True)
        self._events.record(check, [])
        self._handlers.current.bad_backward(check)

    def _take_losses(self) -> list[Real]:
        losses, self._state.losses = self._state.losses, []
        scale = self._scale.current()
        values = [loss if type(loss) is float else _number(loss) for loss in losses]
        return [encode(value / scale) for value in values if value is not None]

    def _check_on_device(
        self, watched: WatchedOptimizer, tensors: list[torch.Tensor | None]
    ) -> Check:
        """Judge a step on an accelerator, with one wait for it."""
        losses, self._state.losses = self._state.losses, []
        numbers = device_reading.read(
            [loss for loss in losses if type(loss) is float or not loss.is_complex()],
            None if self._scale.scaler is None else scale_tensor(self._scale.scaler),
            gradients=[] if self._scale.answers_for(watched.optimizer) else tensors,
            measured=device_reading.sampled(watched, tensors) if is_sampled(watched) else [],
        )
        scale = (
            self._scale.current() if numbers.scale is None else self._scale.scale_is(numbers.scale)
        )
        check = Check(self._state.step, watched, [encode(loss / scale) for loss in numbers.losses])
        check.norms = numbers.norms if is_sampled(watched) else None
        check.bad_gradients = not numbers.has_finite_sums and not all(
            gradients.is_finite(t) for t in tensors if t is not None
        )
        return check

    def _gradients_fine(self, optimizer: Any, tensors: list[torch.Tensor | None]) -> bool:
        if self._scale.answers_for(optimizer):
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


def _number(loss: torch.Tensor) -> float | None:
    return None if loss.is_complex() else float(item(loss))


@unseen
def _detached(tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    """Return the tensors of one number each, with no graph and no memory besides that number."""
    return [
        tensor.detach().clone() if is_part(tensor) else tensor.detach()
        for tensor in map(local_part, tensors)
        if has_values(tensor)
    ]
