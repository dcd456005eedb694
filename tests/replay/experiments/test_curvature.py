"""The largest curvature, against the whole Hessian; and what the experiment leaves alone."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from torchwhy.observe.hooks import Hooks
from torchwhy.observe.steps.training_state import TrainingState
from torchwhy.record.learning import Experiment
from torchwhy.replay.experiments.curvature import Curvature
from torchwhy.replay.experiments.lanczos import largest_eigenvalue
from torchwhy.replay.experiments.stability_bounds import bound_of


class Program:
    """A small network, its optimizer, and what was recorded of it."""

    def __init__(self, make: Any, *, steps: int = 0) -> None:
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2)).double()
        self.x, self.y = torch.randn(20, 4).double(), torch.randn(20, 2).double()
        self.optimizer = make(self.model.parameters())
        self.written: list[Experiment] = []
        self.hooks, self.state = Hooks(), TrainingState()
        self.state.step = 7
        self.recorder: Any = SimpleNamespace(write=self.written.append)
        for _ in range(steps):
            self.optimizer.zero_grad()
            self.loss().backward()
            self.optimizer.step()

    def curvature(self) -> Curvature:
        return Curvature(self.recorder, self.state, self.hooks)

    def loss(self) -> torch.Tensor:
        return nn.functional.mse_loss(self.model(self.x), self.y)

    def measure(
        self, loss: torch.Tensor | None = None, *, gradient_scale: float = 1.0
    ) -> dict[str, Any]:
        """Measure as a step does: before the backward pass, and told after the update with its gradients."""
        watched: Any = SimpleNamespace(index=0, optimizer=self.optimizer)
        loss = self.loss() if loss is None else loss
        curvature = self.curvature()
        curvature.measure(loss, watched, "test")
        if curvature.is_waiting:
            self.optimizer.zero_grad()
            loss.backward()
            for parameter in self.model.parameters():
                if parameter.grad is not None:
                    parameter.grad.mul_(gradient_scale)
            curvature.after_step()
        return dict(self.written[-1].answer) if self.written else {}

    def hessian(self) -> torch.Tensor:
        """Return the whole Hessian, one autograd pass per row: slow and obvious."""
        parameters = list(self.model.parameters())
        slope = torch.autograd.grad(self.loss(), parameters, create_graph=True)
        flat = torch.cat([part.reshape(-1) for part in slope])
        rows = [
            torch.cat(
                [g.reshape(-1) for g in torch.autograd.grad(element, parameters, retain_graph=True)]
            )
            for element in flat
        ]
        return torch.stack(rows)


def sgd(parameters: Any) -> torch.optim.Optimizer:
    return torch.optim.SGD(parameters, lr=0.1)


def adam(parameters: Any) -> torch.optim.Optimizer:
    return torch.optim.Adam(parameters, lr=0.01)


def test_lanczos_finds_the_largest_eigenvalue_of_a_matrix() -> None:
    torch.manual_seed(0)
    matrix = torch.randn(40, 40).double()
    matrix = matrix @ matrix.T

    value, products = largest_eigenvalue(
        lambda v: matrix @ v, torch.ones(40).double(), most_products=20
    )

    assert value == pytest.approx(torch.linalg.eigvalsh(matrix)[-1].item(), rel=0.02)
    assert products <= 20


def test_lanczos_of_negative_curvature_returns_the_largest_not_the_steepest() -> None:
    matrix = torch.diag(torch.tensor([-50.0, 1.0, 3.0])).double()

    value, _ = largest_eigenvalue(lambda v: matrix @ v, torch.ones(3).double(), most_products=12)

    assert value == pytest.approx(3.0)


def test_lanczos_stops_as_soon_as_the_eigenvalue_is_known_well_enough() -> None:
    matrix = torch.diag(torch.arange(1.0, 41.0)).double()

    _, products = largest_eigenvalue(
        lambda v: matrix @ v,
        torch.ones(40).double(),
        most_products=12,
        is_enough=lambda _, value: value > 20,
    )

    assert products == 2


@pytest.mark.parametrize(("share", "products"), [(0.1, 2.0), (1.0, 3.0), (1e-4, 3.0)])
def test_a_long_measurement_ends_once_the_rate_is_known_to_be_sensible(
    monkeypatch: pytest.MonkeyPatch, share: float, products: float
) -> None:
    stable = float(Program(sgd).measure()["stable rate"])
    monkeypatch.setattr("torchwhy.replay.experiments.curvature.LONG_GRADIENT", -1.0)

    answer = Program(lambda p: torch.optim.SGD(p, lr=share * stable)).measure()

    assert answer["products"] == products


def test_curvature_of_gradient_descent_is_that_of_the_hessian() -> None:
    program = Program(sgd)
    top = torch.linalg.eigvalsh(program.hessian())[-1].item()

    answer = program.measure()

    assert answer["curvature"] == pytest.approx(top, rel=0.02)
    assert answer["stable rate"] == pytest.approx(2 / top, rel=0.02)
    assert answer["ratio"] == pytest.approx(0.1 * top / 2, rel=0.02)


def test_gradients_that_arrive_scaled_down_allow_a_higher_rate() -> None:
    plain = Program(sgd).measure()
    scaled = Program(sgd)

    answer = scaled.measure(scaled.loss() * 1024, gradient_scale=1 / 1024)

    assert answer["arrived"] == pytest.approx(1 / 1024)
    assert answer["ratio"] == pytest.approx(plain["ratio"], rel=0.02)
    assert answer["stable rate"] == pytest.approx(plain["stable rate"], rel=0.02)


def test_clipped_gradients_make_the_rate_look_as_low_as_it_acts() -> None:
    plain = Program(sgd).measure()

    answer = Program(sgd).measure(gradient_scale=0.1)

    assert answer["ratio"] == pytest.approx(0.1 * plain["ratio"], rel=0.02)


def test_curvature_of_adam_is_that_of_the_preconditioned_hessian() -> None:
    program = Program(adam, steps=5)
    state = program.optimizer.state
    scale = torch.cat(
        [
            (1 / ((state[p]["exp_avg_sq"] / (1 - 0.999**5)).sqrt() + 1e-8)).sqrt().reshape(-1)
            for p in program.model.parameters()
        ]
    )
    top = torch.linalg.eigvalsh(scale[:, None] * program.hessian() * scale)[-1].item()

    answer = program.measure()

    assert answer["curvature"] == pytest.approx(top, rel=0.05)
    assert answer["stable rate"] == pytest.approx(38 / top, rel=0.05)


def test_gradient_descent_above_the_bound_diverges_and_below_it_does_not() -> None:
    program = Program(sgd)
    program.model = nn.Sequential(nn.Linear(4, 2)).double()
    program.optimizer = sgd(program.model.parameters())
    stable = float(program.measure()["stable rate"])
    ends = []
    for factor in (0.9, 1.2):
        model = nn.Linear(4, 2).double()
        optimizer = torch.optim.SGD(model.parameters(), lr=factor * stable)
        for _ in range(200):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(program.x), program.y)
            loss.backward()
            optimizer.step()
        ends.append(loss.item())

    assert ends[0] < 10 < ends[1]


@pytest.mark.parametrize(
    ("kind", "group", "bound"),
    [
        ("SGD", {"momentum": 0.0}, 2.0),
        ("SGD", {"momentum": 0.9}, 3.8),
        ("SGD", {"momentum": 0.9, "nesterov": True}, 3.8 / 2.8),
        ("Adam", {"betas": (0.9, 0.999)}, 38.0),
        ("SGD", {"momentum": 1.0}, None),
        ("Rprop", {}, None),
    ],
)
def test_bounds_are_those_of_a_quadratic(
    kind: str, group: dict[str, Any], bound: float | None
) -> None:
    assert bound_of(kind, group) == (None if bound is None else pytest.approx(bound))


def test_gradients_weights_and_random_stream_are_as_before() -> None:
    program = Program(adam, steps=2)
    loss = program.loss()
    before = [p.detach().clone() for p in program.model.parameters()]
    gradients = [p.grad.clone() for p in program.model.parameters() if p.grad is not None]
    stream = torch.get_rng_state()

    program.measure(loss)

    assert torch.equal(stream, torch.get_rng_state())
    assert all(torch.equal(a, b) for a, b in zip(before, program.model.parameters(), strict=True))
    assert len(gradients) == 4


def test_a_function_of_the_program_is_never_run() -> None:
    class Counted(torch.autograd.Function):
        runs = 0

        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x * 2

        @staticmethod
        def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
            Counted.runs += 1
            return gradient * 2

    program = Program(sgd)

    assert program.measure(Counted.apply(program.loss())) == {}
    assert Counted.runs == 0


def test_hooks_on_tensors_bar_the_experiment() -> None:
    program = Program(sgd)
    curvature = program.curvature()
    curvature.install()
    try:
        program.x.requires_grad_().retain_grad()
        watched: Any = SimpleNamespace(index=0, optimizer=program.optimizer)
        curvature.measure(program.loss(), watched, "test")
    finally:
        program.hooks.remove_all()

    assert curvature.is_barred
    assert program.written == []
