"""How the cost of watching grows: with parameter tensors, modules, nesting of the batch, and the length of the run.

    python benchmarks/scale.py [tensors modules nesting steps]

Each point is a process of its own. Our own time is taken inside the loop, by the clocks the report's last line is made
of. The long run is simulated: a million steps are put into the trace the way the loop does it, then reported on.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

STEPS = 150
POINTS: dict[str, tuple[int, ...]] = {
    "tensors": (10, 100, 1000, 10_000),
    "modules": (10, 100, 1000),
    "nesting": (1, 4, 16),
    "steps": (1000, 10_000, 100_000, 1_000_000),
}


def watched_session(folder: str) -> Any:
    """Begin to watch this process."""
    from torchwhy.observe.boot import wire

    facts = {"schema": 1, "command": [], "directory": ".", "options": {"on_failure": "stop"}}
    Path(folder, "run.json").write_text(json.dumps({**facts, "rerun": None}))
    return wire.begin(folder)


def most_memory() -> int:
    """Return the most memory this process has used, in MB; unlike `ru_maxrss` not that of who started it."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) // 1024


def timed(session: Any, step: Callable[[], object]) -> str:
    """Return a row: the first step, a later one, and our part of the later ones."""
    began = time.perf_counter()
    step()
    first = time.perf_counter() - began
    for _ in range(STEPS):
        step()
    ours, began = session.spent_seconds, time.perf_counter()
    for _ in range(STEPS):
        step()
    each = (time.perf_counter() - began) / STEPS
    own = (session.spent_seconds - ours) / STEPS
    return (
        f"{first * 1e3:.0f} ms | {each * 1e3:.2f} ms | {own * 1e6:.0f} µs | {own / each:.1%} | "
        f"{most_memory()} MB"
    )


def tensors(count: int, folder: str) -> str:
    """Train `count` small parameter tensors."""
    session = watched_session(folder)
    import torch

    parameters = [torch.nn.Parameter(torch.randn(8)) for _ in range(count)]
    optimizer = torch.optim.SGD(parameters, lr=0.04 * count)  # 1 % of the way a step: it learns

    def step() -> None:
        optimizer.zero_grad()
        torch.stack(parameters).square().mean().backward()
        optimizer.step()

    return timed(session, step)


def modules(count: int, folder: str) -> str:
    """Train a chain of `count` small layers."""
    session = watched_session(folder)
    import torch
    from torch import nn

    model = nn.Sequential(*[nn.Linear(8, 8) for _ in range(count)])
    for layer in model:
        nn.init.eye_(layer.weight)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01 / count)
    batch = torch.randn(4, 8)

    def step() -> None:
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()

    return timed(session, step)


def nesting(depth: int, folder: str) -> str:
    """Train on batches that are dictionaries in dictionaries, four tensors on each level."""
    session = watched_session(folder)
    import torch
    from torch.utils.data import DataLoader, Dataset

    class Nested(Dataset[dict[str, Any]]):
        def __len__(self) -> int:
            return 8000

        def __getitem__(self, index: int) -> dict[str, Any]:
            sample: dict[str, Any] = {}
            for _ in range(depth):
                sample = {"inner": sample, **{f"part{i}": torch.ones(4) for i in range(4)}}
            return sample

    loader = iter(DataLoader(Nested(), batch_size=8))
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def step() -> None:
        optimizer.zero_grad()
        model(next(loader)["part0"]).square().mean().backward()
        optimizer.step()

    return timed(session, step)


def steps(count: int, folder: str) -> str:
    """Put the steps of a long run into a trace, then make its report in a process of its own."""
    session = watched_session(folder)
    import torch

    parameters = [torch.nn.Parameter(torch.randn(16)) for _ in range(20)]
    optimizer = torch.optim.SGD(parameters, lr=1e-3)
    for _ in range(60):
        optimizer.zero_grad()
        torch.stack(parameters).square().mean().backward()
        optimizer.step()
    state = session.parts.state
    watched = session.parts.optimizers.all()[0]
    began = time.perf_counter()
    for number in range(60, count):
        state.step = watched.steps = number
        if number >= watched.next_sample:
            torch.stack(parameters).square().mean().backward()
            optimizer.step()
        else:
            session.parts.step_log.add(number, 0, 1.0 + 1.0 / (number + 1), 1.0)
    seconds = time.perf_counter() - began
    state.step = count
    session.end()
    size = sum(path.stat().st_size for path in Path(folder).iterdir())
    program = (
        f"import sys, time; sys.path.insert(0, {str(Path(__file__).parent)!r}); import scale; "
        "from pathlib import Path; began = time.perf_counter(); "
        "from torchwhy.pipeline import diagnose; r = diagnose(Path(sys.argv[1])); "
        "print(f'{time.perf_counter() - began:.2f} s | '"
        "f'{scale.most_memory()} MB')"
    )
    report = subprocess.run(
        [sys.executable, "-c", program, folder], check=True, capture_output=True, text=True
    )
    return (
        f"{seconds / count * 1e6:.1f} µs | {size / 1e6:.2f} MB | {size / count:.0f} B | "
        + report.stdout.strip()
    )


HEADS = {
    "tensors": "| parameter tensors | first step | later step | of it ours | share | memory |",
    "modules": "| modules | first step | later step | of it ours | share | memory |",
    "nesting": "| depth of the batch | first step | later step | of it ours | share | memory |",
    "steps": "| steps | recording a step | trace | per step | report | its memory |",
}


def main() -> None:
    """Measure every point in a process of its own."""
    if sys.argv[1:2] == ["--one"]:
        kind, count = sys.argv[2], int(sys.argv[3])
        with tempfile.TemporaryDirectory() as folder:
            print(f"| {count} | {globals()[kind](count, folder)} |", flush=True)
        return
    for kind in sys.argv[1:] or list(POINTS):
        print(f"\n{HEADS[kind]}\n|---|---|---|---|---|---|", flush=True)
        for count in POINTS[kind]:
            subprocess.run([sys.executable, __file__, "--one", kind, str(count)], check=True)


if __name__ == "__main__":
    main()
