"""How long our own probes take, timed inside the loop: for shares below the noise between two processes.

    python benchmarks/inside.py [tiny mlp cnn gpt lstm]

`cruising` and `thorough` are by the clocks that the report's last line is made of: steps at cruising speed, and the
steps between them that are looked at thoroughly, spread over all. What Python takes to reach our code (looking up a
descriptor, reading numbers inside Adam) is not in them. It is in `on / off`: the same process in short stretches, in
turns with our hooks on torch and without them, thread-CPU time, steps at cruising speed.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import workloads
from torch.optim import optimizer as optimizers

WARM_UP = {"tiny": 400, "tiny-fused": 400, "mlp": 110}  # others 60
STEPS = {"tiny": 1000, "tiny-fused": 1000, "mlp": 200}  # others 40
STRETCH = {"tiny": 100, "tiny-fused": 100, "mlp": 10}  # others 3
ROUNDS = {"tiny": 61, "tiny-fused": 61}  # others 15


class Switch:
    """Takes the hooks that a step meets off torch and puts them on again, at any time."""

    def __init__(self, model: torch.nn.Module) -> None:
        iterators = torch.utils.data.dataloader._BaseDataLoaderIter
        places = [
            (torch.Tensor, "item"),
            (iterators, "_num_yielded"),
            (torch.autograd.Variable, "_execution_engine"),
        ]
        places += [(kind, "forward") for kind in type(model).__mro__ if "forward" in vars(kind)][:1]
        self._ours = [(holder, name, vars(holder)[name]) for holder, name in places]
        self._tables = (
            optimizers._global_optimizer_pre_hooks,
            optimizers._global_optimizer_post_hooks,
        )
        self._hooks = [dict(table) for table in self._tables]

    def off(self) -> None:
        """Leave torch as it comes."""
        for holder, name, ours in self._ours:
            original = getattr(ours, "original", None)
            if original is None or (holder is torch.Tensor):
                delattr(holder, name)
            else:
                setattr(holder, name, original)
        for table in self._tables:
            table.clear()

    def on(self) -> None:
        """Put back what was taken off."""
        for holder, name, ours in self._ours:
            setattr(holder, name, ours)
        for table, hooks in zip(self._tables, self._hooks, strict=True):
            table.update(hooks)


def on_against_off(session: Any, step: Callable[[], None], workload: str) -> str:
    """Return the ratio of a step with our hooks to one without, with its quartiles."""
    stretch = STRETCH.get(workload, 3)
    switch = Switch(step.model)  # type: ignore[attr-defined]
    session.parts.budget.next_sample = lambda steps: steps + 10**9
    session.parts.holdings.next_step = 10**9
    for watched in session.parts.optimizers.all():
        watched.next_sample = 10**9
    for _ in range(30):
        step()

    def median() -> float:
        times = []
        for _ in range(stretch):
            began = time.thread_time()
            step()
            times.append(time.thread_time() - began)
        return statistics.median(times)

    ratios = []
    for _ in range(ROUNDS.get(workload, 15)):
        watched = median()
        switch.off()
        bare = median()
        switch.on()
        ratios.append(watched / bare)
    ratios.sort()
    low, high = ratios[len(ratios) // 4], ratios[3 * len(ratios) // 4]
    return f"{statistics.median(ratios):.3f} ({low:.3f}…{high:.3f})"


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
        cruise, guests = session.parts.cruise, session.parts.guests
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
            f"| {cruise.steps - quiet} of {steps} "
            f"| {on_against_off(session, step, workload)} |",
            flush=True,
        )
        session.end()


def main() -> None:
    """Measure each workload in a process of its own."""
    if sys.argv[1:2] == ["--one"]:
        measure(sys.argv[2])
        return
    print(
        "| workload | watched step | cruising | thorough | share | cruising steps | on / off |\n"
        "|---|---|---|---|---|---|---|",
        flush=True,
    )
    for workload in sys.argv[1:] or list(workloads.WORKLOADS):
        subprocess.run([sys.executable, __file__, "--one", workload], check=True)


if __name__ == "__main__":
    main()
