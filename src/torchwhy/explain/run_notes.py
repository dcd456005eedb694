"""What a report says about the run itself: how it ended, what was not watched, and why."""

from __future__ import annotations

import os
import signal as signals
from collections.abc import Iterator, Sequence
from pathlib import Path

from torchwhy.finding import Finding
from torchwhy.printable import one_line
from torchwhy.record.crashes import Crash
from torchwhy.record.events import ProbeFailed, RunStarted
from torchwhy.record.run_file import BOOT_FAILURE, COMPUTED, Run
from torchwhy.record.run_folder import read_note
from torchwhy.record.trace import Trace
from torchwhy.record.writer import RECORDING_STOPPED

NO_TRAINING = (
    "no training was watched: the program used torch, but no optimizer step was seen. If it trains in processes of a "
    "pool or of `os.fork`, those are not watched."
)
COMPUTED_ONLY = (
    "no training was watched: the program used torch, but made no backward pass and no optimizer step. If it trains in "
    "processes of a pool or of `os.fork`, those are not watched. torchwhy looked at {} and found nothing in them."
)
ENDED_EARLY = "no training was watched: the program ended with exit code {}, and no optimizer step was seen before."


def broken_off(run_directory: Path, steps: int) -> Iterator[str]:
    """Yield a note if the recording stopped before the end of the run."""
    reason = read_note(run_directory / RECORDING_STOPPED)
    if reason is not None:
        reason = one_line(reason) or "is the disk full?"
        yield (
            f"the recording stopped after {steps} steps ({reason}); the rest of the run was not watched."
        )


def left_out(traces: Sequence[Trace]) -> Iterator[str]:
    """Yield a note for each part of torchwhy that is off because torch or Python lacks a private name it uses."""
    for trace in traces:
        for started in trace.of(RunStarted):
            for one in started.missing:
                if not one.only_time:
                    names = ", ".join(f"`{name}`" for name in one.names)
                    is_torchs = any("torch" in name for name in one.names)
                    whose = f"torch {started.torch}" if is_torchs else f"Python {started.python}"
                    yield f"{whose} lacks {names}: {one.lost}."


def switched_off(traces: Sequence[Trace]) -> Iterator[str]:
    """Yield a note for each probe that failed; not if a device did, of which an exception of the program tells."""
    for trace in traces:
        ended = any(trace.of(Crash))
        for failure in trace.of(ProbeFailed):
            if failure.noticed_at is None or not ended:
                yield f"the {failure.probe} failed and was switched off: {failure.reason}"


def why_no_training(run_directory: Path, run: Run) -> str:
    """Return why a run with a trace has no step."""
    if _failed_itself(run):
        return ENDED_EARLY.format(run.exit_code)
    return _computed_only(run_directory) or NO_TRAINING


def _computed_only(run_directory: Path) -> str | None:
    """Return what was looked at in a program that only computes; None if nothing was."""
    extent, _, count = (read_note(run_directory / COMPUTED) or "").strip().partition(" ")
    if not count.isdecimal():
        return None
    looked_at = f"its first {count}" if extent == "first" else f"all of its {count}"
    return COMPUTED_ONLY.format(f"{looked_at} operations")


def _failed_itself(run: Run) -> bool:
    """Tell whether the program ended by itself with an error, not by a signal."""
    return bool(run.exit_code) and run.signal is None


def shows_itself(traces: Sequence[Trace], *, steps: int) -> bool:
    """Tell whether an exit code needs no line: the traceback is on the screen, or `ENDED_EARLY` says it."""
    if traces and not steps:
        return True
    return any(not one.caught for trace in traces for one in trace.of(Crash))


def ending_of(run: Run, findings: Sequence[Finding], *, shows_itself: bool) -> Iterator[str]:
    """Yield how the program ended, unless the findings or its own traceback show it already."""
    if run.timed_out:
        yield "the program was stopped at the limit; `--limit SECONDS` gives it more."
    elif run.exit_code is None:
        yield "the run has not ended, or torchwhy was killed; the report covers what was recorded so far."
    if run.stopped_step is not None:
        option = "--on-hang" if run.stopped_for == "hang" else "--on-finding"
        after = (
            f"after step {run.stopped_step}" if run.stopped_step >= 0 else "before its first step"
        )
        yield f"torchwhy stopped the program {after}, as `{option} stop` asks."
    elif run.signal is not None:
        name = _signal_name(run.signal)
        if name == "SIGINT":
            yield "the program was interrupted from the keyboard; the report covers the run until then."
        elif name == "SIGKILL":
            yield (
                "the program was killed (SIGKILL). If you did not kill it, the system probably ran out "
                "of memory: check `dmesg`."
            )
        else:
            yield f"{name} ended the program."
    elif run.exit_code and not findings and not shows_itself:
        yield f"the program itself ended with exit code {run.exit_code}."


def _signal_name(number: int) -> str:
    try:
        return signals.Signals(number).name
    except ValueError:  # The run is from another system.
        return f"signal {number}"


def why_nothing_was_seen(run_directory: Path, run: Run) -> str:
    """Return why a run left no trace."""
    failure = boot_failure(run_directory)
    if failure is not None:
        return f"the program ran unwatched, because torchwhy could not start inside it {failure}"
    flag = isolating_flag(run.command)
    if flag is not None:
        return (
            f"the program ran unwatched, because `{flag}` makes Python ignore the environment variables "
            f"that start torchwhy; run it without `{flag}`."
        )
    if _failed_itself(run):
        return "nothing was watched: no watched Python process trained with torch before the program ended."
    computed = _computed_only(run_directory)
    if computed is not None:
        return computed
    return (
        "nothing was watched: no watched Python process trained with torch "
        "(processes of a pool or of `os.fork` are not watched)."
    )


def boot_failure(run_directory: Path) -> str | None:
    """Return why torchwhy could not start in a process of the run; None if it could."""
    path = run_directory / BOOT_FAILURE
    text = read_note(path)
    if text is None:
        return None
    lines = [line for line in text.splitlines() if line.strip()] or ["no reason is known"]
    return f"({lines[-1].strip()}); details are in {os.path.relpath(path)}."


def isolating_flag(command: Sequence[str]) -> str | None:
    """Return the flag that keeps torchwhy out of `python -I script.py`: -I, -E or -S, alone or with others."""
    if not Path(command[0]).name.startswith(("python", "pypy")):
        return None
    for word in command[1:]:
        if not word.startswith("-") or word.startswith("--") or word in ("-m", "-c", "-"):
            return None
        if set(word[1:]) & set("IES") and word[1] not in "WX":
            return word
    return None
