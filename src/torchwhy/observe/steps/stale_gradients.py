"""Gradients that a step has used and nobody cleared before the next backward added to them."""

from __future__ import annotations

from types import FrameType
from typing import TYPE_CHECKING

import torch

from torchwhy.observe.program.frames import span_of, user_sites
from torchwhy.observe.steps.idle_optimizers import IdleOptimizerWatch
from torchwhy.observe.steps.watched_optimizers import WatchedOptimizer
from torchwhy.observe.torch_features.mode_stack import unseen
from torchwhy.observe.torch_features.tensor_parts import version_of
from torchwhy.record.learning import StaleGradients

if TYPE_CHECKING:
    from torchwhy.finding import SourceSpan
    from torchwhy.observe.session import Session

PARAMETERS_WATCHED = 3  # of each optimizer: whoever clears one clears all
STEPS_WATCHED = 400  # a loop that clears its gradients so often does it always
CLOSURES_WATCHED = 60  # calls of a closure: a loop that clears there does it at the second one
ENOUGH_IN_CLOSURES = 6  # calls in a row that found old gradients

Marks = dict[int, tuple[int, int]]  # position of a parameter → address and version of its gradient


class StaleGradientWatch:
    """Compares memory and version of a few gradients: exact, and a microsecond each."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._idle = IdleOptimizerWatch(session)
        self._used: dict[int, tuple[int, Marks]] = {}
        self._suspect: dict[int, SourceSpan | None] = {}
        self._times: dict[int, int] = {}
        self._clips: dict[int, int] = {}  # calls that clip, up to the last step
        self._cleared: set[int] = set()
        self._in_closures: dict[
            int, tuple[int, int]
        ] = {}  # backward passes, and those that found some
        self._closure_sites: dict[int, SourceSpan | None] = {}

    def rest(self) -> None:
        """Forget what was used: steps that are not watched lie ahead, after which memory may have been given anew."""
        self._used.clear()
        self._suspect.clear()

    @unseen
    def after_step(self, watched: WatchedOptimizer, step: int) -> None:
        """Remember the gradients this step has used."""
        if step >= STEPS_WATCHED:
            self._used.pop(watched.index, None)
            return
        marks: Marks = {}
        for position, parameter in enumerate(watched.parameters()):
            gradient = parameter.grad
            if gradient is not None and gradient.layout is torch.strided:
                marks[position] = (gradient.data_ptr(), version_of(gradient))
                if len(marks) == PARAMETERS_WATCHED:
                    break
        self._used[watched.index] = (step, marks)
        self._clips[watched.index] = self._session.calls.counts.get("clip", 0)

    @unseen
    def before_backward(self, roots: list[torch.Tensor], frame: FrameType | None) -> None:
        """Suspect the optimizers whose used gradients are still there, untouched and not zero."""
        stepping = self._session.sentinel.open_check
        if stepping is not None and stepping.has_closure and stepping.watched is not None:
            self._in_closure(stepping.watched, frame)
            return
        for watched in self._session.sentinel.optimizers.all():
            if not watched.steps:
                self._idle.before_backward(watched, roots, frame)
            used = self._used.get(watched.index)
            if used is None or not used[1]:
                continue
            if watched.index in self._suspect:
                # What another model's backward pass has added to may have been cleared since.
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
        """Tell whether gradients were clipped after the step: that writes to them, and clears nothing."""
        clips = self._session.calls.counts.get("clip", 0)
        return clips > self._clips.get(watched.index, clips)

    def _in_closure(self, watched: WatchedOptimizer, frame: FrameType | None) -> None:
        """Count the backward passes within a step that found gradients of an earlier one."""
        seen, left = self._in_closures.get(watched.index, (0, 0))
        if seen >= CLOSURES_WATCHED:
            return
        gradients = [p.grad for p in watched.parameters() if p.grad is not None]
        found = any(bool((g != 0).any().item()) for g in gradients[:PARAMETERS_WATCHED])
        if seen and not found:
            self._cleared.add(watched.index)
        self._in_closures[watched.index] = (seen + 1, left + found)
        if not seen:
            sites = user_sites(frame, limit=1)
            self._closure_sites[watched.index] = span_of(sites[0]) if sites else None

    def _convict_closure(
        self, watched: WatchedOptimizer, step: int, frame: FrameType | None
    ) -> None:
        """A closure that found gradients at each of its calls but the first, and some: nobody ever clears them."""
        seen, left = self._in_closures.get(watched.index, (0, 0))
        if left < ENOUGH_IN_CLOSURES or left != seen - 1 or watched.index in self._times:
            return
        self._times[watched.index] = left
        sites = user_sites(frame, limit=1)
        self._session.write(
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
        """Convict when the backward really added to what was left: the same memory in a newer version."""
        if watched.index in self._in_closures:
            self._convict_closure(watched, step, frame)
        if watched.index not in self._suspect:
            return
        place = self._suspect.pop(watched.index)
        used_at, marks = self._used.get(watched.index, (0, {}))
        parameters = watched.parameters()
        added = False
        for position, (pointer, version) in marks.items():
            gradient = parameters[position].grad if position < len(parameters) else None
            added |= (
                gradient is not None
                and gradient.data_ptr() == pointer
                and version_of(gradient) > version
            )
        if not added:
            return
        times = self._times[watched.index] = self._times.get(watched.index, 0) + 1
        if times <= 4 or times & (times - 1) == 0:  # the count is told without a line per step
            sites = user_sites(frame, limit=1)
            self._session.write(
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
    """Tell whether the marked gradients are still there and not zero; `untouched`: and nobody wrote to them."""
    parameters = watched.parameters()
    kept = []
    for position, (pointer, version) in marks.items():
        gradient = parameters[position].grad if position < len(parameters) else None
        if (
            gradient is None
            or gradient.data_ptr() != pointer
            or (untouched and version_of(gradient) != version)
        ):
            return False
        kept.append(gradient)
    # `p.grad.data.zero_()` leaves no trace in the version, so the values have the last word.
    return any(bool((gradient != 0).any().item()) for gradient in kept)
