"""Saves the state of every random generator right after `import torch`, so that a rerun can repeat the run."""

from __future__ import annotations

import base64
import json
import random
import sys
from pathlib import Path
from typing import Any

import torch


def take() -> dict[str, Any]:
    """Return the states as plain JSON data; changes none of them."""
    version, numbers, gauss = random.getstate()
    states: dict[str, Any] = {
        "python": [version, list(numbers), gauss],
        "torch": base64.b64encode(bytes(torch.get_rng_state().tolist())).decode(),
    }
    numpy = sys.modules.get("numpy")
    if numpy is not None and hasattr(numpy, "random"):
        kind, keys, position, has_gauss, cached = numpy.random.get_state()
        states["numpy"] = [
            kind,
            [int(key) for key in keys],
            int(position),
            int(has_gauss),
            float(cached),
        ]
    return states


def restore(states: dict[str, Any]) -> None:
    """Restore recorded states."""
    version, numbers, gauss = states["python"]
    random.setstate((version, tuple(numbers), gauss))
    torch.set_rng_state(torch.tensor(list(base64.b64decode(states["torch"])), dtype=torch.uint8))
    numpy = sys.modules.get("numpy")
    if numpy is not None and "numpy" in states:
        kind, keys, position, has_gauss, cached = states["numpy"]
        numpy.random.set_state(
            (kind, numpy.array(keys, dtype="uint32"), position, has_gauss, cached)
        )


def save(states: dict[str, Any], directory: Path, *, rank: int) -> None:
    """Write the states beside the trace."""
    (directory / f"seeds-rank{rank}.json").write_text(json.dumps(states), encoding="utf-8")


def load(directory: Path, *, rank: int) -> dict[str, Any] | None:
    """Read the states of an earlier run, None if it has none."""
    path = directory / f"seeds-rank{rank}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
