"""What watching costs a whole program: CPU seconds of all processes, bare and under `torchwhy run`, in turns.

    python benchmarks/whole.py [--pairs 3] [--only gan reinforce]

Start-up, launcher and report included. *ratio* is the median over the pairs. *stall* is the step that watching
lengthens most, each step compared with the same step of the bare run, in seconds and in usual steps; goal: at most
0.3 s or five usual steps. *said* is what the report says that watching took; goal: within a fifth of the difference.
`empty` is `import torch` and nothing else: what a run costs before it has done anything. Prints a Markdown table. The
programs take 5 to 25 s on an idle core, a third of them less than 8 s; one pair of each about eight minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = Path(__file__).resolve().parent / "whole_programs"
EMPTY = "empty"
MOST_SECONDS, MOST_STEPS = 0.3, 5.0  # of a stall
RIGHT = 0.2  # share of the difference by which *said* may be off
NAMES = [EMPTY, *sorted(path.stem for path in PROGRAMS.glob("*.py") if path.stem != "laps")]


@dataclass(frozen=True)
class Run:
    """One process tree: its CPU seconds, those of each step, and what the report says."""

    seconds: float
    steps: list[float]
    said: float | None = None


def run_once(name: str, *, watched: bool) -> Run:
    """Run a program once in an empty directory."""
    with tempfile.TemporaryDirectory() as folder:
        script = PROGRAMS / f"{name}.py"
        if name == EMPTY:
            script = Path(folder, "empty.py")
            script.write_text("import torch\n")
        laps = Path(folder, "laps.json")
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "LAPS": str(laps)}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
        environment["TORCHINDUCTOR_CACHE_DIR"] = str(Path(folder, "compiled"))  # cold in every run
        start = [sys.executable, *(["-m", "torchwhy", "run"] if watched else []), str(script)]
        with Path(folder, "output.txt").open("w") as output:
            child = subprocess.Popen(
                start, cwd=folder, env=environment, stdout=output, stderr=output
            )
            _, status, usage = os.wait4(child.pid, 0)
        if status:
            raise RuntimeError(
                f"{name} ended with {status}: {Path(folder, 'output.txt').read_text()}"
            )
        steps = json.loads(laps.read_text()) if laps.exists() else []
        return Run(usage.ru_utime + usage.ru_stime, steps, _said(folder) if watched else None)


def _said(folder: str) -> float | None:
    """Return the seconds that the report says watching took."""
    for report in Path(folder, ".torchwhy", "runs").glob("*/report.json"):
        cost = json.loads(report.read_text()).get("cost")
        return None if cost is None else float(cost["own_seconds"])
    return None


def measure(name: str, pairs: int) -> tuple[str, tuple[float, bool] | None]:
    """Return one row of the table; and for a program that is not empty, the ratio, and whether *said* is right."""
    runs = []
    for turn in range(pairs):
        order = (False, True) if turn % 2 else (True, False)
        both = {watched: run_once(name, watched=watched) for watched in order}
        runs.append((both[False], both[True]))
    median = statistics.median
    bare = median(one.seconds for one, _ in runs)
    more = median(two.seconds - one.seconds for one, two in runs)
    ratio = median(two.seconds / one.seconds for one, two in runs)
    said = [two.said for _, two in runs if two.said is not None]
    cells = [f"{bare:.1f} s", f"{more:.2f} s", f"{median(said):.2f} s" if said else "–"]
    cells += [f"{ratio:.3f}" if name != EMPTY else "–", *_stall(runs)]
    is_right = bool(said) and abs(median(said) - more) <= RIGHT * abs(more)
    row = f"| {name} | " + " | ".join(cells) + " |"
    return row, None if name == EMPTY else (ratio, is_right)


def _stall(runs: list[tuple[Run, Run]]) -> list[str]:
    """Return the usual step and the largest stall, each step's stall being the smallest of the pairs."""
    usual = [statistics.median(one.steps) for one, _ in runs if one.steps]
    if not usual:
        return ["–", "–", "–"]
    per_pair = [[b - a for a, b in zip(one.steps, two.steps, strict=True)] for one, two in runs]
    stalls = [min(column) for column in zip(*per_pair, strict=True)]
    worst, step = max(stalls), statistics.median(usual)
    is_fine = worst <= max(MOST_SECONDS, MOST_STEPS * step)
    place = f"{worst:.2f} s at {stalls.index(worst)}{'' if is_fine else ' (!)'}"
    return [f"{step * 1e3:.1f} ms", place, f"{worst / step:.1f}"]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=3, help="runs of each kind (default: 3)")
    parser.add_argument("--only", nargs="*", default=NAMES, choices=NAMES, metavar="NAME")
    arguments = parser.parse_args()
    print("| program | bare | watched more | said | ratio | step | stall | in steps |")
    print("|---|---|---|---|---|---|---|---|")
    found = []
    for name in arguments.only:
        row, judged = measure(name, arguments.pairs)
        print(row, flush=True)
        found += [] if judged is None else [judged]
    if found:
        ratios = [ratio for ratio, _ in found]
        right = sum(is_right for _, is_right in found)
        print(f"\nmedian {statistics.median(ratios):.3f}, worst {max(ratios):.3f}; ", end="")
        print(f"*said* is within a fifth of the difference in {right} of {len(found)} rows")


if __name__ == "__main__":
    main()
