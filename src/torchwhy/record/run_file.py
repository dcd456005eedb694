"""run.json: the command, its options, and how it ended. The launcher writes it, all stages read it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torchwhy.errors import TraceError

if TYPE_CHECKING:
    from torchwhy.record.trace import Trace

RUN_SCHEMA = 1
BOOT_FAILURE = "boot-failure.txt"  # Beside run.json: why torchwhy could not start in a process.


@dataclass(frozen=True)
class Run:
    """One run of the user's command; `rerun_step` is set if it is a rerun up to that step.

    A trial of a fix starts with the seeds of another run, `seeds_from`, and ends after `stop_after_step`. `exit_code`
    is None while it runs, then as in a shell: 128 + n after signal n.
    """

    command: tuple[str, ...]
    directory: str
    on_failure: str = "stop"
    budget: float | None = None
    hash_seed: int | None = None
    rerun_step: int | None = None
    seeds_from: str | None = None
    stop_after_step: int | None = None
    exit_code: int | None = None
    signal: int | None = None
    seconds: float | None = None
    timed_out: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the content of run.json."""
        facts: dict[str, Any] = {
            "schema": RUN_SCHEMA,
            "command": list(self.command),
            "directory": self.directory,
            "options": {"on_failure": self.on_failure},
            "hash_seed": self.hash_seed,
            "rerun": None if self.rerun_step is None else {"step": self.rerun_step},
        }
        if self.seeds_from is not None:
            facts["seeds_from"] = self.seeds_from
        if self.budget is not None:
            facts["options"]["budget"] = self.budget
        if self.stop_after_step is not None:
            facts["options"]["stop_after_step"] = self.stop_after_step
        if self.exit_code is not None:
            facts["exit_code"] = self.exit_code
            facts["signal"] = self.signal
            facts["seconds"] = self.seconds
            facts["timed_out"] = self.timed_out
        return facts


def write_run(run_directory: Path, run: Run) -> None:
    """Write run.json atomically."""
    unfinished = run_directory / "run.json.new"
    unfinished.write_text(json.dumps(run.to_json(), indent=1) + "\n", encoding="utf8")
    unfinished.replace(run_directory / "run.json")


def read_run(run_directory: Path) -> Run:
    """Return the content of run.json."""
    path = run_directory / "run.json"
    try:
        facts = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise TraceError(
            f"{run_directory} is not a recorded run: it has no run.json.", slug="unknown-run"
        ) from None
    except (OSError, ValueError) as problem:
        raise TraceError(f"{path} cannot be read: {problem}.", slug="unreadable-trace") from problem
    if not isinstance(facts, dict) or facts.get("schema") != RUN_SCHEMA:
        raise TraceError(
            f"{path} was written by another version of torchwhy.", slug="unreadable-trace"
        )
    rerun = facts.get("rerun") or {}
    return Run(
        command=tuple(facts["command"]),
        directory=facts["directory"],
        on_failure=facts.get("options", {}).get("on_failure", "stop"),
        budget=facts.get("options", {}).get("budget"),
        hash_seed=facts.get("hash_seed"),
        rerun_step=rerun.get("step"),
        seeds_from=facts.get("seeds_from"),
        stop_after_step=facts.get("options", {}).get("stop_after_step"),
        exit_code=facts.get("exit_code"),
        signal=facts.get("signal"),
        seconds=facts.get("seconds"),
        timed_out=facts.get("timed_out", False),
    )


def read_traces(run_directory: Path) -> list[Trace]:
    """Return the trace of every rank, in the order of the ranks, each with its rerun if there is one."""
    from torchwhy.record.trace import (
        read_rank,  # This import takes 40 ms, which `torchwhy --help` does not need.
    )

    exit_code = read_run(run_directory).exit_code
    rerun = run_directory / "rerun"
    traces = [
        read_rank(path, exit_code=exit_code, rerun=rerun if rerun.is_dir() else None)
        for path in run_directory.glob("rank*.jsonl")
    ]
    return sorted(traces, key=lambda trace: trace.rank)
