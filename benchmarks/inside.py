"""How long our own probes take, timed inside the loop: for shares below the noise between two processes.

    python benchmarks/inside.py [tiny mlp cnn gpt lstm]

Thread-CPU time of the outermost call into any probe (nested ones are part of it), after the first 30 steps. What the
descriptors and torch's own hook dispatch cost outside of a probe is not in it, nor are reads of losses.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
import workloads

from torchwhy.observe import guest

WARM_UP, STEPS = 30, 19  # steps 30 to 48: none of them is a sampled one


class Stopwatch:
    """Adds up the time of outermost calls."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._depth = 0

    def timed(self, function: Any) -> Any:
        """Return `function` with its time taken."""

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            self._depth += 1
            began = time.thread_time()
            try:
                return function(*args, **kwargs)
            finally:
                self._depth -= 1
                if not self._depth:
                    self.seconds += time.thread_time() - began

        return wrapper


def measure(workload: str) -> None:
    """Train one workload in this process, watched, and print our share."""
    watch = Stopwatch()
    protect = guest.Guests.protect
    guest.Guests.protect = lambda self, name, function: watch.timed(protect(self, name, function))
    from torchwhy.observe.boot import wire

    with tempfile.TemporaryDirectory() as folder:
        facts = {"schema": 1, "command": [], "directory": ".", "options": {"on_failure": "stop"}}
        Path(folder, "run.json").write_text(json.dumps({**facts, "rerun": None}))
        session = wire.begin(folder)
        torch.set_num_threads(1)
        torch.manual_seed(0)
        step = workloads.WORKLOADS[workload]()
        for _ in range(WARM_UP):
            step()
        watch.seconds, began = 0.0, time.thread_time()
        for _ in range(STEPS):
            step()
        total = time.thread_time() - began
        print(
            f"| {workload} | {total / STEPS * 1e3:.2f} ms | {watch.seconds / STEPS * 1e3:.2f} ms "
            f"| {watch.seconds / total:.1%} |",
            flush=True,
        )
        session.end()


def main() -> None:
    """Measure each workload in a process of its own."""
    if sys.argv[1:2] == ["--one"]:
        measure(sys.argv[2])
        return
    print("| workload | watched step | ours | share |\n|---|---|---|---|", flush=True)
    for workload in sys.argv[1:] or list(workloads.WORKLOADS):
        subprocess.run([sys.executable, __file__, "--one", workload], check=True)


if __name__ == "__main__":
    main()
