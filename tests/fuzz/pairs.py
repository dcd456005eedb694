"""Runs generated programs bare and watched, and says on what the two do not agree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tests.fuzz.plan import Plan, draw
from tests.fuzz.program import text_of
from tests.guest.pairs import Left, differences
from tests.support.children import Zygote
from tests.support.run_program import ONE_READS, SCRIPT
from torchwhy.finding import Finding
from torchwhy.pipeline import diagnose
from torchwhy.record.events import ProbeFailed
from torchwhy.record.run_file import Run, write_run

WITNESS = Path(__file__).parents[1] / "guest" / "programs" / "witness.py"
TESTIMONY = Path(__file__).parent / "beside" / "testimony.py"


@dataclass(frozen=True)
class Compared:
    """What came of one program: how the two runs differ, and what torchwhy says of the watched one."""

    seed: object
    plan: Plan
    folder: Path
    exit_code: int
    different: list[str]
    failed_probes: list[str]
    alarms: list[Finding]
    notes: list[Finding]

    @property
    def is_good(self) -> bool:
        """Tell whether nothing of it needs a look."""
        ended = self.exit_code == 0
        return ended and not (self.different or self.failed_probes or self.alarms)

    def describe(self) -> str:
        """Return what is wrong, for a person."""
        lines = [
            f"seed {self.seed}: {self.plan.describe()}",
            f"  {self.folder / 'watched' / SCRIPT}",
        ]
        if self.exit_code != 0:
            lines.append(f"  exit code {self.exit_code} bare")
        lines += [f"  differs: {one}" for one in self.different]
        lines += [f"  probe failed: {one}" for one in self.failed_probes]
        lines += [
            f"  {one.severity} {one.detector} at {one.location}: {one.message}"
            for one in self.alarms
        ]
        return "\n".join(lines)


def compare(seed: object, *, zygote: Zygote, folder: Path, richness: float = 1.0) -> Compared:
    """Run the program of a seed twice and compare."""
    plan = draw(seed, richness=richness)
    text = text_of(plan, sworn=True)
    bare = _run(text, folder / "bare", zygote=zygote, watched=False)
    watched = _run(text, folder / "watched", zygote=zygote, watched=True)
    with ONE_READS:
        report = diagnose(watched.folder / "run")
        failed = [str(event) for event in watched.events if isinstance(event, ProbeFailed)]
    return Compared(
        seed=seed,
        plan=plan,
        folder=folder,
        exit_code=bare.ended.exit_code,
        different=differences(bare, watched, swears=bare.ended.exit_code == 0),
        failed_probes=failed + [note for note in report.all_notes if "failed and was" in note],
        alarms=[one for one in report.findings if one.severity != "note"],
        notes=[one for one in report.findings if one.severity == "note"],
    )


def _run(text: str, folder: Path, *, zygote: Zygote, watched: bool) -> Left:
    run_directory = folder / "run"
    run_directory.mkdir(parents=True)
    script = folder / SCRIPT
    script.write_text(text)
    for beside in (WITNESS, TESTIMONY):
        (folder / beside.name).write_text(beside.read_text())
    run = Run(command=(SCRIPT,), directory=str(folder))
    write_run(run_directory, run)
    ended = zygote.run(
        script, directory=folder, output=folder, run_directory=run_directory if watched else None
    )
    write_run(run_directory, replace(run, exit_code=ended.exit_code, seconds=ended.seconds))
    return Left(ended, folder)


def table(compared: list[Compared]) -> Iterator[str]:
    """Yield a table: each choice of the programs, how many had it, and what went wrong with them."""
    yield f"{'programs with':28} {'run':>5} {'bits':>5} {'alarm':>6} {'probe':>6} {'died':>5}"
    for label in ("all", *sorted({label for one in compared for label in _labels(one.plan)})):
        chosen = [one for one in compared if label == "all" or label in _labels(one.plan)]
        yield (
            f"{label:28} {len(chosen):5} {_count(chosen, 'different'):5}"
            f" {_count(chosen, 'alarms'):6} {_count(chosen, 'failed_probes'):6}"
            f" {sum(one.exit_code != 0 for one in chosen):5}"
        )


def _count(chosen: list[Compared], what: str) -> int:
    return sum(bool(getattr(one, what)) for one in chosen)


def _labels(plan: Plan) -> set[str]:
    shown = ("task", "style", "loop", "optimizer", "scheduler", "sampler", "autocast", "average")
    return {f"{name} {getattr(plan, name)}" for name in shown} | {
        name
        for name in (
            "compiled",
            "checkpointed",
            "own_function",
            "two_optimizers",
            "frozen",
            "double",
        )
        if getattr(plan, name)
    }
