"""A read-only view of a finished, running or broken run; a torn last line is ignored, never an error."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, TypeVar, cast, get_args

import msgspec

from torchwhy.errors import TraceError
from torchwhy.plain_data import dataclass
from torchwhy.record import events as kinds
from torchwhy.record.numbers import Real, decode
from torchwhy.record.run_file import LARGEST_STEP, TRACE_NAME
from torchwhy.record.run_folder import LARGEST_TRACE, read_bounded
from torchwhy.record.step_log import recent_steps
from torchwhy.source.edits import Source

AnyOf = TypeVar("AnyOf", bound=kinds.Event)
Answer = TypeVar("Answer")
HEAD = re.compile(rb'\{"event":"([a-z-]+)"')  # as the writer writes it


@dataclass(frozen=True)
class Trace:
    """All events of one rank, in the order they happened; `rerun` is the trace of the rerun, if there is one.

    The microscope observes the beginning of the program, and again the first step of each later optimizer. A trace
    shows one observation: of the events that belong to one, `of` returns those of `observation`.
    """

    events: tuple[kinds.Event, ...]
    rank: int = 0
    rerun: Trace | None = None
    exit_code: int | None = None
    observation: int = 0
    damage: tuple[str, ...] = ()  # Sentences about parts of the recording that could not be read.
    _files: dict[str, Source] = field(default_factory=dict, repr=False, compare=False)
    _by_kind: dict[type, list[kinds.Event]] = field(default_factory=dict, repr=False, compare=False)
    # Not an argument, so that a changed copy begins without the answers of its original.
    _answers: dict[object, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def of(self, kind: type[AnyOf]) -> list[AnyOf]:
        """Return the events of one kind, oldest first; of the microscope's, those of this observation."""
        if not self._by_kind:
            for event in self.events:
                if getattr(event, "look", self.observation) == self.observation:
                    self._by_kind.setdefault(type(event), []).append(event)
        return cast("list[AnyOf]", self._by_kind.get(kind, []))

    def once(self, ask: Callable[[Trace], Answer]) -> Answer:
        """Return what a function says of this trace, asked once however many causes want to know."""
        if ask not in self._answers:
            self._answers[ask] = ask(self)
        return cast("Answer", self._answers[ask])

    def has_all(self, what: kinds.Recorded) -> bool:
        """Tell whether all operations, modules, activations or parameters of this observation were recorded."""
        return all(left.what != what for left in self.of(kinds.LeftOut))

    @property
    def files(self) -> dict[str, Source]:
        """Return the files of the program as they ran, by their names in findings, in import order."""
        if not self._files:
            for event in self.events:
                if isinstance(event, kinds.ProgramFile):
                    self._files[event.file] = Source(event.file, event.text, self._files.get)
        return self._files

    @cached_property
    def later_observations(self) -> list[Trace]:
        """Return this trace once per later observation, oldest first."""
        numbers = {getattr(event, "look", 0) for event in self.events} - {0}
        return [replace(self, observation=number, _by_kind={}) for number in sorted(numbers)]

    @cached_property
    def host(self) -> str:
        """Return the name of the machine, empty if the trace is of an older version."""
        return next((started.host for started in self.of(kinds.RunStarted)), "")

    @cached_property
    def world_size(self) -> int:
        """Return the number of ranks that trained together."""
        return next((started.world_size for started in self.of(kinds.RunStarted)), 1)

    @cached_property
    def closure_losses(self) -> dict[int, Real]:
        """Return the first loss of each step that had a closure; its `Step` was written before."""
        return {event.step: event.loss for event in self.of(kinds.ClosureRan)}

    @cached_property
    def births(self) -> list[kinds.Birth]:
        """Return the births that spoiled something, of the rerun or else of the run, in order of appearance."""
        source = self.rerun if self.rerun is not None and self.rerun.of(kinds.Birth) else self
        return sorted(
            (b for b in source.of(kinds.Birth) if b.reaches), key=lambda b: (b.step, b.order)
        )

    @cached_property
    def alarms(self) -> list[kinds.Alarm]:
        """Return the alarms of the run itself, oldest first."""
        return self.of(kinds.Alarm)

    @cached_property
    def was_cut(self) -> bool:
        """Tell whether a rehearsal ended the program before its end."""
        return any(one.cut_short for one in self.of(kinds.RunEnded))

    @cached_property
    def steps(self) -> list[kinds.Step]:
        """Return the optimizer steps, oldest first."""
        return self.of(kinds.Step)

    def losses(self, optimizer: int | None = None) -> list[float]:
        """Return one loss per step (the last of several), for one optimizer or for all."""
        return [
            decode(step.losses[-1])
            for step in self.steps
            if step.losses and (optimizer is None or step.optimizer == optimizer)
        ]

    def replay_of(self, step: int) -> kinds.Replayed | None:
        """Return how the failing step was repeated, in the rerun or else in the run itself."""
        for trace in (self.rerun, self):
            for replay in reversed(trace.of(kinds.Replayed) if trace else []):
                if replay.step == step:
                    return replay
        return None


def read_events(path: Path) -> Iterator[kinds.Event]:
    """Yield the events of one file; ignore a torn last line, raise `TraceError` for one in the middle."""
    lines = read_bounded(path, LARGEST_TRACE).split(b"\n")
    for number, line in enumerate(lines, start=1):
        if not line:
            continue
        try:
            event = decoder_for(line).decode(line)
            check_step(event)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
            if number >= len(lines) - 1:
                return
            raise TraceError(
                f"{path} line {number} is not an event of schema {kinds.SCHEMA}: {problem}. "
                "It was written by another version of torchwhy, or the file was changed.",
                slug="unreadable-trace",
            ) from problem
        yield event


def decoder_for(line: bytes) -> msgspec.json.Decoder[kinds.Event]:
    """Return the decoder of a line's kind of event; it is made when the first such line comes."""
    found = HEAD.match(line)
    return _decoder_of(None if found is None else found[1].decode())


@lru_cache(maxsize=128)
def _decoder_of(tag: str | None) -> msgspec.json.Decoder[kinds.Event]:
    kind = next((one for one in get_args(kinds.AnyEvent) if tag_of(one) == tag), None)
    return msgspec.json.Decoder(kinds.AnyEvent if kind is None else kind)


def tag_of(kind: type[kinds.Event]) -> str | int | None:
    """Return the name of a kind of event in the trace."""
    return kind.__struct_config__.tag


def check_step(event: kinds.Event) -> None:
    """Raise `msgspec.ValidationError` for an event of a step that no run has."""
    step = getattr(event, "step", 0)
    if step is not None and not kinds.BEFORE_FIRST_STEP <= step <= LARGEST_STEP:
        raise msgspec.ValidationError(f"there is no step {step}")


def read_rank(path: Path, *, exit_code: int | None = None, rerun: Path | None = None) -> Trace:
    """Return the trace in one `rankN.jsonl`, with that of the same rank in the rerun if there is one."""
    of_rerun = None
    if rerun is not None and (rerun / path.name).exists():
        of_rerun = read_rank(rerun / path.name)
    named = TRACE_NAME.fullmatch(path.name)
    events = list(read_events(path))
    last = max((event.step for event in events if isinstance(event, kinds.Step)), default=-1)
    recent, damage = recent_steps(path, last)
    return Trace(
        tuple(_with_recent_steps(events, recent)),
        rank=rank_in(events, 0 if named is None else int(named[1])),
        exit_code=exit_code,
        rerun=of_rerun,
        damage=damage,
    )


def rank_in(events: list[kinds.Event], number: int) -> int:
    """Return the rank that a process had among others; `number` is that of its file, which may have been taken."""
    started = next((event for event in events if isinstance(event, kinds.RunStarted)), None)
    return number if started is None or started.world_size == 1 else started.rank


def _with_recent_steps(events: list[kinds.Event], recent: list[kinds.Step]) -> list[kinds.Event]:
    """Return the events with the steps of the ring inserted, each before the first event of a later step."""
    if not recent:
        return events
    recorded = {event.step for event in events if isinstance(event, kinds.Step)}
    missing = [step for step in recent if step.step not in recorded]
    merged: list[kinds.Event] = []
    for event in events:
        if isinstance(event, (kinds.Step, kinds.Alarm, kinds.RunEnded)):
            now = getattr(event, "step", math.inf)
            while missing and missing[0].step < now:
                merged.append(missing.pop(0))
        merged.append(event)
    return merged + missing
