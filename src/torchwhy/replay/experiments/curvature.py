"""How curved is the loss, and up to which learning rate is the optimizer stable?

Measured just before the program's own backward pass, when the graph of the loss exists: a dozen products with the
Hessian, fewer if they take long, give its largest eigenvalue. No code of the program runs: a graph with custom
functions, hooks or checkpoints is left alone. The answer is written after the step, when the gradient that the
optimizer got is known: unscaling or clipping shortens a step as a lower rate would.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import torch

from torchwhy.observe.descriptors import NotedOnAccess
from torchwhy.observe.hooks import Hooks
from torchwhy.observe.optimizers.watched_optimizers import WatchedOptimizer
from torchwhy.observe.probes import reads
from torchwhy.observe.recorder import Recorder
from torchwhy.observe.steps.training_state import TrainingState
from torchwhy.observe.torch_features.mode_stack import unseen
from torchwhy.observe.torch_features.tensor_parts import gradient_of
from torchwhy.observe.torch_features.torch_internals import world_size
from torchwhy.plain_data import dataclass
from torchwhy.record.learning import Experiment
from torchwhy.record.numbers import decode, encode
from torchwhy.replay.experiments.lanczos import largest_eigenvalue
from torchwhy.replay.experiments.stability_bounds import bound_of, preconditioner

QUESTION = "which learning rate is stable here?"
MOST_PRODUCTS = 12  # Lanczos vectors: the largest eigenvalue to 1 % on all networks tried
MOST_ELEMENTS = 2_000_000  # parameters; the vectors take twelve times as many
MOST_NODES = 5_000  # of the loss's graph
# With a longer gradient, a few products from the gradient's direction must do: they bound it from below.
LONG_GRADIENT = 0.02  # CPU seconds of one differentiation
FEW_PRODUCTS = 3
# A product takes as long as two steps or more. It is left out if it can tell nothing new: if the learning rate is known
# to be sensible, and would be stable even if the product raised the curvature as much as the one before did.
SENSIBLE, STABLE = 0.01, 0.9
UNCHANGED = 0.02  # a gradient that differs by less from the expected one differs by rounding


@dataclass(frozen=True)
class Side:
    """The parameters that the loss depends on, and the square root of the factor of their gradients."""

    parameters: list[torch.Tensor]
    scale: torch.Tensor
    rate: float
    bound: float


@dataclass(frozen=True)
class Pending:
    """An answer that waits for its step: `slope` is the gradient as backward makes it."""

    side: Side
    slope: torch.Tensor | None
    experiment: Experiment


class Curvature:
    """Measures on request; knows whether the program has hooks that our differentiation would run."""

    def __init__(self, recorder: Recorder, state: TrainingState, hooks: Hooks) -> None:
        self._recorder = recorder
        self._state = state
        self._hooks = hooks
        self.is_running = False
        self.is_barred = False
        self._pending: Pending | None = None

    @property
    def is_waiting(self) -> bool:
        """Tell whether an answer waits for its step."""
        return self._pending is not None

    def install(self) -> None:
        """Notice the program's own hooks on tensors and saved tensors, which would run when we differentiate."""

        def bar(_: Any) -> None:
            self.is_barred = True

        hooks = self._hooks
        for name in ("register_hook", "retain_grad"):
            hooks.replace(
                torch.Tensor,
                name,
                NotedOnAccess(getattr(torch.Tensor, name), bar),
                group=reads.GROUP,
            )
        saved = torch.autograd.graph.saved_tensors_hooks
        hooks.replace(saved, "__enter__", NotedOnAccess(saved.__enter__, bar), group=reads.GROUP)

    @unseen
    def measure(self, loss: torch.Tensor, watched: WatchedOptimizer, reason: str) -> None:
        """Measure the curvature of `loss`; the answer is written after the step."""
        began = time.perf_counter()
        if self.is_barred or world_size() > 1 or not _is_plain(loss):
            return
        side = _side_of(loss, watched)
        if side is None:
            return
        self.is_running = self._state.in_experiment = True
        try:
            answer, slope, side = _whole_or_part(loss, side)
        finally:
            self.is_running = self._state.in_experiment = False
        spent = time.perf_counter() - began
        answer |= {"optimizer": watched.index, "reason": reason}
        self._pending = Pending(
            side,
            slope,
            Experiment(
                step=self._state.step,
                question=QUESTION,
                answer=answer,
                seconds=round(spent, 4),
            ),
        )

    @unseen
    def after_step(self) -> None:
        """Write the answer, with the curvature that the optimizer's gradient implies."""
        pending, self._pending = self._pending, None
        if pending is None:
            return
        experiment = pending.experiment
        if pending.slope is not None:
            share = _arrived(pending.side, pending.slope)
            if share is None:
                return
            experiment = msgspec.structs.replace(
                experiment, answer=_felt(experiment.answer, pending.side, share)
            )
        self._recorder.write(experiment)


def _is_plain(loss: torch.Tensor) -> bool:
    """Tell whether a graph consists of torch's own functions only, and of not too many."""
    if (
        loss.grad_fn is None
        or torch.is_anomaly_enabled()
        or loss.dtype not in (torch.float32, torch.float64)
    ):
        return False
    seen = {loss.grad_fn}
    waiting = [loss.grad_fn]
    while waiting:
        node = waiting.pop()
        if isinstance(node, torch.autograd.function.BackwardCFunction) or len(seen) > MOST_NODES:
            return False
        for above, _ in node.next_functions:
            if above is not None and above not in seen:
                seen.add(above)
                waiting.append(above)
    return True


def _side_of(loss: torch.Tensor, watched: WatchedOptimizer) -> Side | None:
    """Return the parameters to differentiate by; None for an optimizer or parameters of an unknown kind."""
    optimizer = watched.optimizer
    if optimizer is None:  # the program no longer holds it
        return None
    kind = type(optimizer).__name__
    groups = optimizer.param_groups
    bound = bound_of(kind, groups[0])
    rate = float(groups[0].get("lr", 0.0))
    chosen: list[torch.Tensor] = []
    scales: list[torch.Tensor] = []
    for group in groups:
        for parameter in group["params"]:
            if not parameter.requires_grad or not parameter.is_floating_point():
                continue
            if parameter.dtype != loss.dtype or parameter.device != loss.device:
                return None
            share = float(group.get("lr", rate)) / rate if rate else 1.0
            divisor = preconditioner(
                kind, group, optimizer.state.get(parameter, {}), parameter.detach()
            )
            chosen.append(parameter)
            scales.append((share / divisor).sqrt().detach().reshape(-1))
    elements = sum(parameter.numel() for parameter in chosen)
    if bound is None or not 0 < elements <= MOST_ELEMENTS:
        return None
    return Side(chosen, torch.cat(scales), rate, bound)


def _arrived(side: Side, slope: torch.Tensor) -> float | None:
    """Return the multiple of the loss's gradient that the optimizer got; None if it got another gradient."""
    gradients = [gradient_of(p) for p in side.parameters]
    given = torch.cat(
        [
            (torch.zeros_like(p) if g is None else g).detach().reshape(-1)
            for p, g in zip(side.parameters, gradients, strict=True)
        ]
    )
    length = float(torch.dot(slope, slope).item())
    share = float(torch.dot(slope, given).item()) / length if length else 1.0
    if abs(share - 1) < UNCHANGED:
        return 1.0
    return share if math.isfinite(share) and share > 0 else None


def _felt(answer: dict[str, Any], side: Side, share: float) -> dict[str, Any]:
    """Return the answer for an optimizer that got a multiple of the loss's gradient."""
    top = decode(answer["curvature"]) * share
    stable = side.bound / top if top > 0 else math.inf
    return answer | {
        "curvature": encode(top),
        "stable rate": encode(stable),
        "ratio": encode(side.rate / stable if stable else math.inf),
        "gradient": encode(decode(answer["gradient"]) * share),
        "arrived": share,
    }


def _whole_or_part(
    loss: torch.Tensor, side: Side
) -> tuple[dict[str, Any], torch.Tensor | None, Side]:
    """Return the curvature for all weights, or for those after an operation without second derivative.

    A part is at most as curved as the whole: a rate that is unstable for the part is unstable.
    """
    try:
        return *_curvature(loss, side), side
    except (
        RuntimeError
    ) as problem:  # no second derivative or no memory: an answer, not a fault of ours
        refusal = str(problem).partition("\n")[0][:200]
    part = _past(loss, side, refusal)
    if part is not None:
        try:
            answer, slope = _curvature(loss, part)
        except RuntimeError as problem:
            refusal = str(problem).partition("\n")[0][:200]
        else:
            return answer | {"partial": True}, slope, part
    return {"refused": refusal}, None, side


def _past(loss: torch.Tensor, side: Side, refusal: str) -> Side | None:
    """Return the side without the weights behind operations of the kind that refused."""
    found = re.search(r"(?:aten::)?(\w+?)_backward\b", refusal)
    if found is None:
        return None
    kind = found[1].replace("_", "").lower()
    blocked = [node for node in _above([loss.grad_fn]) if _kind(node) == kind]
    behind = {id(getattr(node, "variable", None)) for node in _above(blocked)}
    kept = [id(parameter) not in behind for parameter in side.parameters]
    if all(kept) or not any(kept):
        return None
    sizes = [parameter.numel() for parameter in side.parameters]
    scales = zip(side.scale.split(sizes), kept, strict=True)
    return replace(
        side,
        parameters=[p for p, keeps in zip(side.parameters, kept, strict=True) if keeps],
        scale=torch.cat([scale for scale, keeps in scales if keeps]),
    )


def _kind(node: Any) -> str:
    """Return `mkldnnrnnlayer` for a node `MkldnnRnnLayerBackward0`."""
    return str(node.name()).partition("Backward")[0].replace("_", "").lower()


def _above(nodes: list[Any]) -> list[Any]:
    """Return some nodes of a graph and all nodes that feed them."""
    seen = set(nodes)
    waiting = list(nodes)
    while waiting:
        for above, _ in waiting.pop().next_functions:
            if above is not None and above not in seen:
                seen.add(above)
                waiting.append(above)
    return list(seen)


def _curvature(loss: torch.Tensor, side: Side) -> tuple[dict[str, Any], torch.Tensor | None]:
    began = time.thread_time()
    slope = _gradient(loss, side, create_graph=True)
    if slope is None:
        return {"refused": "the loss does not depend on the weights of this optimizer"}, None
    is_long = time.thread_time() - began > LONG_GRADIENT
    scaled = side.scale * slope.detach()

    def product(vector: torch.Tensor) -> torch.Tensor:
        image = _gradient(torch.dot(slope, side.scale * vector), side, create_graph=False)
        return side.scale * image if image is not None else torch.zeros_like(vector)

    start = torch.randn(scaled.numel(), generator=torch.Generator().manual_seed(0)).to(scaled)
    if is_long and bool(scaled.any().item()):
        start = scaled
    top, products = _largest(product, start, side=side, is_long=is_long)
    value = float(loss.detach().item())
    stable = side.bound / top if top > 0 else math.inf
    descent = float(scaled.pow(2).sum().item())
    answer = {
        "curvature": encode(top),
        "products": float(products),
        "rate": side.rate,
        "bound": side.bound,
        "stable rate": encode(stable),
        "ratio": encode(side.rate / stable if stable else math.inf),
        "loss": encode(value),
        "gradient": encode(math.sqrt(descent)),
        "possible": encode(descent / (2 * top * abs(value)) if top > 0 and value else math.nan),
    }
    return answer, slope.detach()


def _largest(
    product: Callable[[torch.Tensor], torch.Tensor],
    start: torch.Tensor,
    *,
    side: Side,
    is_long: bool,
) -> tuple[float, int]:
    def is_enough(before: float, value: float) -> bool:
        ratio = side.rate * value / side.bound
        growth = value / before if before > 0 else math.inf
        return is_long and ratio > SENSIBLE and ratio * max(growth, 1.0) < STABLE

    with torch.no_grad():
        return largest_eigenvalue(
            torch.enable_grad()(product),
            start,
            most_products=FEW_PRODUCTS if is_long else MOST_PRODUCTS,
            is_enough=is_enough,
        )


def _gradient(value: torch.Tensor, side: Side, *, create_graph: bool) -> torch.Tensor | None:
    """Return the derivative as one vector, None if there is none."""
    parts = (
        torch.autograd.grad(
            value, side.parameters, create_graph=create_graph, retain_graph=True, allow_unused=True
        )
        if value.requires_grad
        else [None] * len(side.parameters)
    )
    if all(part is None for part in parts):
        return None
    return torch.cat(
        [
            (torch.zeros_like(parameter) if part is None else part).reshape(-1)
            for part, parameter in zip(parts, side.parameters, strict=True)
        ]
    )
