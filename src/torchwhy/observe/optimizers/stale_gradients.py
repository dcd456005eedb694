"""Finds gradients that a step has used and that were not cleared before the next backward pass added to them."""

from __future__ import annotations

from types import FrameType
from typing import TYPE_CHECKING

import torch

from torchwhy.observe.optimizers.idle_optimizers import IdleOptimizerWatch
from torchwhy.observe.optimizers.watched_optimizers import WatchedOptimizer, WatchedOptimizers
from torchwhy.observe.probes.call_order import CallOrder
from torchwhy.observe.program.frames import span_of, user_sites
from torchwhy.observe.recorder import Recorder
from torchwhy.observe.steps.training_state import TrainingState
from torchwhy.observe.torch_features.mode_stack import unseen
from torchwhy.observe.torch_features.tensor_parts import gradient_of, gradient_version
from torchwhy.record.learning import StaleGradients

if TYPE_CHECKING:
    from torchwhy.finding import SourceSpan

PARAMETERS_WATCHED = 3  # of each optimizer: code that clears one gradient clears all
STEPS_WATCHED = 400  # a loop that clears its gradients so often does it always
CLOSURES_WATCHED = 60  # calls of a closure: a loop that clears there does it at the second one
ENOUGH_IN_CLOSURES = 6  # calls in a row that found old gradients

Marks = dict[int, tuple[int, int]]  # position of a parameter → address and version of its gradient


class StaleGradientWatch:
    """Compares memory and version of a few gradients: exact, and a microsecond each."""

    def __init__(
        self,
        recorder: Recorder,
        state: TrainingState,
        *,
        optimizers: WatchedOptimizers,
        idle: IdleOptimizerWatch,
        calls: CallOrder,
    ) -> None:
        self._recorder = recorder
        self._state = state
        self._optimizers = optimizers
        self._idle = idle
        self._calls = calls
        self._used: dict[int, tuple[int, Marks]] = {}
        self._suspect: dict[int, SourceSpan | None] = {}
        self._times: dict[int, int] = {}
        self._clips: dict[int, int] = {}  # calls that clip, up to the last step
        self._cleared: set[int] = set()
        # Backward passes in closures, and how many of them found old gradients.
        self._in_closures: dict[int, tuple[int, int]] = {}
        self._closure_sites: dict[int, SourceSpan | None] = {}

    def rest(self) -> None:
        """Forget the used gradients: unwatched steps follow, after which their memory may be reused."""
        self._used.clear()
        self._suspect.clear()

    def awaits(self, watched: WatchedOptimizer) -> bool:
        """Tell whether an optimizer steps, or has not stepped yet although a backward pass reached its parameters."""
        return watched.steps > 0 or not self._idle.is_out_of_reach(watched)

    @unseen
    def after_step(self, watched: WatchedOptimizer, step: int) -> None:
        """Remember the gradients this step has used."""
        if step >= STEPS_WATCHED:
            self._used.pop(watched.index, None)
            return
        marks: Marks = {}
        for position, parameter in enumerate(watched.parameters()):
            gradient = gradient_of(parameter)
            if gradient is not None and gradient.layout is torch.strided:
                marks[position] = (gradient.data_ptr(), gradient_version(parameter))
                if len(marks) == PARAMETERS_WATCHED:
                    break
        self._used[watched.index] = (step, marks)
        self._clips[watched.index] = self._calls.counts.get("clip", 0)

    @unseen
    def before_backward(self, roots: list[torch.Tensor], frame: FrameType | None) -> None:
        """Suspect the optimizers whose used gradients are still there, untouched and not zero."""
        stepping = self._state.open_check
        if stepping is not None and stepping.has_closure and stepping.watched is not None:
            self._in_closure(stepping.watched, frame)
            return
        for watched in self._optimizers.all():
            if not watched.steps:
                self._idle.before_backward(watched, roots, frame)
            used = self._used.get(watched.index)
            if used is None or not used[1]:
                continue
            if watched.index in self._suspect:
                # Another model's backward pass added to it; the program may have cleared it since.
                if not _remain(watched, used[1], untouched=False):
                    self._cleared.add(watched.index)
                    del self._suspect[watched.index]
                    del self._used[watched.index]
            elif _remain(watched, used[1], untouched=not self._clipped(watched)):
                sites = user_sites(frame, limit=1) if watched.index not in self._times else ()
                self._suspect[watched.index] = span_of(sites[0]) if sites else None
            else:
                self._cleared.add(watched.index)

    def _clipped(self, watched: WatchedOptimizer) -> bool:
        """Tell whether gradients were clipped after the step, which writes to them without clearing them."""
        clips = self._calls.counts.get("clip", 0)
        return clips > self._clips.get(watched.index, clips)

    def _in_closure(self, watched: WatchedOptimizer, frame: FrameType | None) -> None:
        """Count the backward passes within a step that found gradients of an earlier one."""
        seen, left = self._in_closures.get(watched.index, (0, 0))
        if seen >= CLOSURES_WATCHED:
            return
        gradients = [g for g in watched.gradients() if g is not None]
        found = any(bool((g != 0).any().item()) for g in gradients[:PARAMETERS_WATCHED])
        if seen and not found:
            self._cleared.add(watched.index)
        self._in_closures[watched.index] = (seen + 1, left + found)
        if not seen:
            sites = user_sites(frame, limit=1)
            self._closure_sites[watched.index] = span_of(sites[0]) if sites else None

    def knows_closure(self, watched: WatchedOptimizer) -> bool:
        """Tell whether enough backward passes within steps of an optimizer were looked at."""
        return self._in_closures.get(watched.index, (0, 0))[0] >= CLOSURES_WATCHED

    def _convict_closure(
        self, watched: WatchedOptimizer, step: int, frame: FrameType | None
    ) -> None:
        """Report a closure that found old gradients at every call but the first: it never clears them."""
        seen, left = self._in_closures.get(watched.index, (0, 0))
        if left < ENOUGH_IN_CLOSURES or left != seen - 1 or watched.index in self._times:
            return
        self._times[watched.index] = left
        sites = user_sites(frame, limit=1)
        self._recorder.write(
            StaleGradients(
                step=step,
                optimizer=watched.index,
                used_at_step=max(0, step - 1),
                times=left,
                cleared_ever=False,
                location=self._closure_sites[watched.index],
                stepped_at=span_of(sites[0]) if sites else None,
            )
        )

    @unseen
    def before_step(self, watched: WatchedOptimizer, step: int, frame: FrameType | None) -> None:
        """Report stale gradients if backward added to them: the same memory in a newer version."""
        if watched.index in self._in_closures:
            self._convict_closure(watched, step, frame)
        if watched.index not in self._suspect:
            return
        place = self._suspect.pop(watched.index)
        used_at, marks = self._used.get(watched.index, (0, {}))
        parameters = watched.parameters()
        added = False
        for position, (pointer, version) in marks.items():
            gradient = gradient_of(parameters[position]) if position < len(parameters) else None
            added |= (
                gradient is not None
                and gradient.data_ptr() == pointer
                and gradient_version(parameters[position]) > version
            )
        if not added:
            return
        times = self._times[watched.index] = self._times.get(watched.index, 0) + 1
        if times <= 4 or times & (times - 1) == 0:  # the count, without an event per step
            sites = user_sites(frame, limit=1)
            self._recorder.write(
                StaleGradients(
                    step=step,
                    optimizer=watched.index,
                    used_at_step=used_at,
                    times=times,
                    cleared_ever=watched.index in self._cleared,
                    location=place,
                    stepped_at=span_of(sites[0]) if sites else None,
                )
            )


def _remain(watched: WatchedOptimizer, marks: Marks, *, untouched: bool) -> bool:
    """Tell whether the marked gradients still exist and are not zero; `untouched`: and were not written since."""
    parameters = watched.parameters()
    kept = []
    for position, (pointer, version) in marks.items():
        gradient = gradient_of(parameters[position]) if position < len(parameters) else None
        if (
            gradient is None
            or gradient.data_ptr() != pointer
            or (untouched and gradient_version(parameters[position]) != version)
        ):
            return False
        kept.append(gradient)
    # `gradient_of(p).data.zero_()` does not change the version, so the values decide.
    return any(bool((gradient != 0).any().item()) for gradient in kept)
