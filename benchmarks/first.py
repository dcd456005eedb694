"""What the first step costs under the microscope: pairs of fresh processes, bare and watched, in turns.

    python benchmarks/first.py [--pairs 9] [--workloads tiny mlp]

Thread-CPU time of the first and the second step, and of an ordinary one; medians over the pairs. A process has only
one first step, and its caches are cold, so single measurements differ by half. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from torchwhy.observe import launch
from torchwhy.record.run import write_run

HERE = Path(__file__).resolve().parent
STEPS = {"tiny": 300, "tiny-fused": 300, "mlp": 30, "cnn": 4, "gpt": 4, "lstm": 6}
CHILD = """
import sys, time
sys.path.insert(0, sys.argv[1])
import torch, workloads
torch.set_num_threads(1)
torch.manual_seed(0)
step = workloads.WORKLOADS[sys.argv[2]]()
for _ in range(int(sys.argv[3])):
    began = time.thread_time()
    step()
    print(time.thread_time() - began)
"""


def times_of(workload: str, *, watched: bool) -> list[float]:
    """Return the seconds of every step of one process."""
    environment = dict(os.environ)
    with tempfile.TemporaryDirectory() as folder:
        if watched:
            run = launch.describe_run(["benchmark"], on_failure="stop")
            write_run(Path(folder), run)
            environment = launch.child_environment(Path(folder), run)
        environment["OMP_NUM_THREADS"] = "1"
        command = [sys.executable, "-c", CHILD, str(HERE), workload, str(STEPS[workload])]
        output = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True
        ).stdout
    return [float(line) for line in output.split()]


def measure(workload: str, pairs: int) -> str:
    """Return one row of the table."""
    bare, watched = [], []
    for _ in range(pairs):
        bare.append(times_of(workload, watched=False))
        watched.append(times_of(workload, watched=True))
    median = statistics.median
    usual = median(median(times[len(times) // 2 :]) for times in bare)
    first = [median(times[0] for times in runs) for runs in (bare, watched)]
    second = median(times[1] for times in watched)
    more = (first[1] - first[0]) / usual
    cells = (usual, first[0], first[1], second)
    return (
        f"| {workload} | "
        + " | ".join(f"{cell * 1e3:.1f} ms" for cell in cells)
        + f" | {more:.1f} |"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--workloads", nargs="*", default=list(STEPS))
    arguments = parser.parse_args()
    print(
        "| workload | bare step | first, bare | first, watched | second, watched | first, in bare steps more |"
    )
    print("|---|---|---|---|---|---|")
    for workload in arguments.workloads:
        print(measure(workload, arguments.pairs), flush=True)


if __name__ == "__main__":
    main()
