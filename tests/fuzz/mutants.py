"""Puts faults into healthy programs, runs them, and counts which torchwhy names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.fuzz.faults import errors, learning, numbers, wiring
from tests.fuzz.faults.fault import Fault, Mutant, mutate
from tests.support.children import Zygote
from tests.support.run_program import Outcome, ProgramText, run_program, spell

FAULTS: tuple[Fault, ...] = (*wiring.FAULTS, *errors.FAULTS, *numbers.FAULTS, *learning.FAULTS)
# In this order a table shows them: the root cause is right; its line is not; it is told, but another one is the root;
# nothing is told; something else is told.
VERDICTS = ("named", "line", "second", "missed", "wrong")


@dataclass(frozen=True)
class Judged:
    """What torchwhy said of a mutant."""

    mutant: Mutant
    outcome: Outcome
    verdict: str

    def describe(self) -> str:
        """Return what is wrong, for a person."""
        expected = " or ".join(sorted(map(spell, self.mutant.expected)))
        script = self.outcome.run_directory.parents[2] / "train.py"
        found = spell(self.outcome.root)
        return f"{self.verdict}: {self.mutant.fault.name} {self.mutant.seed}: {found}, not {expected}\n  {script}"


def try_mutant(fault: Fault, seed: object, *, zygote: Zygote, folder: Path) -> Judged:
    """Run the mutant of a seed and judge the answer."""
    mutant = mutate(fault, seed)
    folder.mkdir(parents=True)
    program = ProgramText(f"{fault.name}-{seed}", mutant.text, rehearsed=fault.checked)
    outcome = run_program(program, zygote=zygote, folder=folder)
    return Judged(mutant, outcome, verdict_on(mutant, outcome))


def verdict_on(mutant: Mutant, outcome: Outcome) -> str:
    """Say how good an answer is."""
    told = {
        (one.detector, one.location.line if one.location else None)
        for one in outcome.report.findings
    }
    right = {cause for cause, _ in mutant.expected}
    if outcome.root in mutant.expected:
        return "named"
    if outcome.root is None:
        return "named" if told & mutant.expected else "missed"
    if outcome.root[0] in right:
        return "line"
    return "second" if told & mutant.expected else "wrong"


def table(judged: list[Judged]) -> Iterator[str]:
    """Yield a line per fault: how many mutants were judged how, and what was said instead."""
    yield f"{'fault':38} {'run':>4} " + " ".join(f"{verdict:>7}" for verdict in VERDICTS)
    for name in ("all", *dict.fromkeys(one.mutant.fault.name for one in judged)):
        chosen = [one for one in judged if name in ("all", one.mutant.fault.name)]
        counts = Counter(one.verdict for one in chosen)
        others = Counter(
            one.outcome.root[0]
            for one in chosen
            if one.verdict in ("second", "wrong") and one.outcome.root is not None
        )
        said = ", ".join(f"{cause} {count}" for cause, count in others.most_common(3))
        numbers_shown = " ".join(f"{counts[verdict] or '':>7}" for verdict in VERDICTS)
        yield f"{name:38} {len(chosen):4} {numbers_shown}  {said if name != 'all' else ''}".rstrip()
