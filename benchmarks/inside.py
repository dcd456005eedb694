"""How long our own probes take, timed inside the loop: for shares below the noise between two processes.

    python benchmarks/inside.py [tiny mlp cnn gpt lstm]

By the clocks that the report's last line is made of, in two parts: steps at cruising speed, and the steps between
them that are looked at thoroughly, spread over all. What Python takes to reach our code (looking up a descriptor,
torch's loop over its hooks, reading numbers inside Adam) is not in it; `cost.py` has that, with its noise.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch
import workloads

WARM_UP = {"tiny": 400, "tiny-fused": 400, "mlp": 110}  # others 60
STEPS = {"tiny": 1000, "tiny-fused": 1000, "mlp": 200}  # others 40


def measure(workload: str) -> None:
    """Train one workload in this process, watched, and print our share."""
    from torchwhy.observe.boot import wire

    with tempfile.TemporaryDirectory() as folder:
        facts = {"schema": 1, "command": [], "directory": ".", "options": {"on_failure": "stop"}}
        Path(folder, "run.json").write_text(json.dumps({**facts, "rerun": None}))
        session = wire.begin(folder)
        torch.set_num_threads(1)
        torch.manual_seed(0)
        step = workloads.WORKLOADS[workload]()
        for _ in range(WARM_UP.get(workload, 60)):
            step()
        steps = STEPS.get(workload, 40)
        cruise, guests = session.cruise, session.guests
        quick, thorough = cruise.seconds + guests.light_seconds, guests.seconds
        began, quiet = time.perf_counter(), cruise.steps
        for _ in range(steps):
            step()
        total = time.perf_counter() - began
        quick = cruise.seconds + guests.light_seconds - quick
        thorough = guests.seconds - thorough
        print(
            f"| {workload} | {total / steps * 1e3:.2f} ms | {quick / steps * 1e6:.0f} µs "
            f"| {thorough / steps * 1e6:.0f} µs | {(quick + thorough) / total:.2%} "
            f"| {cruise.steps - quiet} of {steps} |",
            flush=True,
        )
        session.end()


def main() -> None:
    """Measure each workload in a process of its own."""
    if sys.argv[1:2] == ["--one"]:
        measure(sys.argv[2])
        return
    print(
        "| workload | watched step | cruising | thorough | share | cruising steps |\n"
        "|---|---|---|---|---|---|",
        flush=True,
    )
    for workload in sys.argv[1:] or list(workloads.WORKLOADS):
        subprocess.run([sys.executable, __file__, "--one", workload], check=True)


if __name__ == "__main__":
    main()
