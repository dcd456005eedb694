"""Small traces by hand: only the facts a test is about, everything else plausible."""

from __future__ import annotations

from typing import Any

from torchwhy.finding import SourceSpan
from torchwhy.record.events import Birth, Event, Operand, ProgramFile, TensorFacts
from torchwhy.record.trace import Trace

LINE = SourceSpan("train.py", 9, column=4, end_column=20, expression="f(x)")


def birth(op: str = "aten.mul.Tensor", **facts: Any) -> Birth:
    """Return a birth in forward of step 3 that spoiled the loss."""
    given: dict[str, Any] = {
        "id": 1,
        "step": 3,
        "kind": "operation",
        "phase": "forward",
        "location": LINE,
        "reaches": ["loss"],
        "output": TensorFacts(dtype="float32", shape=[4], nan=1, first_bad_index=[0]),
    }
    return Birth(op=op, **{**given, **facts})


def source(origin: str, **facts: Any) -> Birth:
    """Return a bad value that came in from outside."""
    return birth(**{"kind": "source", "origin": origin, **facts})


def tensor(dtype: str = "float32", *shape: int, **facts: Any) -> Operand:
    """Return a tensor operand; `at_born`, `name` and the like by keyword."""
    return Operand(tensor=TensorFacts(dtype=dtype, shape=list(shape)), **facts)


def program(text: str, file: str = "train.py") -> ProgramFile:
    """Return a file of the program, as the trace holds it."""
    return ProgramFile(file=file, sha256="", text=text)


def trace(*events: Event, rerun: Trace | None = None) -> Trace:
    """Return a trace of these events."""
    return Trace(events, rerun=rerun)
