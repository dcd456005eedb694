"""The loop at cruising speed: the same check of loss and gradients, in the fewest operations.

After the first steps a training loop repeats itself, and nothing new can be learned from the order of its calls or
from the memory of its gradients. What is left to do at each step is done here in a handful of calls; whatever is
out of the ordinary (a bad number, another optimizer, a step due for a sample) goes the thorough way, in `sentinel`.
"""

from __future__ import annotations

import math
import weakref
from time import perf_counter
from typing import TYPE_CHECKING, Any

import torch

from torchwhy.observe.native.records import CruiseRecord, EntryRecord
from torchwhy.observe.steps.gradients import Reading, read_together
from torchwhy.observe.torch_features.autograd_nodes import next_sequence
from torchwhy.observe.torch_features.mode_stack import DisableTorchFunction, dispatch_depth
from torchwhy.observe.torch_features.tensor_parts import item, scale_tensor
from torchwhy.record.events import Step
from torchwhy.record.numbers import encode

if TYPE_CHECKING:
    from collections.abc import Callable

    from torchwhy.observe.probes.batches import BatchKeeper
    from torchwhy.observe.session import Session
    from torchwhy.observe.steps.watched_optimizers import WatchedOptimizer

FIRST_STEPS = 24  # of each optimizer that are looked at thoroughly
BACKWARDS_WITHOUT_STEP = 4  # under a scaler, besides twice as many as usual
BATCHES_WITHOUT_STEP = 4  # before somebody asks what the program holds
RATE_CHANGE = 0.01  # of a learning rate that is worth a line
MOST_SHAPES = (
    200  # changed shapes told of at cruising speed: sentences have a new length at every step
)
NEEDED = ("cruise", "loss probe", "step probe", "batch probe")  # without one of these, no cruising


class Entry(EntryRecord):
    """One optimizer in the steady part of its loop: what it held when the cruise began."""

    def __init__(self, optimizer: Any, watched: WatchedOptimizer) -> None:
        self.reference = weakref.ref(optimizer)
        self.watched = watched
        self.index = watched.index
        self.groups = optimizer.param_groups
        self.members = _members(self.groups)
        self.reading = Reading([p for group in self.groups for p in group["params"]])
        self.rates = [group.get("lr") for group in self.groups]  # as they were told
        self.rates_moved = False
        self.losses: list[float] = []  # of the steps that the handler was not told of yet
        self.highest = math.inf  # a loss above this is told at once,
        self.most = 0  # and so many losses at the latest

    def holds_the_same(self, optimizer: Any) -> bool:
        """Tell whether no parameter was added, and no group; notes whether a learning rate has moved."""
        groups = optimizer.param_groups
        if groups is not self.groups or len(groups) != len(self.members):
            return False
        for group, parameters, count, known in self.members:
            if group["params"] is not parameters or len(parameters) != count:
                return False
            if group.get("lr") is not known:
                self.rates_moved = True
        return True

    def changed_rates(self) -> list[float | None] | None:
        """Return the learning rates when one has moved by more than is worth a line."""
        self.rates_moved = False
        known = self.rates
        rates = [group.get("lr") for group in self.groups]
        self.members = _members(self.groups)
        for rate, before in zip(rates, known, strict=True):
            if type(rate) is not float or type(before) is not float:
                continue
            if abs(rate - before) > RATE_CHANGE * abs(before):
                self.rates = rates
                return [float(rate) for rate in rates]
        return None


def _members(groups: list[dict[str, Any]]) -> list[tuple[dict[str, Any], list[Any], int, Any]]:
    return [(group, group["params"], len(group["params"]), group.get("lr")) for group in groups]


class Cruise(CruiseRecord):
    """Stands between torch's hooks and the sentinel; `on` says who takes the next call."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._sentinel = session.sentinel
        self._batches = session.batches
        self._add: Callable[..., None] = session.step_log.add
        self.on = False
        self.steps = 0
        self.seconds = 0.0
        self._until: float = 0
        self._entries: dict[int, Entry] = {}
        self.is_plain = True  # no GradScaler is in use
        self._waiting = BACKWARDS_WITHOUT_STEP  # losses that may wait for a scaler's step
        self._is_alone = True  # there is one optimizer
        self._copies = True  # something is to be copied after each step,
        self._only_random: Any = None  # and this is all: the random state
        self._checked: Entry | None = None
        self._loss: float | None = None
        self._serial = 0  # of the batch that the last step used
        self._lookout = -1  # the batch before which the handler wants to be asked
        self._shapes_told = 0

    def around_backward(self, thoroughly: Callable[..., object]) -> Callable[..., object]:
        """Return what is called before a backward pass."""
        sentinel, modes = self._session.sentinel, self._session.modes

        def before_backward(outputs: Any, *, accumulates: bool) -> None:
            if sentinel.is_elsewhere():
                return
            loss = outputs[0] if self.on and accumulates and len(outputs) == 1 else None
            if sentinel.scaler is not None and len(sentinel.losses) > self._waiting:
                self.leave()  # its steps are skipped, and nobody would ask why
            if type(loss) is not torch.Tensor or dispatch_depth() or not self.on:
                thoroughly(outputs, accumulates=accumulates)
                return
            began = perf_counter()
            try:
                with DisableTorchFunction():  # a mode of the program must not see us ask
                    value = None if loss.dim() else item(loss) if loss.is_cpu else loss.detach()
                modes.backward_ran(outputs)
            except Exception:
                value = None
            is_bad = sentinel.scaler is not None and type(value) is float and value - value != 0.0
            if value is None or is_bad:
                self.leave()
                thoroughly(outputs, accumulates=accumulates)
                return
            sentinel.sequence_before, sentinel.sequence = sentinel.sequence, next_sequence()
            sentinel.last_read = None
            sentinel.losses.append(value)
            sentinel.backwards += 1
            self.seconds += perf_counter() - began

        return before_backward

    def around_step(
        self, thoroughly_before: Callable[..., Any], thoroughly_after: Callable[..., Any]
    ) -> tuple[Callable[..., Any], Callable[..., Any]]:
        """Return what is called before and after an optimizer's step."""
        sentinel, entries = self._session.sentinel, self._entries

        def before_step(optimizer: Any, args: Any, kwargs: Any) -> None:
            if sentinel.is_elsewhere(steps=True):
                return
            if self.on and len(args) == 1 and not kwargs and not dispatch_depth():
                began = perf_counter()
                entry = entries.get(id(optimizer))
                if entry is not None and self._is_fine(entry, optimizer, began):
                    self._checked = entry
                    sentinel.in_update = True
                    self.seconds += perf_counter() - began
                    return
            self._checked = None
            self.leave()
            thoroughly_before(optimizer, args, kwargs)

        def after_step(optimizer: Any, args: Any, kwargs: Any) -> None:
            if sentinel.is_elsewhere(steps=True):
                return
            entry, self._checked = self._checked, None
            if entry is not None:
                sentinel.in_update = sentinel.scaler_answers = False
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
            # A sparse gradient, a loss that is no number: those who look thoroughly know what to do.
            entry.reading.is_possible = False
            return False
        return True

    def settle(self) -> None:
        """At the end of the program: losses that wait for a step which never came are judged as a scaler's are."""
        sentinel = self._sentinel
        if not self.on or sentinel.scaler is None or not sentinel.losses:
            return
        self.leave()
        values = read_together(sentinel.losses)
        good = [place for place, value in enumerate(values) if math.isfinite(value)]
        bad = values[good[-1] + 1 if good else 0 :]
        if bad:
            sentinel.bad_scaled_losses += len(bad)
            sentinel.last_scaled_losses = [encode(value) for value in bad[-1:]]

    def _take_numbers(self, entry: Entry, optimizer: Any) -> bool:
        """Make plain numbers of the losses since the last step; tell whether they and all gradients are finite.

        On a device that means to wait for it, so all numbers are read at once.
        """
        sentinel = self._sentinel
        losses, scaler = sentinel.losses, sentinel.scaler
        if scaler is None and all(type(loss) is float for loss in losses):
            total = entry.reading.total() + math.fsum(losses)
        else:
            known = scaler is not None and sentinel.scaler_answers_for(optimizer)
            answers = [] if known else entry.reading.answers()
            scales = [] if scaler is None else [scale_tensor(scaler)]
            values = read_together([*losses, *scales, *answers])
            count = len(losses)
            scale = sentinel.scale_is(values[count]) if scales else 1.0
            # A loss that was bad before this one made the scaler skip its step, and did no harm.
            last = values[:count][-1:]
            earlier = [v for v in values[:count][:-1] if scaler is None or math.isfinite(v)]
            losses = sentinel.losses = [v / scale for v in earlier + last]
            total = math.fsum(losses) + math.fsum(values[count:])
        self._waiting = BACKWARDS_WITHOUT_STEP + 2 * len(losses)
        self._loss = math.fsum(losses) / len(losses) if losses else None
        return total - total == 0.0

    def _record(self, entry: Entry, now: float) -> None:
        sentinel = self._sentinel
        losses = sentinel.losses
        milliseconds, sentinel.began = (now - sentinel.began) * 1000, now
        if len(losses) == 1 and not entry.rates_moved and not self._shapes_changed():
            self._add(sentinel.step, entry.index, self._loss, milliseconds)
        else:
            self._write(entry, losses, milliseconds)
        losses.clear()

    def _shapes_changed(self) -> bool:
        return self._batches.shapes is not self._sentinel.told_shapes

    def _write(self, entry: Entry, losses: list[float], milliseconds: float) -> None:
        """Record a step of which there is more to tell, or seems to be."""
        sentinel = self._sentinel
        rates = entry.changed_rates() if entry.rates_moved else None
        shapes = None
        if self._shapes_changed():
            self._shapes_told += 1
            shapes = sentinel.changed_shapes() if self._shapes_told <= MOST_SHAPES else None
            sentinel.told_shapes = self._batches.shapes
        if len(losses) == 1 and rates is None and shapes is None:
            self._add(sentinel.step, entry.index, self._loss, milliseconds)
            return
        self._session.write(
            Step(
                step=sentinel.step,
                optimizer=entry.index,
                losses=list(losses),
                milliseconds=round(milliseconds, 3),
                learning_rates=rates,
                batch=shapes,
            )
        )

    def _close(self, entry: Entry) -> None:
        """Go on to the next step, and slow down for it if there is a reason."""
        began = perf_counter()
        session = self._session
        sentinel, batches = self._sentinel, self._batches
        try:
            loss = self._loss
            if loss is not None:
                entry.losses.append(loss)
                if loss > entry.highest or len(entry.losses) >= entry.most:
                    self._tell(entry)
            if batches.serial:
                self._follow_batches(entry, batches)
            if self._copies:
                session.handler.after_quiet_step()
        except Exception as problem:
            session.guests.switch_off("cruise", problem)
            self.on = False
        if sentinel.dropped.in_a_row:
            sentinel.dropped.stepped()
        sentinel.step += 1
        entry.watched.steps += 1
        self.steps += 1
        if sentinel.step >= self._until:
            self.leave()
        self.seconds += perf_counter() - began

    def _follow_batches(self, entry: Entry, batches: BatchKeeper) -> None:
        """Let go of the batches of this step; a loop that draws more or fewer than one each is for the handler."""
        serial = entry.watched.batches_at_last_step = batches.serial
        batches.look_from = batches.drawn + BATCHES_WITHOUT_STEP
        if self._is_alone:
            batches.recent.clear()
        if serial != self._serial + 1 or serial + 1 == self._lookout or not self._is_alone:
            self._lookout = self._session.handler.drew_batches(self._serial, serial)
            self._on_only_if_quiet()
        self._serial = serial

    def _tell(self, entry: Entry) -> None:
        losses, entry.losses = entry.losses, []
        handler = self._session.handler
        handler.take_quiet_losses(entry.watched, losses)
        entry.highest, entry.most = handler.quiet_limits(entry.watched)
        self._on_only_if_quiet()

    def _on_only_if_quiet(self) -> None:
        if not self._session.handler.is_quiet():
            self.leave()

    def leave(self) -> None:
        """The next step goes the thorough way; whoever takes it gets to know what was seen so far."""
        if not self.on:
            return
        self.on = False
        try:
            for entry in self._entries.values():
                if entry.losses:
                    self._tell(entry)
        except Exception as problem:
            self._session.guests.switch_off("cruise", problem)

    def _begin_if_possible(self) -> None:
        try:
            self.on = self._may_begin()
        except Exception as problem:
            self._session.guests.switch_off("cruise", problem)

    def _may_begin(self) -> bool:
        """Tell whether the loop is known well enough; called after each step that went the thorough way."""
        session = self._session
        sentinel, guests, handler = session.sentinel, session.guests, session.handler
        living = sentinel.optimizers.all()
        if (
            guests.all_off
            or guests.fault is not None
            or not guests.switched_off.isdisjoint(NEEDED)
            or guests.lacks("loss probe")
            or sentinel.frozen
            or (sentinel.scaler is not None and scale_tensor(sentinel.scaler) is None)
            or session.is_bounded
            or not living
            or any(w.steps < FIRST_STEPS or w.steps >= w.next_sample for w in living)
            or not handler.is_quiet()
        ):
            return False
        self._forget_the_dead()
        for watched in living:
            entry = self._entry_of(watched)
            if not entry.reading.is_possible:
                return False
            entry.highest, entry.most = handler.quiet_limits(watched)
        sentinel.stale_gradients.rest()
        self.is_plain = sentinel.scaler is None
        self._is_alone = len(living) == 1
        self._copies, self._only_random = handler.copies_after_steps()
        self._serial = session.batches.serial
        to_sample = min(watched.next_sample - watched.steps for watched in living)
        self._until = min(session.holdings.next_step, sentinel.step + to_sample)
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
