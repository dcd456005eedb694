"""Small hand-made traces: what a test says is in them, and nothing else."""

from __future__ import annotations

from itertools import count
from typing import Any

from torchwhy.finding import SourceSpan
from torchwhy.record.events import (
    Alarm,
    Birth,
    Event,
    ForwardTwin,
    Operand,
    OptimizerDescribed,
    OptimizerMade,
    Step,
    TensorFacts,
    Weights,
)
from torchwhy.record.numbers import Real, encode
from torchwhy.record.trace import Trace

_numbers = count(1)


def trace_with(
    *events: Event, losses: list[float] | None = None, sizes: list[float] | None = None
) -> Trace:
    """Return a trace of these events; `losses` and `sizes` add one optimizer step each, and its weights."""
    steps = [
        Step(step=i, optimizer=0, losses=[encode(loss)], milliseconds=1.0)
        for i, loss in enumerate(losses or [])
    ]
    return Trace((*steps, *weights(sizes or []), *events))


def weights(sizes: list[float], gradient: float = 1.0) -> list[Event]:
    """Return the sampled root mean squares of one parameter, from step 0 on."""
    if not sizes:
        return []
    described = OptimizerDescribed(
        index=0, parameters=["fc.weight"], shapes=[[4, 4]], dtypes=["float32"]
    )
    samples = [
        Weights(
            step=i,
            optimizer=0,
            names=["fc.weight"],
            weight_rms=[encode(size)],
            gradient_rms=[encode(gradient)],
        )
        for i, size in enumerate(sizes)
    ]
    return [described, *samples]


def optimizer(kind: str = "SGD", lr: float = 0.1, **defaults: float) -> OptimizerMade:
    """Return the making of an optimizer on line 7."""
    return OptimizerMade(
        index=0, kind=kind, defaults={"lr": lr, **defaults}, location=SourceSpan("train.py", 7)
    )


def alarm(step: int, what: Any = "loss") -> Alarm:
    """Return an alarm of the first optimizer."""
    return Alarm(step=step, optimizer=0, what=what, losses=["inf"], withheld=True)


def birth(op: str, *operands: Operand, **more: Any) -> Birth:
    """Return a birth in forward at line 12 that reached the loss, unless told otherwise."""
    number = next(_numbers)
    expression = more.pop("expression", "f(x)")
    dtype = more.pop("dtype", "float32")
    defaults: dict[str, Any] = {
        "id": number,
        "order": number,
        "step": 0,
        "kind": "operation",
        "phase": "backward" if more.get("node") else "forward",
        "location": SourceSpan("train.py", 12, expression=expression),
        "output": TensorFacts(dtype=dtype, shape=[8, 4], nan=1),
        "reaches": ["loss"],
    }
    return Birth(op=op, operands=list(operands), **{**defaults, **more})


def tensor(at_born: float | None, name: str | None = "x", **more: Any) -> Operand:
    """Return a tensor operand with its value at the first bad element."""
    size = abs(at_born) if at_born is not None else None
    dtype = more.pop("dtype", "float32")
    shape = more.pop("shape", [8, 4])
    facts = TensorFacts(dtype=dtype, shape=shape, minimum=at_born, maximum=size)
    value: Real | None = None if at_born is None else encode(at_born)
    return Operand(name=name, tensor=facts, at_born=value, **more)


def number(value: float, argument: str | None = None) -> Operand:
    """Return an operand that is a plain number."""
    return Operand(scalar=encode(value), argument=argument)


def twin(
    op: str,
    *,
    hidden: bool = False,
    births: list[int] | None = None,
    names: list[str] | None = None,
) -> ForwardTwin:
    """Return the forward operation of a backward birth; `hidden` by a `where` on line 13."""
    mask = SourceSpan("train.py", 13, expression="torch.where(ok, y, 0)") if hidden else None
    return ForwardTwin(
        op=op, hidden_by=mask, births=births or [], operand_names=["x"] if names is None else names
    )
