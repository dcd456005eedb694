"""The failing step in place: withhold the update, give the same batches again, let the user's own loop repeat it.

`Replay` is the handler that the boot wires into observe's sentinel. Its states:
  watching → (bad step) → waiting for the loop to repeat it → [trying it without one sample] → done.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import torch

from torchwhy.observe import gradients, torch_compat
from torchwhy.observe.frames import span_of
from torchwhy.observe.sentinel import Check
from torchwhy.record.events import Alarm, Birth, GradientsClipped, MicroscopeLeft, Replayed, SampleTried
from torchwhy.record.numbers import encode, is_finite
from torchwhy.replay.births import BirthBook
from torchwhy.replay.context import Context
from torchwhy.replay.earlier import EarlierRun
from torchwhy.replay.handout import Handout, Quiet, with_rows_replaced
from torchwhy.replay.microscope import Microscope
from torchwhy.replay.modules import ModuleStack
from torchwhy.replay.operations import Operation
from torchwhy.replay.snapshot import Snapshot

if TYPE_CHECKING:
    from torchwhy.observe.probes.batches import Batch
    from torchwhy.observe.session import Session

PROLOGUE_SECONDS = 10.0  # of our own time before the first step is over; then the microscope steps back
HAND_STEPS = 3  # backward passes seen in a program without optimizer: its update by hand lies between two of them
NORMS = {"_foreach_norm", "linalg_vector_norm", "norm"}
MOST_WAITED = 8  # optimizer steps of other optimizers before the repeated step is given up


class Replay:
    """Decides when the microscope is on and what becomes of a bad step."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.context = Context(session)
        self.book = BirthBook(session.write, self.context)
        self.modules = ModuleStack(session.names, session.write)
        self.microscope = Microscope(self.book, self.modules, self._microscope_failed)
        self.context.microscope = self.microscope
        self.handout = Handout()
        self.quiet = Quiet()
        self.snapshot = Snapshot(session)
        self.state = "watching"
        self.compiles = False
        self.earlier = EarlierRun(session) if session.rerun_step is not None else None
        self._failed: Check | None = None
        self._prints: list[str] = []
        self._batches: list[Batch] = []
        self._positions: list[int] = []
        self._waited = 0
        self._last_clip = -1
        self._alarmed = False

    def begin(self) -> None:
        """Put the microscope on: everything before the first step, and the first step, is seen."""
        microscope = self.microscope
        microscope.limit_seconds = PROLOGUE_SECONDS
        microscope.over_limit = lambda: self._step_back(f"{PROLOGUE_SECONDS:g} s of looking were used up")
        microscope.updating = lambda: self.session.sentinel.in_update and not self._in_closure()
        microscope.on_clip = self._clipped
        self.modules.on_output = self._module_gave
        self.handout.on_first = self.quiet.begin
        microscope.enter()

    # What the sentinel tells ------------------------------------------------------------------------------

    def before_backward(self, losses: list[torch.Tensor]) -> None:
        """Note which births the losses descend from."""
        if not self.session.sentinel.optimizers.any_made:
            self._step_without_optimizer()
        if self.microscope.is_on:
            for loss in losses:
                if not gradients.is_finite(loss):
                    self.book.reached(self.microscope.source_of(loss.detach()), "loss")

    def _step_without_optimizer(self) -> None:
        """A program that updates by hand: each backward is a step, and the second one ends the first."""
        step = self.session.sentinel.step
        if self.earlier is not None:
            self._come_closer(step + 1)
        elif step >= HAND_STEPS:
            self._step_back("the first steps are over")
        if self.microscope.is_on and step:
            self.book.drop_reaches()

    def before_step(self, check: Check) -> None:
        """Act on the verdict about the step that is about to write."""
        if self.state in ("waiting", "trying"):
            self._repeated(check)
            return
        if check.is_bad and not check.has_closure:
            self._note_bad_gradients(check)
            self._bad_step(check)
        elif self.earlier is not None:
            self._come_closer(check.step + 1)

    def after_step(self, check: Check | None) -> None:
        """Look at what was written while the microscope is on; keep what a replay of the next step needs."""
        if self.state in ("waiting", "trying"):
            if self.state == "waiting" and not self._batches:
                self.snapshot.restore_random_state()
            return
        if check is not None and (self.microscope.is_on or check.has_closure):
            self._look_at_written(check)
        self._close_first_step()
        self.snapshot.take()
        if check is not None and check.watched is not None:
            check.watched.batches_at_last_step = self.session.batches.drawn
        self._forget_old_batches()
        if self.microscope.is_on:
            self.book.drop_reaches()
            self._begin_step(self.session.sentinel.step + 1)

    def bad_backward(self, check: Check) -> None:
        """Act on a bad loss in a program that has no optimizer."""
        self._bad_step(check)

    def loss_was_read(self, loss: torch.Tensor) -> None:
        """In a rerun that looks for a loss the program itself gave up on, this is the moment."""
        if self.earlier is None or not self.earlier.alarm_is("value") or not self.microscope.is_on:
            return
        if self.session.sentinel.step >= self.earlier.step and not gradients.is_finite(loss):
            self.book.reached(self.microscope.source_of(loss.detach()), "loss")
            self._rerun_is_over(Check(self.session.sentinel.step, None, [encode(float(loss.item()))], bad_loss=True))

    def program_compiles(self) -> None:
        """An active mode would make compiled code run eagerly and give other bits: step aside."""
        self.compiles = True
        if self.state == "watching":
            self._step_back("the program compiles its model")

    def at_exit(self) -> None:
        """Look at what the program leaves behind."""
        self.quiet.end()
        self.handout.end()
        if self.state == "watching" and not self._alarmed:
            self._look_at_the_end()
        self.leave()

    def leave(self) -> None:
        """Take everything off; also called in a forked child."""
        self.microscope.leave()
        self.handout.end()
        self.state = "done"

    # A bad step -------------------------------------------------------------------------------------------

    def _bad_step(self, check: Check) -> None:
        check.bad_parameters = self._bad_parameters(check)
        if self.earlier is not None:
            self._rerun_is_over(check)
            return
        if self._alarmed:
            self._keep_out(check)
            return
        self._alarmed = True
        withholds = self.session.on_failure != "continue" and check.watched is not None
        if self.microscope.is_on:
            self._raise_alarm(check, withheld=withholds)
            self._conclude(check, "first-step", reproduced=True)
        elif withholds and self._can_repeat(check):
            self._raise_alarm(check, withheld=True)
            self._wait_for_repetition(check)
        else:
            self._raise_alarm(check, withheld=withholds)
            self._finish(check)

    def _raise_alarm(self, check: Check, *, withheld: bool) -> None:
        self._failed = check
        self.session.sentinel.alarm(check, withheld=withheld)

    def _can_repeat(self, check: Check) -> bool:
        """Tell whether the user's loop can be made to do this step again."""
        if check.watched is None or check.bad_parameters or torch_compat.world_size() > 1:
            return False
        self._batches = self.session.batches.since(check.watched.batches_at_last_step)
        drawn = self.session.batches.drawn - check.watched.batches_at_last_step
        return len(self._batches) == drawn and all(batch.untouched() for batch in self._batches)

    def _wait_for_repetition(self, check: Check) -> None:
        watched = check.watched
        if watched is None:
            return
        self._prints = gradients.fingerprint(watched.gradients())
        self.state = "waiting"
        self.session.sentinel.frozen = True
        watched.withhold()
        self.snapshot.restore_buffers()
        self.book.drop_reaches()
        if self.compiles:
            torch_compat.force_eager(on=True)
        self.microscope.limit_seconds = float("inf")
        self._begin_step(check.step)
        self.microscope.enter()
        if self._batches:
            self.handout.begin(self._batches)

    def _repeated(self, check: Check) -> None:
        failed = self._failed
        if failed is None or failed.watched is None or check.watched is not failed.watched:
            self._waited += 1
            if check.watched is not None:
                check.watched.withhold()
            if self._waited > MOST_WAITED and failed is not None:
                self._finish(failed)
            return
        if self.state == "trying":
            self._sample_was_tried(check)
            return
        same = self._is_same(check, failed)
        if same:
            self._note_bad_gradients(check)
        elif not check.is_bad:
            self.book.drop_reaches()
        self._conclude(failed, "in-place", reproduced=same)

    def _is_same(self, check: Check, failed: Check) -> bool:
        prints = gradients.fingerprint(check.watched.gradients()) if check.watched else []
        return check.is_bad and check.losses == failed.losses and prints == self._prints

    def _conclude(self, check: Check, how: Any, *, reproduced: bool) -> None:
        """Write what was seen of the bad step, try it without the guilty sample if there is one, and end."""
        eager = self.compiles and how == "in-place"
        if reproduced:
            self.book.write_all()
        detail = "" if reproduced else "the repeated step gave other numbers than the first time"
        self.session.write(
            Replayed(step=check.step, how=how, reproduced=reproduced, detail=detail, eager_of_compiled=eager)
        )
        if reproduced and self._try_without_sample(check):
            return
        self._finish(check)

    def _finish(self, check: Check) -> None:
        """Leave the microscope and do with the update what the user asked for."""
        if check.watched is not None and self.session.on_failure != "continue":
            check.watched.withhold()
        self.microscope.leave()
        self.quiet.end()
        self.handout.end()
        if self.compiles:
            torch_compat.force_eager(on=False)
        self.snapshot.restore_buffers()
        self.session.sentinel.frozen = False
        self.state = "watching"
        if self.session.on_failure == "stop":
            self.state = "done"
            self.session.stop_program()

    def _keep_out(self, check: Check) -> None:
        """After the first bad step, with `skip`: later ones are only withheld and noted."""
        if check.watched is not None and self.session.on_failure == "skip":
            check.watched.withhold()
            self.session.sentinel.alarm(check, withheld=True)
        elif self.session.on_failure == "stop":
            self._finish(check)

    # The sample -------------------------------------------------------------------------------------------

    def _try_without_sample(self, check: Check) -> bool:
        """Ask the loop for the step once more, the guilty samples replaced by copies of their neighbours."""
        if check.watched is None or self.session.on_failure == "continue" or check.bad_parameters:
            return False
        batches = self._batches or self.session.batches.since(check.watched.batches_at_last_step)
        rows = self.context.rows()
        self._positions = _guilty_positions(self.book.spoilers())
        good = [row for row in range(rows) if row not in self._positions]
        if len(batches) != 1 or not self._positions or not good or not batches[0].untouched():
            return False
        replaced = {bad: min(good, key=lambda row, bad=bad: abs(row - bad)) for bad in self._positions}
        self._failed, self.state = check, "trying"
        self.session.sentinel.frozen = True
        self.microscope.leave()
        check.watched.withhold()
        self.snapshot.restore_buffers()
        data = with_rows_replaced(batches[0].data, replaced, rows)
        self.handout.begin(batches, {batches[0].serial: data})
        return True

    def _sample_was_tried(self, check: Check) -> None:
        indices = self.context.dataset_indices()
        for position in self._positions:
            index = indices[position] if indices and position < len(indices) else None
            self.session.write(
                SampleTried(step=check.step, position=position, dataset_index=index, cured=not check.is_bad)
            )
        self._finish(self._failed or check)

    # The first step and the end ---------------------------------------------------------------------------

    def _look_at_written(self, check: Check) -> None:
        """Judge weights right after an update, while the operations that wrote them are known."""
        bad = self._bad_parameters(check) if not check.is_bad else []
        if check.has_closure and (check.bad_loss or bad):
            check.bad_parameters = bad
            self._note_reached_parameters(check)
            self._bad_step(check)
        elif bad and self.microscope.is_on:
            check.bad_parameters = bad
            self._note_reached_parameters(check)
            self._bad_step(check)

    def _close_first_step(self) -> None:
        if not self.microscope.is_on or self.earlier is not None and self.earlier.is_close(self.session.sentinel.step + 1):
            return
        sentinel = self.session.sentinel
        waiting = [w for w in sentinel.optimizers.all() if not w.steps]
        if len(waiting) <= 1 or sentinel.step >= 2 * sentinel.optimizers.count:
            self._step_back("the first step is over")

    def _step_back(self, reason: str) -> None:
        if not self.microscope.is_on:
            return
        self.microscope.leave()
        self.modules.tells = False
        self.book.drop_reaches()
        self.session.own_seconds += self.microscope.seconds
        if self.session.sentinel.step or self.session.sentinel.optimizers.any_made:
            self.session.write(
                MicroscopeLeft(
                    step=self.session.sentinel.step,
                    reason=reason,
                    operations=self.microscope.seen,
                    seconds=round(self.microscope.seconds, 4),
                )
            )

    def _look_at_the_end(self) -> None:
        sentinel = self.session.sentinel
        last = sentinel.last_read
        if last is not None and not gradients.is_finite(last):
            self._end_alarm("value", [encode(float(last.item()))], sentinel.step, last)
            return
        for watched in sentinel.optimizers.all():
            bad = [n for n, p in zip(watched.names(), watched.parameters(), strict=True) if not gradients.is_finite(p)]
            if bad and watched.steps:
                self.session.write(
                    Alarm(step=max(sentinel.step - 1, 0), optimizer=watched.index, what="parameter", losses=[], names=bad[:8])
                )
                return
        if not sentinel.backwards and self.microscope.is_on:
            self.microscope.leave()
            self.book.blame_noticed(self.microscope.ledger.living_births())
            self._write_birth_without_training()

    def _end_alarm(self, what: Any, losses: Any, step: int, tensor: torch.Tensor) -> None:
        self.session.write(Alarm(step=step, optimizer=None, what=what, losses=losses))
        if self.microscope.is_on:
            self.book.reached(self.microscope.source_of(tensor), "loss")
            self.book.write_all()
            self.session.write(Replayed(step=step, how="first-step", reproduced=self.book.any_reached()))

    def _write_birth_without_training(self) -> None:
        if self.book.any_reached():
            self.session.write(Alarm(step=0, optimizer=None, what="value", losses=[]))
            self.book.write_all()
            self.session.write(Replayed(step=0, how="first-step", reproduced=True))

    # A rerun ----------------------------------------------------------------------------------------------

    def _come_closer(self, next_step: int) -> None:
        """In a rerun: put the microscope on one step before the one that failed."""
        if self.earlier is not None and self.earlier.is_close(next_step):
            self.microscope.limit_seconds = float("inf")
            if self.compiles:
                torch_compat.force_eager(on=True)
            self.microscope.enter()
            if next_step > self.earlier.step + 1:
                self._rerun_is_over(None)

    def _rerun_is_over(self, check: Check | None) -> None:
        """Write what the rerun saw and end it at once: its results are nobody's."""
        earlier = self.earlier
        if earlier is None:
            return
        reproduced = check is not None
        if check is not None:
            self.session.sentinel.alarm(check, withheld=False)
        self.book.write_all()
        self.session.write(
            Replayed(
                step=earlier.step,
                how="rerun",
                reproduced=reproduced,
                detail=earlier.faithfulness(),
                eager_of_compiled=self.compiles,
            )
        )
        os._exit(0)

    # Small things -----------------------------------------------------------------------------------------

    def _note_bad_gradients(self, check: Check) -> None:
        if not self.microscope.is_on or check.watched is None:
            return
        for name, gradient in check.watched.named_gradients():
            if gradient is not None and not gradients.is_finite(gradient):
                self.book.reached(self.microscope.source_of(gradient), f"gradient of {name}")

    def _note_reached_parameters(self, check: Check) -> None:
        if not self.microscope.is_on or check.watched is None:
            return
        for name, parameter in zip(check.watched.names(), check.watched.parameters(), strict=True):
            if not gradients.is_finite(parameter):
                self.book.reached(self.microscope.source_of(parameter.detach()), f"parameter {name}")

    def _bad_parameters(self, check: Check) -> list[str]:
        if check.watched is None:
            return []
        pairs = zip(check.watched.names(), check.watched.parameters(), strict=True)
        return [name for name, parameter in pairs if not gradients.is_finite(parameter)]

    def _module_gave(self, path: str, output: Any) -> None:
        for tensor in output if isinstance(output, (list, tuple)) else [output]:
            if isinstance(tensor, torch.Tensor) and not gradients.is_finite(tensor):
                self.book.noticed(self.microscope.ledger.births_of(tensor), f"output of {path}")

    def _clipped(self, operation: Operation) -> None:
        """Note that gradients are being clipped; a norm that overflows makes all of them 0, which no check sees."""
        if operation.births and operation.info.base in NORMS:
            self.book.tell_now(operation.births, "norm of the gradients")
        if self._last_clip == operation.step:
            return
        self._last_clip = operation.step
        site = operation.place()
        scaled = self.session.sentinel.gradients_scaled
        self.session.write(
            GradientsClipped(step=operation.step, scaled=scaled, location=span_of(site) if site else None)
        )

    def _begin_step(self, step: int) -> None:
        self.microscope.begin_step(step)
        self.modules.step = step

    def _forget_old_batches(self) -> None:
        marks = [w.batches_at_last_step for w in self.session.sentinel.optimizers.all() if w.batches_at_last_step]
        if marks:
            self.session.batches.forget_before(min(marks))

    def _in_closure(self) -> bool:
        check = self.session.sentinel._open  # noqa: SLF001 - the two work as one
        return check is not None and check.has_closure

    def _microscope_failed(self, problem: BaseException) -> None:
        self.session.guests.switch_off("microscope", problem)
        self._step_back("it failed")


def _guilty_positions(births: list[Birth]) -> list[int]:
    """Return the batch positions of the first birth that has any."""
    return next((birth.positions for birth in births if birth.positions), [])


__all__ = ["Replay", "is_finite"]
