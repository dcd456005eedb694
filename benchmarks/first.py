"""What a step under the microscope costs: pairs of fresh processes, bare and watched, in turns.

    python benchmarks/first.py [--pairs 9] [--workloads tiny mlp]

Thread-CPU time of the first and the second step, and of an ordinary one; medians over the pairs. A process has only
one first step, in which every line of ours, and of torch's dispatch in Python, runs for the first time; single
measurements differ by half. So the same look is taken again and again in further processes, at the first steps of new
models: what it costs when it is warm. Prints a Markdown table.
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
from torchwhy.record.run_file import write_run

HERE = Path(__file__).resolve().parent
STEPS = {"tiny": 300, "tiny-fused": 300, "mlp": 30, "cnn": 4, "gpt": 4, "lstm": 6}
LOOKS = {"tiny": 40, "tiny-fused": 40, "mlp": 12, "cnn": 4, "gpt": 4, "lstm": 4}
AFTERWARDS = {"tiny": 8, "tiny-fused": 8, "mlp": 8, "cnn": 0, "gpt": 0, "lstm": 0}
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
WARM_CHILD = """
import sys, time
sys.path.insert(0, sys.argv[1])
import torch, workloads
if sys.argv[4] == "watched":  # the microscope stays on, so that each model's first step is looked at
    from torchwhy.replay import handler, stage
    handler.Replay._close_first_step = lambda self: None
    stage.with_links = lambda before, operations: []  # of the steps of one look, which here never ends
torch.set_num_threads(1)
torch.manual_seed(0)
for _ in range(int(sys.argv[3])):
    step = workloads.WORKLOADS[sys.argv[2]]()
    began = time.thread_time()
    step()
    print(time.thread_time() - began)
    for _ in range(int(sys.argv[5])):  # in which is written what a first step leaves for later ones
        step()
"""


def times_of(workload: str, *, watched: bool, warm: bool = False) -> list[float]:
    """Return the seconds of every step of one process; `warm`, of the first steps of several models."""
    environment = dict(os.environ)
    with tempfile.TemporaryDirectory() as folder:
        if watched:
            run = launch.describe_run(["benchmark"], on_failure="stop")
            write_run(Path(folder), run)
            environment = launch.child_environment(Path(folder), run)
        environment["OMP_NUM_THREADS"] = "1"
        child, count = (WARM_CHILD, LOOKS[workload]) if warm else (CHILD, STEPS[workload])
        given = [workload, str(count), "watched" if watched else "bare", str(AFTERWARDS[workload])]
        command = [sys.executable, "-c", child, str(HERE), *given]
        output = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True
        ).stdout
    return [float(line) for line in output.split()]


def measure(workload: str, pairs: int) -> str:
    """Return one row of the table."""
    bare, watched, looks = [], [], []
    median = statistics.median
    for _ in range(pairs):
        bare.append(times_of(workload, watched=False))
        watched.append(times_of(workload, watched=True))
    for _ in range(max(1, pairs // 3)):
        warm = [times_of(workload, watched=kind, warm=True) for kind in (False, True)]
        fresh, looked = (median(times[len(times) // 4 :]) for times in warm)
        looks.append(looked - fresh)
    usual = median(median(times[len(times) // 2 :]) for times in bare)
    first = [median(times[0] for times in runs) for runs in (bare, watched)]
    second = median(times[1] for times in watched)
    more = (first[1] - first[0]) / usual
    cells = (usual, first[0], first[1], second)
    return (
        f"| {workload} | "
        + " | ".join(f"{cell * 1e3:.1f} ms" for cell in cells)
        + f" | {more:.1f} | {median(looks) / usual:.1f} |"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--workloads", nargs="*", default=list(STEPS))
    arguments = parser.parse_args()
    print(
        "| workload | bare step | first, bare | first, watched | second, watched "
        "| first, in bare steps more | the same look, warm |"
    )
    print("|---|---|---|---|---|---|---|")
    for workload in arguments.workloads:
        print(measure(workload, arguments.pairs), flush=True)


if __name__ == "__main__":
    main()
