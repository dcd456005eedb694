"""The accelerator notes an ordinary operation of a forward pass as the microscope does, and leaves the others."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from torchwhy.observe.guest import Guests
from torchwhy.observe.native import native_descriptors
from torchwhy.observe.steps.training_state import TrainingState
from torchwhy.replay.microscope.dispatch_mode import Microscope
from torchwhy.replay.microscope.memory_writers import MemoryWriters
from torchwhy.replay.microscope.operations import Operation
from torchwhy.replay.microscope.ordinary_operations import NoneAreOrdinary
from torchwhy.replay.nonfinite.nonfinite_log import NonfiniteLog
from torchwhy.replay.nonfinite.provenance import Origin
from torchwhy.replay.samples.sample_rows import Samples

pytestmark = pytest.mark.skipif(
    not native_descriptors.is_ready(),
    reason="the accelerator was not built, or torch offers too little",
)
OPERATIONS = {"inputs", "through", "forward"}  # attributes that hold other operations


class Modules:
    """A module stack, as far as the microscope knows one: nothing runs."""

    def __init__(self) -> None:
        self.stack: list[nn.Module] = []
        self.is_running, self.path = False, None

    def install(self) -> None: ...

    def remove(self) -> None: ...

    def tables(self) -> dict[str, Any]:
        return {"running": self.stack, "paths": {}, "path_of": lambda _: None}


class Context:
    """A program of which nothing is known beyond its operations."""

    def origin_of(self, tensor: torch.Tensor) -> Origin:
        return Origin("unknown")

    def samples(self, operation: Operation, tensor: torch.Tensor | None) -> Samples:
        return Samples(0)

    def operations_after(self, operation: Operation) -> list[Operation]:
        return []

    def births_of_rows(self, tensor: torch.Tensor) -> frozenset[int]:
        return frozenset()

    def __getattr__(self, name: str) -> Any:
        return lambda *_: None


def microscope_of(*, native: bool) -> Microscope:
    context: Any = Context()
    problems: list[BaseException] = []
    microscope = Microscope(
        NonfiniteLog(lambda _: None, context),
        MemoryWriters(),
        Modules(),  # type: ignore[arg-type]
        state=TrainingState(),
        guests=Guests(lambda _: None),
        failed=problems.append,
        over_limit=lambda: None,
        on_forward=lambda *_: None,
        on_clip=lambda _: None,
        batch_at=lambda _: None,
    )
    microscope.problems = problems
    if not native:
        microscope._ordinary = NoneAreOrdinary()
    return microscope


def seen_of(program: Any, *, native: bool) -> tuple[list[dict[str, Any]], Microscope]:
    microscope = microscope_of(native=native)
    torch.manual_seed(0)
    first = None
    microscope.enter()
    try:
        kept = program()
        found = microscope.operations()
        first = microscope.last_node_number
        described = [_described(operation, first) for operation in found]
    finally:
        microscope.leave()
    assert microscope.problems == []
    assert kept is not None
    return described, microscope


def _described(operation: Operation, last: int) -> dict[str, Any]:
    """Return what is known of an operation: other operations by their order, nodes by their distance to the last."""
    known = {name: getattr(operation, name) for name in vars(Operation) if name[0] != "_"}
    known = {name: value for name, value in known.items() if not callable(value)}
    known |= vars(operation)
    for name in OPERATIONS & set(known):
        held = known[name] if isinstance(known[name], tuple) else (known[name],)
        known[name] = [None if one is None else one.order for one in held]
    if operation.node_number is not None:
        known["node_number"] = operation.node_number - last
    known["parameter_ids"] = [one is not None for one in operation.parameter_ids]
    known["data_operands"] = [one._replace(address=0) for one in operation.data_operands]
    known |= {"sites": operation.sites[:1], "outer": operation.outer[:1]}
    known["kept"] = repr(operation.kept)
    known["call"] = operation.call is not None
    return known


def attention() -> torch.Tensor:
    torch.manual_seed(1)
    x = torch.randn(2, 5, 8)
    weight = nn.Parameter(torch.randn(24, 8))
    q, k, v = nn.functional.linear(x, weight).chunk(3, dim=-1)
    scores = (q @ k.transpose(1, 2)) / 3
    scores = scores.masked_fill(torch.ones(5, 5).tril() == 0, float("-inf"))
    return (scores.softmax(-1) @ v).reshape(10, 8).sum()


def views() -> torch.Tensor:
    weight = nn.Parameter(torch.ones(6, 4))
    with torch.no_grad():
        half = weight[:3]
    loose = torch.ones(3, 4).requires_grad_()
    cut = (weight * 2).detach().requires_grad_()
    gathered = torch.cat([half, loose, cut[1:4]])
    return (gathered.t().contiguous().view(-1)[::2] * 0.5).mean() + cut.sum()


def whole_numbers() -> torch.Tensor:
    table = nn.Parameter(torch.randn(7, 3))
    rows = torch.arange(5) % 4
    mask = rows > 1
    chosen = nn.functional.embedding(rows.flip(0), table)
    return torch.where(mask[:, None], chosen, chosen * rows[:, None]).double().sum()


def written() -> torch.Tensor:
    x = torch.empty(3, 4).normal_()
    y = torch.zeros_like(x)
    y.add_(x).mul_(2)
    z = nn.functional.batch_norm(y, torch.zeros(4), torch.ones(4), training=True)
    return nn.functional.relu(z).sum() + nn.functional.dropout(z, 0.5).sum() + (x - y).pow(2).mean()


def bad_values() -> torch.Tensor:
    x = torch.tensor([1.0, float("inf"), 3.0])
    y = torch.ones(3) * 2
    bad = torch.isinf(x)
    cleaned = torch.where(bad, y, x)
    return (cleaned + 1).sum() + y.sum()


def closure() -> torch.Tensor:
    torch.manual_seed(1)
    weight, x = nn.Parameter(torch.randn(4)), torch.randn(6, 4)
    optimizer = torch.optim.LBFGS([weight], max_iter=3, line_search_fn="strong_wolfe")

    def loss_of() -> torch.Tensor:
        optimizer.zero_grad()
        loss = ((x * weight).sum(1) * 2).pow(2).mean()
        loss.backward()
        return loss

    return optimizer.step(loss_of)


@pytest.mark.parametrize("program", [attention, views, whole_numbers, written, bad_values, closure])
def test_accelerator_notes_what_the_microscope_notes(program: Any) -> None:
    native, mine = seen_of(program, native=True)
    python, theirs = seen_of(program, native=False)

    assert mine._ordinary.seconds > 0
    assert len(native) == len(python)
    for one, other in zip(native, python, strict=True):
        assert one == other
    assert (mine.seen, mine.work, mine.without_graph) == (
        theirs.seen,
        theirs.work,
        theirs.without_graph,
    )


def test_error_of_the_operation_is_the_programs() -> None:
    microscope = microscope_of(native=True)
    raised = []
    microscope.when_raised = lambda: raised.append(1)

    microscope.enter()
    try:
        with pytest.raises(RuntimeError, match="must match"):
            torch.ones(2) + torch.ones(3)
    finally:
        microscope.leave()

    assert raised == [1]


def test_work_beyond_the_limit_is_told() -> None:
    told = []
    microscope = microscope_of(native=True)
    microscope._over_limit = lambda: told.append(microscope.work)
    microscope.limit = 3

    microscope.enter()
    try:
        for _ in range(4):
            torch.ones(2)
    finally:
        microscope.leave()

    assert told == [4]
