"""Run a program as a rehearsal of `torchwhy check`, and read its answers."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.support.children import Ended, Zygote
from torchwhy.finding import SourceSpan
from torchwhy.pipeline import diagnose
from torchwhy.question import Check
from torchwhy.record.learning import Experiment
from torchwhy.record.run_file import Run, read_traces, write_run
from torchwhy.report.model import Report

STEPS = 60
SECONDS = 40.0


@dataclass(frozen=True)
class Rehearsed:
    """What a rehearsal recorded, and what torchwhy says about it."""

    ended: Ended
    experiments: dict[str, Experiment]
    report: Report
    run_directory: Path

    def answer(self, question: str) -> dict[str, Any]:
        """Return what was measured for a question."""
        return dict(self.experiments[question].answer)

    def places(self, question: str) -> dict[str, SourceSpan]:
        """Return the places that belong to an answer."""
        return self.experiments[question].places

    def check(self, slug: str) -> Check:
        """Return the judged answer to a question."""
        return next(one for one in self.report.checks if one.question.slug == slug)

    @property
    def errors(self) -> str:
        """Return what the program wrote to stderr."""
        return (self.run_directory / "stderr").read_text(errors="replace")


def rehearse(
    text: str, *, zygote: Zygote, folder: Path | None = None, steps: int = STEPS
) -> Rehearsed:
    """Run a program for some steps, put the questions, and judge the answers."""
    folder = folder or Path(tempfile.mkdtemp(prefix="torchwhy-rehearsal-"))
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / "train.py"
    script.write_text(text)
    run_directory = folder / ".torchwhy" / "runs" / "run"
    run_directory.mkdir(parents=True)
    run = Run(
        command=(script.name,),
        directory=str(folder),
        rehearsal_steps=steps,
        rehearsal_seconds=SECONDS,
    )
    write_run(run_directory, run)
    ended = zygote.run(script, directory=folder, output=run_directory, run_directory=run_directory)
    over = replace(run, exit_code=ended.exit_code, seconds=ended.seconds, timed_out=ended.timed_out)
    write_run(run_directory, over)
    experiments = {
        one.question: one for trace in read_traces(run_directory) for one in trace.of(Experiment)
    }
    return Rehearsed(ended, experiments, diagnose(run_directory), run_directory)
