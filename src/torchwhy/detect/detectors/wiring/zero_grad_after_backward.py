"""Gradients are cleared between backward and step."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.cures import loops
from torchwhy.detect.edits import Source
from torchwhy.detect.wiring import made, where
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Weights
from torchwhy.record.learning import CallSeen, StepCalls
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace

ENOUGH_STEPS = 2  # a single one may be a first step that was thrown away on purpose


class ZeroGradAfterBackward(Detector):
    """The gradients are cleared after the backward pass that made them, and before the step that should use them.

    ## What it finds

    In the order of calls `zero_grad` stands between `backward` and `step`, and at that step no parameter of the
    optimizer has a gradient other than zero.

    ## Why it breaks training

    The step finds nothing to do. The loss stays where it is, without any error.

    ## Broken

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    y = x.sum(dim=1, keepdim=True)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(30):
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.zero_grad()  # <- zero-grad-after-backward
        optimizer.step()
    ```

    ```python
    import torch
    from torch import nn


    class Trainer:
        def __init__(self, model):
            self.model = model
            self.optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

        def update(self, loss):
            loss.backward()
            self.model.zero_grad(set_to_none=False)  # <- zero-grad-after-backward
            self.optimizer.step()


    torch.manual_seed(0)
    trainer = Trainer(nn.Linear(6, 3))
    for step in range(20):
        x = torch.randn(16, 6)
        trainer.update(nn.functional.cross_entropy(trainer.model(x), x[:, :3].argmax(dim=1)))
    ```

    ## Repaired

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    y = x.sum(dim=1, keepdim=True)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(30):
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Lookalike

    Between the backward pass of one network and its step the gradients of another one are cleared.

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Linear(4, 2)
    critic = nn.Linear(4, 1)
    optimizer_policy = torch.optim.Adam(policy.parameters(), lr=1e-2)
    optimizer_critic = torch.optim.Adam(critic.parameters(), lr=1e-2)
    for step in range(20):
        x = torch.randn(32, 4)
        value = critic(x)
        gain = (x[:, :1] - value).detach()
        optimizer_policy.zero_grad()
        (-torch.log_softmax(policy(x), dim=1)[:, :1] * gain).mean().backward()
        critic.zero_grad()
        optimizer_policy.step()
        nn.functional.mse_loss(value, x[:, :1]).backward()
        optimizer_critic.step()
    ```

    ## Limits

    The order of calls is known for the first six steps. Clearing by hand (`p.grad = None`) is no call and not seen.
    """

    name = "zero-grad-after-backward"
    needs = frozenset({"calls"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        empty = {
            (sample.step, sample.optimizer)
            for sample in trace.of(Weights)
            if not any(decode(size) for size in sample.gradient_rms)
        }
        owner = {step.step: step for step in trace.steps}
        guilty: dict[int, list[tuple[int, CallSeen]]] = {}
        for calls in trace.of(StepCalls):
            step = owner.get(calls.step)
            between = _cleared_between(calls.calls)
            if (
                step is not None
                and step.losses
                and between is not None
                and (step.step, step.optimizer) in empty
            ):
                guilty.setdefault(step.optimizer, []).append((step.step, between))
        for optimizer, found in guilty.items():
            if len(found) >= ENOUGH_STEPS:
                yield self._finding(trace, optimizer, found)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from loops.move_before(finding, source, "backward")

    def _finding(self, trace: Trace, optimizer: int, found: list[tuple[int, CallSeen]]) -> Finding:
        step, call = found[0]
        maker = made(trace, optimizer)
        kind = f"{maker.kind}{where(maker.location)}" if maker is not None else "the optimizer"
        return Finding(
            detector=self.name,
            severity="error",
            message="the gradients are cleared after backward and before step, so the step has nothing to do",
            step=step,
            rank=trace.rank,
            location=call.location,
            evidence=(
                Evidence(
                    f"the order of calls is backward, zero_grad, step in {len(found)} of the first steps",
                    step=step,
                ),
                Evidence(
                    f"every gradient of {kind} is 0 or missing at these steps", value=0.0, step=step
                ),
            ),
            fixes=(
                Fix(
                    "move zero_grad() before loss.backward(), or behind optimizer.step()",
                    safety="show-only",
                ),
            ),
        )


def _cleared_between(calls: list[CallSeen]) -> CallSeen | None:
    """Return the last `zero_grad` if it stands between the last `backward` and the step."""
    names = [call.name for call in calls]
    if "backward" not in names or "zero_grad" not in names or names[-1] != "step":
        return None
    last = len(names) - 1 - names[::-1].index("zero_grad")
    backward = len(names) - 1 - names[::-1].index("backward")
    return calls[last] if last > backward else None
