"""The loop at cruising speed: the same check of loss and gradients, in the fewest operations.

After the first steps a training loop repeats itself, and the order of its calls or the memory of its gradients tells
nothing new. Here each step takes a handful of calls; everything unusual (a bad number, another optimizer, a step due
for a sample) goes the thorough way, through `sentinel`.
"""

from __future__ import annotations

import math
from time import perf_counter, thread_time
from typing import TYPE_CHECKING, Any

import torch

from torchwhy.observe.guest import TIMED, Guests
from torchwhy.observe.native.records import CruiseRecord
from torchwhy.observe.optimizers.stale_gradients import StaleGradientWatch
from torchwhy.observe.optimizers.watched_optimizers import WatchedOptimizer, WatchedOptimizers
from torchwhy.observe.probes.batches import BatchKeeper
from torchwhy.observe.probes.forwards.modes import ModeCounter
from torchwhy.observe.probes.memory.holdings import HoldingsProbe
from torchwhy.observe.recorder import Recorder
from torchwhy.observe.step_handler import CopiedAfterStep, CurrentHandler, QuietSteps
from torchwhy.observe.steps.cruise_entry import Entry
from torchwhy.observe.steps.gradients import read_together
from torchwhy.observe.steps.loss_scale import LossScale
from torchwhy.observe.steps.step_events import StepEvents
from torchwhy.observe.steps.training_state import TrainingState
from torchwhy.observe.torch_features.autograd_nodes import next_node_number
from torchwhy.observe.torch_features.mode_stack import (
    DisableTorchFunction,
    dispatch_depth,
    is_profiling,
    unseen,
)
from torchwhy.observe.torch_features.tensor_parts import item, scale_tensor
from torchwhy.record.events import Step
from torchwhy.record.numbers import encode
from torchwhy.record.step_log import StepLog

if TYPE_CHECKING:
    from collections.abc import Callable

__tracebackhide__ = True  # pytest leaves frames of this module out of a test's traceback
FIRST_STEPS = 24  # of each optimizer, which all go the thorough way
BACKWARDS_WITHOUT_STEP = 4  # under a scaler, besides twice as many as usual
BATCHES_WITHOUT_STEP = 4  # after which the holdings probe looks
MOST_SHAPES = (
    200  # changed shapes recorded at cruising speed: sentences have a new length at every step
)
NEEDED = ("cruise", "loss probe", "step probe", "batch probe")  # without one of these, no cruising


class Cruise(CruiseRecord):
    """Sits between torch's hooks and the sentinel; while `on`, it handles ordinary steps itself."""

    def __init__(
        self,
        state: TrainingState,
        handlers: CurrentHandler,
        *,
        recorder: Recorder,
        step_log: StepLog,
        events: StepEvents,
        optimizers: WatchedOptimizers,
        scale: LossScale,
        batches: BatchKeeper,
        modes: ModeCounter,
        holdings: HoldingsProbe,
        stale_gradients: StaleGradientWatch,
        guests: Guests,
        is_bounded: bool,
    ) -> None:
        self._state = state
        self._handlers = handlers
        self._recorder = recorder
        self._add: Callable[..., None] = step_log.add
        self._events = events
        self._optimizers = optimizers
        self._scale = scale
        self._batches = batches
        self._modes = modes
        self._holdings = holdings
        self._stale_gradients = stale_gradients
        self._guests = guests
        self._is_bounded = is_bounded
        self._quiet: QuietSteps  # of the handler, while the loop cruises
        self.on = False
        self.steps = 0
        self.seconds = 0.0
        self._until: float = 0
        self._entries: dict[int, Entry] = {}
        self.is_plain = True  # no GradScaler is in use
        self._waiting = BACKWARDS_WITHOUT_STEP  # losses that may wait for a scaler's step
        self._is_alone = True  # there is one optimizer
        self._copies = True  # the handler copies something after each step
        # What the accelerator copies in its place; all None if only the handler can.
        self._random, self._copy_of, self._buffers = CopiedAfterStep()
        self._checked: Entry | None = None
        self._loss: float | None = None
        self._serial = 0  # of the batch that the last step used
        self._lookout = -1  # the batch before which to ask the handler again
        self._shapes_told = 0

    def around_backward(
        self, thoroughly: Callable[..., object], knows_closure: Callable[..., bool]
    ) -> Callable[..., object]:
        """Return what is called before a backward pass; one in a closure that is known well is quick, too."""
        state, scale, modes = self._state, self._scale, self._modes

        def before_backward(outputs: Any, *, accumulates: bool) -> None:
            if state.is_elsewhere() or state.in_experiment:
                return
            if scale.scaler is not None and len(state.losses) > self._waiting:
                self.leave()  # the scaler skips its steps, and only the thorough way finds out why
            is_timed = state.backwards % TIMED == 0
            began = thread_time() if is_timed else 0.0
            hides = dispatch_depth() or is_profiling()
            is_quick = not hides and (self.on or knows_closure(accumulates=accumulates))
            loss = outputs[0] if is_quick and len(outputs) == 1 else None
            if type(loss) is not torch.Tensor:
                thoroughly(outputs, accumulates=accumulates)
                return
            if not accumulates:  # torch.autograd.grad has no loss
                modes.gradient_ran([loss])
                state.next_node_before, state.next_node = state.next_node, next_node_number()
                state.last_read = None
                if is_timed:
                    self.seconds += TIMED * (thread_time() - began)
                return
            try:
                with DisableTorchFunction():  # a mode of the program must not see us ask
                    value = None if loss.dim() else item(loss) if loss.is_cpu else loss.detach()
                modes.backward_ran(outputs)
            except Exception:
                value = None
            is_bad = scale.scaler is not None and type(value) is float and value - value != 0.0
            if value is None or is_bad:
                self.leave()
                thoroughly(outputs, accumulates=accumulates)
                return
            state.next_node_before, state.next_node = state.next_node, next_node_number()
            state.last_read = None
            state.losses.append(value)
            state.backwards += 1
            if is_timed:
                self.seconds += TIMED * (thread_time() - began)

        return before_backward

    def around_step(
        self, thoroughly_before: Callable[..., Any], thoroughly_after: Callable[..., Any]
    ) -> tuple[Callable[..., Any], Callable[..., Any]]:
        """Return what is called before and after an optimizer's step."""
        state, scale, entries = self._state, self._scale, self._entries

        def before_step(optimizer: Any, args: Any, kwargs: Any) -> None:
            if state.is_elsewhere(steps=True):
                return
            hides = dispatch_depth() or is_profiling()
            if self.on and len(args) == 1 and not kwargs and not hides:
                is_timed = self.steps % TIMED == 0
                began = thread_time() if is_timed else 0.0
                entry = entries.get(id(optimizer))
                if entry is not None and self._is_fine(entry, optimizer, perf_counter()):
                    self._checked = entry
                    state.in_update = True
                    if is_timed:
                        self.seconds += TIMED * (thread_time() - began)
                    return
            self._checked = None
            self.leave()
            thoroughly_before(optimizer, args, kwargs)

        def after_step(optimizer: Any, args: Any, kwargs: Any) -> None:
            if state.is_elsewhere(steps=True):
                return
            entry, self._checked = self._checked, None
            if entry is not None:
                state.in_update = scale.scaler_answers = False
                self._close(entry)
                return
            thoroughly_after(optimizer, args, kwargs)
            self._begin_if_possible()

        return before_step, after_step

    def _is_fine(self, entry: Entry, optimizer: Any, now: float) -> bool:
        """Check and record one step; False sends it the thorough way, whatever the reason."""
        try:
            if entry.reference() is not optimizer or not entry.holds_the_same(optimizer):
                return False
            if not self._take_numbers(entry, optimizer):
                return False
            self._record(entry, now)
        except Exception:
            # A sparse gradient, or a loss that is no number: the thorough way handles it.
            entry.reading.is_possible = False
            return False
        return True

    def settle(self) -> None:
        """At the end of the program, judge the losses whose step the scaler skipped."""
        state = self._state
        if not self.on or self._scale.scaler is None or not state.losses:
            return
        self.leave()
        values = read_together(state.losses)
        good = [place for place, value in enumerate(values) if math.isfinite(value)]
        bad = values[good[-1] + 1 if good else 0 :]
        if bad:
            state.bad_scaled_losses += len(bad)
            state.last_scaled_losses = [encode(value) for value in bad[-1:]]

    def _take_numbers(self, entry: Entry, optimizer: Any) -> bool:
        """Read the losses since the last step as numbers; tell whether they and all gradients are finite.

        Reading waits for the device, so all numbers are read at once.
        """
        state = self._state
        losses, scaler = state.losses, self._scale.scaler
        if scaler is None and all(type(loss) is float for loss in losses):
            total = entry.reading.total(optimizer) + math.fsum(losses)
        else:
            known = scaler is not None and self._scale.answers_for(optimizer)
            answers = [] if known else entry.reading.answers(optimizer)
            scales = [] if scaler is None else [scale_tensor(scaler)]
            values = read_together([*losses, *scales, *answers])
            count = len(losses)
            scale = self._scale.scale_is(values[count]) if scales else 1.0
            # An earlier bad loss made the scaler skip its step and did no harm.
            last = values[:count][-1:]
            earlier = [v for v in values[:count][:-1] if scaler is None or math.isfinite(v)]
            losses = state.losses = [v / scale for v in earlier + last]
            total = math.fsum(losses) + math.fsum(values[count:])
        self._waiting = BACKWARDS_WITHOUT_STEP + 2 * len(losses)
        self._loss = math.fsum(losses) / len(losses) if losses else None
        return total - total == 0.0

    def _record(self, entry: Entry, now: float) -> None:
        state = self._state
        losses = state.losses
        milliseconds, state.began = (now - state.began) * 1000, now
        if len(losses) == 1 and not entry.rates_moved and not self._shapes_changed():
            self._add(state.step, entry.index, self._loss, milliseconds)
        else:
            self._write(entry, losses, milliseconds)
        losses.clear()

    def _shapes_changed(self) -> bool:
        return self._batches.shapes is not self._state.told_shapes

    def _write(self, entry: Entry, losses: list[float], milliseconds: float) -> None:
        """Record a step whose rates, shapes or number of losses may have changed."""
        state = self._state
        rates = entry.changed_rates() if entry.rates_moved else None
        shapes = None
        if self._shapes_changed():
            self._shapes_told += 1
            shapes = self._events.changed_shapes() if self._shapes_told <= MOST_SHAPES else None
            state.told_shapes = self._batches.shapes
        if len(losses) == 1 and rates is None and shapes is None:
            self._add(state.step, entry.index, self._loss, milliseconds)
            return
        self._recorder.write(
            Step(
                step=state.step,
                optimizer=entry.index,
                losses=list(losses),
                milliseconds=round(milliseconds, 3),
                learning_rates=rates,
                batch=shapes,
            )
        )

    def _close(self, entry: Entry) -> None:
        """Close the step; send the next one the thorough way if there is a reason."""
        is_timed = self.steps % TIMED == 0
        began = thread_time() if is_timed else 0.0
        state, batches = self._state, self._batches
        try:
            loss = self._loss
            if loss is not None:
                entry.losses.append(loss)
                if loss > entry.highest or len(entry.losses) >= entry.most:
                    self._tell(entry)
            if batches.serial:
                self._follow_batches(entry, batches)
            if self._copies:
                self._quiet.after_step()
        except Exception as problem:
            self._guests.switch_off("cruise", problem)
            self.on = False
        if state.dropped.in_a_row:
            state.dropped.stepped()
        state.step += 1
        entry.watched.steps += 1
        self.steps += 1
        if state.step >= self._until or entry.watched.steps >= entry.watched.next_sample:
            self.leave()
        if is_timed:
            self.seconds += TIMED * (thread_time() - began)

    def _follow_batches(self, entry: Entry, batches: BatchKeeper) -> None:
        """Release the batches of this step; tell the handler of a step that used more than one."""
        serial = entry.watched.batches_at_last_step = batches.serial
        batches.look_from = batches.drawn + BATCHES_WITHOUT_STEP
        if self._is_alone:
            batches.recent.clear()
        else:
            self._quiet.forget_old_batches()
        drawn = serial - self._serial
        if drawn not in (0, 1) or (drawn == 1 and serial + 1 == self._lookout):
            self._lookout = self._quiet.drew_batches(self._serial, serial)
            self._on_only_if_quiet()
        self._serial = serial

    def _tell(self, entry: Entry) -> None:
        losses, entry.losses = entry.losses, []
        quiet = self._quiet
        quiet.take_losses(entry.watched, losses)
        entry.highest, entry.most = quiet.limits(entry.watched)
        self._on_only_if_quiet()

    def _on_only_if_quiet(self) -> None:
        if not self._quiet.is_quiet():
            self.leave()

    def leave(self) -> None:
        """Send the next step the thorough way, and tell the handler the losses so far."""
        if not self.on:
            return
        self.on = False
        try:
            for entry in self._entries.values():
                if entry.losses:
                    self._tell(entry)
        except Exception as problem:
            self._guests.switch_off("cruise", problem)

    @unseen
    def _begin_if_possible(self) -> None:
        try:
            self.on = self._may_begin()
        except Exception as problem:
            self._guests.switch_off("cruise", problem)

    def _may_begin(self) -> bool:
        """Tell whether the loop is known well enough; called after each step that went the thorough way."""
        state, guests, quiet = self._state, self._guests, self._handlers.current.quiet
        scaler = self._scale.scaler
        used = [one for one in self._optimizers.all() if self._stale_gradients.awaits(one)]
        if (
            guests.all_off
            or guests.fault is not None
            or not guests.switched_off.isdisjoint(NEEDED)
            or guests.lacks("loss probe")
            or state.frozen
            or (scaler is not None and scale_tensor(scaler) is None)
            or self._is_bounded
            or not used
            or any(w.steps < FIRST_STEPS or w.steps >= w.next_sample for w in used)
            or quiet is None
            or not quiet.is_quiet()
        ):
            return False
        self._forget_the_dead()
        for watched in used:
            entry = self._entry_of(watched)
            if not entry.reading.is_possible:
                return False
            entry.highest, entry.most = quiet.limits(watched)
        self._quiet = quiet
        self._stale_gradients.rest()
        self.is_plain = scaler is None
        self._is_alone = len(used) == 1
        self._copies, kept = quiet.copies_after_steps()
        self._random, self._copy_of, self._buffers = kept
        self._serial = self._batches.serial
        self._until = self._holdings.next_step
        return True

    def _entry_of(self, watched: WatchedOptimizer) -> Entry:
        optimizer = watched.optimizer
        entry = self._entries.get(id(optimizer))
        if entry is None or (entry.reading.is_possible and not entry.holds_the_same(optimizer)):
            entry = self._entries[id(optimizer)] = Entry(optimizer, watched)
        return entry

    def _forget_the_dead(self) -> None:
        for key in [key for key, entry in self._entries.items() if entry.reference() is None]:
            del self._entries[key]
