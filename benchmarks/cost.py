"""What watching costs: the same loops bare, under torchwhy and under its rivals, in one interleaved run.

    python benchmarks/cost.py [--rounds 15] [--workloads tiny mlp]

One process per contestant; they take turns in short stretches, so that a slow minute of the machine hits all of
them alike. Thread-CPU time; the first stretch (microscope, warm-up) is told apart. `bare again` is a second bare
process: what it differs from the first is the noise. `no C` is torchwhy without its accelerator. Transformers'
DebugUnderflowOverflow takes part where it is installed. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from torchwhy.observe import launch
from torchwhy.record.run_file import write_run

HERE = Path(__file__).resolve().parent
VARIANTS = ("bare", "bare again", "torchwhy", "torchwhy, no C", "detect_anomaly") + (
    ("DebugUnderflowOverflow",) if find_spec("transformers") else ()
)
STEPS = {"tiny": 200, "tiny-fused": 200, "mlp": 20, "cnn": 4, "gpt": 2, "lstm": 4}
WARM_UP = {"tiny": 300, "tiny-fused": 300, "mlp": 60, "cnn": 30, "gpt": 30, "lstm": 30}


class Contestant:
    """A process that trains when told."""

    def __init__(self, workload: str, variant: str, folder: Path) -> None:
        environment = dict(os.environ, OMP_NUM_THREADS="1")
        if variant.startswith("torchwhy"):
            folder /= variant
            folder.mkdir()
            run = launch.describe_run(["benchmark"], on_failure="stop")
            write_run(folder, run)
            environment = {**launch.child_environment(folder, run), "OMP_NUM_THREADS": "1"}
            environment["TORCHWHY_NATIVE"] = "1" if variant == "torchwhy" else "0"
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "workloads.py"), workload, variant],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )

    def train(self, steps: int) -> float:
        """Return the thread-CPU seconds per step of a stretch."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{steps}\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline()) / steps

    def end(self) -> None:
        """Let it go."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def measure(workload: str, rounds: int) -> str:
    """Return one row of the table."""
    with tempfile.TemporaryDirectory() as folder:
        contestants = {v: Contestant(workload, v, Path(folder)) for v in VARIANTS}
        first = {v: c.train(1) for v, c in contestants.items()}
        for contestant in contestants.values():
            contestant.train(WARM_UP[workload])
        times: dict[str, list[float]] = {v: [] for v in VARIANTS}
        for turn in range(rounds):
            order = VARIANTS if turn % 2 else VARIANTS[::-1]
            for variant in order:
                times[variant].append(contestants[variant].train(STEPS[workload]))
        trace = sum(path.stat().st_size for path in Path(folder, "torchwhy").glob("rank*.jsonl"))
        for contestant in contestants.values():
            contestant.end()
    bare = statistics.median(times["bare"])
    cells = [f"{bare * 1e3:.2f} ms"]
    for variant in VARIANTS[1:]:
        ratios = sorted(t / b for t, b in zip(times[variant], times["bare"], strict=True))
        middle = statistics.median(ratios)
        cells.append(
            f"{middle:.3f} ({ratios[len(ratios) // 4]:.3f}…{ratios[3 * len(ratios) // 4]:.3f})"
        )
    steps = 1 + WARM_UP[workload] + rounds * STEPS[workload]
    cells += [f"{(first['torchwhy'] - first['bare']) / bare:.1f}", f"{trace / steps:.0f}"]
    return f"| {workload} | " + " | ".join(cells) + " |"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--workloads", nargs="*", default=list(STEPS))
    arguments = parser.parse_args()
    columns = " | ".join(VARIANTS[1:])
    print(
        f"| workload | bare step | {columns} | first step, in bare steps more | trace bytes/step |"
    )
    print("|---" * (len(VARIANTS) + 3) + "|")
    for workload in arguments.workloads:
        print(measure(workload, arguments.rounds), flush=True)


if __name__ == "__main__":
    main()
