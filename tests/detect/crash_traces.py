"""Hand-made crashes: what a test says of them, and nothing else."""

from __future__ import annotations

from typing import Any

from torchwhy.detect.base import Detector
from torchwhy.finding import Finding, SourceSpan
from torchwhy.record.crashes import Crash, NamedTensor
from torchwhy.record.events import Event, Step
from torchwhy.record.trace import Trace

LINE = SourceSpan("train.py", 9, column=4, end_column=14, expression="f(x)")


def crash(message: str, *, expression: str | None = None, **facts: Any) -> Crash:
    """Return a RuntimeError of step 3 at line 9."""
    place = LINE if expression is None else SourceSpan("train.py", 9, expression=expression)
    return Crash(
        **{"step": 3, "type": "RuntimeError", "message": message, "location": place, **facts}
    )


def tensor(name: str, *shape: int, dtype: str = "float32", **facts: Any) -> NamedTensor:
    """Return a tensor of the failing expression."""
    return NamedTensor(name=name, shape=list(shape), dtype=dtype, **facts)


def trace_of(*events: Event, steps: int = 0) -> Trace:
    """Return a trace with this many optimizer steps before the events."""
    before = [Step(step=i, optimizer=0, losses=[1.0], milliseconds=1.0) for i in range(steps)]
    return Trace((*before, *events))


def scan(detector: type[Detector], *events: Event, steps: int = 0) -> Finding:
    """Return the one finding of a detector."""
    (finding,) = detector().scan(trace_of(*events, steps=steps))
    return finding
