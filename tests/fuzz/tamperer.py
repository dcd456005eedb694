"""Damages the run directories of mutants, and asks every command about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.fuzz.faults.fault import Fault
from tests.fuzz.mutants import FAULTS, try_mutant
from tests.support.children import Zygote
from tests.support.damaged_runs import COMMANDS, Round, tried

# Runs with different events in them: a healthy look, a NaN with a repeated step, an exception, growing memory.
RECORDED = (
    "zero_grad left out",
    "log of a zero",
    "linear of a wrong size",
    "loss kept with its graph",
)


def record_runs(zygote: Zygote, folder: Path) -> list[Path]:
    """Run a few mutants, each with its report, and return their run directories."""
    chosen: list[Fault] = [fault for fault in FAULTS if fault.name in RECORDED]
    runs = []
    for number, fault in enumerate(chosen):
        judged = try_mutant(fault, "tampered", zygote=zygote, folder=folder / str(number))
        judged.outcome.report.store(judged.outcome.run_directory)
        runs.append(judged.outcome.run_directory)
    return runs


def tamper(runs: list[Path], *, seed: int, count: int) -> list[Round]:
    """Damage copies of the runs, one round after another."""
    return list(tried(runs, seed=seed, count=count))


def table(rounds: list[Round]) -> Iterator[str]:
    """Yield a line per command: how often it was asked, and how often the answer was not as it should be."""
    yield f"{'command':28} {'asked':>6} {'refused':>8} {'wrong':>6}"
    asked = Counter(one.command for one in rounds)
    refused = Counter(one.command for one in rounds if one.code == 2)
    wrong = Counter(one.command for one in rounds if one.problems)
    for words in COMMANDS:
        name = " ".join(word for word in words if word not in ("{run}", "--run"))
        yield f"{name:28} {asked[words]:6} {refused[words]:8} {wrong[words]:6}"
