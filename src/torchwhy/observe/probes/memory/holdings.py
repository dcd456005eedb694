"""Counts the tensors that the program's variables hold, at few moments; at all other steps this costs one comparison.

The moments are steps 2, 4, 8, …, long stretches of batches without a step, calls that free memory, and the end.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, Literal

import torch

from torchwhy.observe.hooks import Hooks
from torchwhy.observe.probes.memory.chains import Chains
from torchwhy.observe.probes.memory.holders import (
    Count,
    Holder,
    Search,
    base_of,
    count_in,
    grad_fn,
    graph_parts,
    is_tensor,
    items_of,
    user_frames,
)
from torchwhy.observe.program.frames import Site, span_of
from torchwhy.observe.recorder import Recorder
from torchwhy.observe.steps.training_state import TrainingState
from torchwhy.observe.torch_features.autograd_nodes import next_node_number
from torchwhy.observe.torch_features.compiler import shown_as
from torchwhy.observe.torch_features.interpreter import frame_at
from torchwhy.observe.torch_features.mode_stack import unseen
from torchwhy.record.learning import Held, Holdings, RunningFrame
from torchwhy.source.files import layer_of, shown_path

FIRST_STEP = 2
FIRST_BATCH = 4  # batches after the last step, from which on they count as a stretch without steps
EMPTIED = ("cuda", "mps", "xpu", "accelerator")  # modules of torch with a cache of memory
MANY_VARIABLES = 1500  # a look at more, in a large model, is repeated at four times the distance
FIRST_CALLS = 3  # calls of gc.collect() after each of which we look; later at doubling counts
MOST_TOLD = 24  # variables in one event, those that grew most first
FEW = 8  # tensors with a graph, up to which each one in a collection is followed separately
LARGE_BYTES = 1_000_000  # held bytes from which a collection is suspect although it did not grow
SAME_SIZE = 1000  # a collection this long whose length did not change is not counted again

Moment = Literal["step", "batch", "collect", "exit"]
Key = tuple[str, str | None]


class HoldingsProbe:
    """Counts what is held, and compares with the last count."""

    def __init__(
        self, recorder: Recorder, state: TrainingState, protect: Callable[..., Any]
    ) -> None:
        self.next_step: float = FIRST_STEP
        self._recorder = recorder
        self._state = state
        self._look_after_step = protect("holdings probe", self._look_at_step)
        self._mark: int | None = None
        self._visited = 0  # variables and parts of objects at the last look
        self._stretch = -1
        self._stretch_began = 0
        self._stretch_mark: int | None = None
        self._calls = 0
        self._next_call = 1
        self._last: dict[Key, tuple[int, Count]] = {}
        self._told: set[Key] = set()
        self._grown: set[Key] = set()

    def install(self, hooks: Hooks, protect: Callable[..., Any]) -> None:
        """Notice `gc.collect()`, `torch.cuda.empty_cache()` and its like of other accelerators."""
        note = protect("holdings probe", self._freed)
        hooks.replace_function(gc, "collect", _noting(gc.collect, note))
        for name in EMPTIED:
            place: Any = getattr(torch, name, None)
            if hasattr(place, "empty_cache"):
                hooks.replace_function(place, "empty_cache", _noting(place.empty_cache, note))

    def stepped(self, step: int) -> None:
        """Look at what is held after `step` steps; called from `next_step` on."""
        self.next_step = 2 * step
        self._look_after_step(step)

    def _look_at_step(self, step: int) -> None:
        self._mark = self._mark if self._mark is not None else next_node_number()
        self._look("step", frame_at(1), mark=self._mark)
        if step > FIRST_STEP and self._visited > MANY_VARIABLES:
            self.next_step = 4 * step

    def drawn(self, batches: int) -> float:
        """Look after many batches without a step, perhaps an evaluation; return the batch of the next look."""
        step = self._state.step
        if step != self._stretch:
            self._stretch, self._stretch_began, self._stretch_mark = step, batches, None
            return batches + FIRST_BATCH
        if self._stretch_mark is None:
            self._stretch_mark = next_node_number()
        since = batches - self._stretch_began
        self._look("batch", frame_at(1), mark=self._stretch_mark, batches=since)
        return batches + since

    def at_exit(self) -> None:
        """Look at what the modules of the program still hold."""
        if self._calls or self._state.step:
            mark = next_node_number() if self._mark is None else self._mark
            self._look("exit", None, mark=mark)

    def _freed(self, frame: FrameType) -> None:
        """The program just tried to free memory: look at what it still refers to."""
        self._calls += 1
        if self._calls < self._next_call:
            return
        self._next_call = self._calls + 1 if self._calls < FIRST_CALLS else self._calls * 2
        self._look("collect", frame, mark=next_node_number())

    @unseen
    def _look(
        self, moment: Moment, frame: FrameType | None, *, mark: int, batches: int = 0
    ) -> None:
        if self._state.frozen:
            return
        look = _Look(self, moment, frame, mark=mark)
        held = look.take()
        self._visited = look.search.visited
        call = next(user_frames(frame), None) if moment == "collect" else None
        if held or moment in ("step", "batch"):
            self._recorder.write(
                Holdings(
                    step=self._state.step,
                    held=held,
                    resident_bytes=resident_bytes(),
                    frames=look.frames if any(one.is_suspect for one in held) else [],
                    moment=moment,
                    batches=batches,
                    call=None if call is None else span_of(Site(call.f_code, call.f_lasti)),
                    calls=self._calls,
                    backwards=self._state.backwards,
                )
            )

    def counted(self, holder: Holder) -> Count:
        """Count a collection, or take the last count where its length is the same and counting is long."""
        base = base_of(holder.value)
        length = 0 if base is None else base.__len__(holder.value)  # type: ignore[attr-defined]
        known = self._last.get(key_of(holder))
        if known is not None and known[0] == length >= SAME_SIZE:
            return known[1]
        return count_in(holder.value)

    def grew(self, holder: Holder, count: Count) -> int:
        """Remember a count and return by how many tensors it is larger than the last."""
        base = base_of(holder.value)
        length = 0 if base is None else base.__len__(holder.value)  # type: ignore[attr-defined]
        before = self._last.get(key_of(holder))
        self._last[key_of(holder)] = (length, count)
        return count.tensors - before[1].tensors if before is not None else 0

    def is_news(self, holder: Holder, grown: int) -> bool:
        """Tell whether a count belongs into the trace: the first of a variable, and all once it has changed."""
        key = key_of(holder)
        first = key not in self._told
        self._told.add(key)
        if grown:
            self._grown.add(key)
        return first or key in self._grown


class _Look:
    """One count: the frames, the search, and what to record."""

    def __init__(
        self, probe: HoldingsProbe, moment: Moment, frame: FrameType | None, *, mark: int
    ) -> None:
        self._probe = probe
        self._moment = moment
        self._frame = frame
        self._chains = Chains(mark)
        self.search = Search()

    def take(self) -> list[Held]:
        """Return the variables to tell of, those that grew most first."""
        found: list[tuple[int, Held]] = []
        for holder in self.search.holders(self._frame):
            try:
                found += self._measured(holder)
            except (AttributeError, RuntimeError, TypeError, ValueError):
                continue  # another thread changes the collection while we count, or it is not what it seems
        found.sort(key=lambda pair: -pair[0])
        return [held for _, held in found[:MOST_TOLD]]

    def _measured(self, holder: Holder) -> list[tuple[int, Held]]:
        if is_tensor(holder.value):
            return self._summed(holder)
        count = self._probe.counted(holder)
        if not count.tensors:
            return []
        found = []
        if 0 < count.with_graph <= FEW:
            for name, item in items_of(holder.value):
                if is_tensor(item):
                    part = Holder(
                        f"{holder.name}[{name!r}]", item, holder.function, holder.code, holder.file
                    )
                    found += self._summed(part)
        grown = self._probe.grew(holder, count)
        is_large = self._moment == "collect" and count.bytes >= LARGE_BYTES
        if self._probe.is_news(holder, grown) or is_large:
            found.append((grown, _held(holder, count, is_suspect=grown > 0 or is_large)))
        return found

    def _summed(self, holder: Holder) -> list[tuple[int, Held]]:
        """Return a tensor whose graph reaches back to the first look, which no step's own graph does."""
        root = grad_fn(holder.value)
        links = 0 if root is None else self._chains.links(root)
        if not links:
            return []
        count = Count()
        count.add(holder.value)
        return [(links, _held(holder, count, is_suspect=True, links=links))]

    @property
    def frames(self) -> list[RunningFrame]:
        """Return where the program is, the innermost frame first."""
        return [
            RunningFrame(
                file=shown_path(frame.f_code.co_filename),
                line=frame.f_lineno,
                function=frame.f_code.co_name,
                first_line=frame.f_code.co_firstlineno,
            )
            for frame in user_frames(self._frame)
        ]


def _held(holder: Holder, count: Count, *, is_suspect: bool, links: int = 0) -> Held:
    return Held(
        name=holder.name,
        kind=holder.kind,
        tensors=count.tensors,
        with_graph=count.with_graph,
        bytes=count.bytes,
        graph_nodes=links,
        function=holder.function,
        file=None if holder.file is None else shown_path(holder.file),
        first_line=None if holder.code is None else holder.code.co_firstlineno,
        is_suspect=is_suspect,
        parts=graph_parts(holder.value) if is_suspect and count.with_graph else [],
    )


def key_of(holder: Holder) -> Key:
    """Return what makes a variable the same one at the next look."""
    return holder.name, holder.function


def resident_bytes() -> int:
    """Return the memory of this process that is in use now; its peak where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_bytes().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


def _noting(function: Callable[..., Any], note: Callable[..., object]) -> Callable[..., Any]:
    def noting(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        frame = frame_at(1)
        if layer_of(frame.f_code.co_filename) == "user":
            note(frame)
        return result

    noting.__name__ = function.__name__
    noting.__doc__ = function.__doc__
    return shown_as(noting, function)
