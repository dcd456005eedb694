"""Hits generated programs with a signal at a random moment: they end as without us, and a report still comes."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tests.fuzz.plan import draw
from tests.fuzz.program import names_of, write_program
from tests.support.children import Ended, Zygote
from tests.support.run_program import ONE_READS, SCRIPT
from torchwhy.pipeline import diagnose
from torchwhy.record.run_file import Run, read_traces, write_run

SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
HANDLER = "signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))"
RICHNESS = 0.5
FINISHED = 0


@dataclass(frozen=True)
class Hit:
    """What came of one program that a signal hit."""

    seed: object
    signal: signal.Signals
    handled: bool  # by the program itself
    after_seconds: float
    steps: int
    ended: Ended
    problems: list[str]

    def describe(self) -> str:
        """Return what is wrong, for a person."""
        how = " that it handles" if self.handled else ""
        return f"seed {self.seed}: {self.signal.name}{how} after {self.after_seconds:.3f} s: {self.problems}"


def hit(seed: object, *, zygote: Zygote, folder: Path) -> Hit:
    """Run the program of a seed to its end, then hit it bare and watched at the same moment."""
    chance = random.Random(f"kill {seed}")
    plan = draw(f"kill {seed}", richness=RICHNESS, workers=0)
    sent = chance.choice(SIGNALS)
    handled = sent is signal.SIGTERM and chance.random() < 0.5
    script = write_program(plan, sworn=False)
    if handled:
        script = script.after("seed", "import signal", "import sys", HANDLER)
    text = script.render(names_of(plan))
    whole = _run(text, folder / "whole", zygote=zygote, watched=False)
    when = chance.random() * whole.seconds * 1.5
    bare = _run(text, folder / "bare", zygote=zygote, watched=False, hit_by=(sent, when))
    ended = _run(text, folder / "watched", zygote=zygote, watched=True, hit_by=(sent, when))
    problems, steps = [], 0
    try:
        problems, steps = _problems(folder, ended, sent, handled=handled)
    except Exception as failure:  # An unreadable trace is what this looks for.
        problems = [f"{type(failure).__name__}: {failure}"]
    # Ctrl-C before the program's first line ends the harness, which has another exit code.
    codes = {1 if code == -signal.SIGINT else code for code in (bare.exit_code, ended.exit_code)}
    # The program's own handler comes with its first lines, which a watched process reaches later.
    is_early = handled and steps == 0 and ended.exit_code == -sent
    if FINISHED not in codes and len(codes) > 1 and not is_early:
        problems.append(f"exit code {bare.exit_code} bare, {ended.exit_code} watched")
    return Hit(seed, sent, handled, when, steps, ended, problems)


def _run(
    text: str,
    folder: Path,
    *,
    zygote: Zygote,
    watched: bool,
    hit_by: tuple[int, float] | None = None,
) -> Ended:
    run_directory = folder / "run"
    run_directory.mkdir(parents=True)
    (folder / SCRIPT).write_text(text)
    run = Run(command=(SCRIPT,), directory=str(folder))
    write_run(run_directory, run)
    ended = zygote.run(
        folder / SCRIPT,
        directory=folder,
        output=folder,
        run_directory=run_directory if watched else None,
        hit_by=hit_by,
    )
    number = -ended.exit_code if ended.exit_code < 0 else None
    code = ended.exit_code if number is None else 128 + number
    write_run(run_directory, replace(run, exit_code=code, signal=number, seconds=ended.seconds))
    return ended


def _problems(
    folder: Path, ended: Ended, sent: signal.Signals, *, handled: bool
) -> tuple[list[str], int]:
    """Return what is wrong with the trace, the report or the output, and how many steps were recorded."""
    run_directory = folder / "watched" / "run"
    with ONE_READS:
        steps = [event.step for trace in read_traces(run_directory) for event in trace.steps]
        report = diagnose(run_directory)
    problems = [
        f"{one.severity} {one.detector} at {one.location}"
        for one in report.findings
        if one.severity != "note"
    ]
    if steps != list(range(len(steps))):
        problems.append(f"steps {steps}")
    is_killed = ended.exit_code == -sent and sent is not signal.SIGINT and not handled
    if is_killed and not any(sent.name in note for note in report.all_notes):
        problems.append(f"no note of {sent.name}: {report.all_notes}")
    whole = (folder / "whole" / "stdout").read_text()
    if not whole.startswith((folder / "watched" / "stdout").read_text()):
        problems.append("it printed something else")
    return problems, len(steps)


def table(hits: list[Hit]) -> Iterator[str]:
    """Yield a line per signal: how many programs it hit, how many it ended, and with how many steps recorded."""
    yield f"{'signal':28} {'run':>5} {'ended':>6} {'no step':>8} {'steps':>6} {'wrong':>6}"
    kinds = sorted({(one.signal.name, one.handled) for one in hits})
    for name, handled in kinds:
        chosen = [one for one in hits if (one.signal.name, one.handled) == (name, handled)]
        ended = sum(one.ended.exit_code != FINISHED for one in chosen)
        before = sum(one.steps == 0 for one in chosen)
        steps, wrong = sum(one.steps for one in chosen), sum(bool(one.problems) for one in chosen)
        label = f"{name}, handled by the program" if handled else name
        yield f"{label:28} {len(chosen):5} {ended:6} {before:8} {steps:6} {wrong:6}"
