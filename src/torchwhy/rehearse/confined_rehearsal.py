"""The rehearsal of a program, and the runs with one thing changed that answer further questions.

Every run is confined: nothing of the user's is written. At most two of them run at a time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import msgspec

from torchwhy.confine.confined_run import FileProtectedError, refused_path, run_again
from torchwhy.plain_data import dataclass
from torchwhy.record.learning import Experiment
from torchwhy.record.run_file import Run, read_traces, write_run
from torchwhy.record.trace import Trace
from torchwhy.record.writer import append_event

AT_A_TIME = 2

Show = Callable[[str], None]


@dataclass(frozen=True)
class Stage:
    """What all runs of one check share; `show` is told, a few times a second, what is going on."""

    run_directory: Path
    run: Run
    deadline: float
    show: Show

    @property
    def seconds_left(self) -> float:
        """Return how long further runs may take."""
        return max(0.0, self.deadline - time.monotonic())

    def launch(self, place: Path, run: Run, resumed: Path | None = None) -> Run:
        """Run the program once in scratch folders, recording into `place`."""
        place.mkdir(parents=True, exist_ok=True)
        return run_again(
            place,
            run,
            first=None,
            limit_seconds=self.seconds_left,
            progress=lambda _: self.show("running it with one thing changed"),
            resumed=resumed,
        )

    def variant(self, **changes: object) -> Run:
        """Return the program again with the seeds of the rehearsal, and with changes."""
        plain = Run(
            command=self.run.command,
            directory=self.run.directory,
            hash_seed=self.run.hash_seed,
            seeds_from=str(self.run_directory),
            keeps_data=self.run.keeps_data,
            allow=self.run.allow,
        )
        return replace(plain, **changes)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Rehearsed:
    """The trace of a rehearsal that ended, and how long its training took, without the questions after it."""

    trace: Trace
    seconds: float

    @property
    def steps(self) -> int:
        """Return how many steps were made."""
        return max((step.step for step in self.trace.steps), default=-1) + 1


Question = Callable[[Stage, Rehearsed], Experiment]


def rehearse(stage: Stage) -> Run:
    """Run the program as its rehearsal; return the run as it ended, under its own name and directory.

    Raise `FileProtectedError` if it cannot run without writing a file of the user.
    """
    run, place = stage.run, stage.run_directory
    ended = run_again(
        place,
        run,
        first=None,
        limit_seconds=stage.seconds_left,
        progress=lambda _: stage.show("rehearsing"),
    )
    ended = replace(ended, command=run.command, directory=run.directory)
    if ended.timed_out:  # It was torchwhy that ended it.
        ended = replace(ended, exit_code=None, signal=None)
    write_run(place, ended)
    refused = refused_path(place)
    if refused is not None and ended.exit_code:
        raise FileProtectedError(refused, changed=False)
    return ended


def ask_by_further_runs(stage: Stage, ended: Run, questions: Mapping[str, Question]) -> None:
    """Put the questions that need further runs, two at a time, and append the answers to the trace."""
    traces = read_traces(stage.run_directory)
    if not traces:
        return
    trace = traces[0]
    path = stage.run_directory / f"rank{trace.rank}.jsonl"
    reason = _why_not(traces, ended)
    if reason is not None:
        for slug in questions:
            append_event(path, Experiment(step=0, question=slug, answer={"refused": reason}))
        return
    asking = sum(one.seconds for one in trace.of(Experiment))
    rehearsed = Rehearsed(trace, max(0.0, (ended.seconds or 0.0) - asking))
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        asked = {
            slug: pool.submit(_timed, question, stage, rehearsed)
            for slug, question in questions.items()
        }
        for slug, answer in asked.items():
            try:
                event = answer.result()
            except (OSError, FileProtectedError) as problem:
                event = Experiment(step=0, question=slug, answer={"refused": str(problem)})
            append_event(path, event)


def _timed(question: Question, stage: Stage, rehearsed: Rehearsed) -> Experiment:
    began = time.monotonic()
    answer = question(stage, rehearsed)
    return msgspec.structs.replace(answer, seconds=round(time.monotonic() - began, 2))


def _why_not(traces: Sequence[Trace], ended: Run) -> str | None:
    """Return why no further run would tell anything."""
    if len(traces) > 1:
        return "the program trains in several processes"
    if traces[0].alarms or ended.exit_code:
        return "the rehearsal broke"
    if ended.timed_out:
        return "the rehearsal took all the time"
    return None if traces[0].steps else "no optimizer step was seen"
