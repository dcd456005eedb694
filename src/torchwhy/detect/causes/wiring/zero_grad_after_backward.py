"""Gradients are cleared between backward and step."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from torchwhy.detect.base import Detector
from torchwhy.detect.cures import loops
from torchwhy.detect.edits import Source
from torchwhy.detect.wiring import made, where
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Weights
from torchwhy.record.learning import CallSeen, ParameterCensus, StepCalls
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace

ENOUGH_STEPS = 2  # a single one may be a first step that was thrown away on purpose
ENOUGH_ACCUMULATED = 3  # a GradScaler that looks for its scale skips a step or two at the start


class ZeroGradAfterBackward(Detector):
    """The gradients are cleared after the backward pass that made them, and before the step that should use them.

    ## What it finds

    In the order of calls `zero_grad` stands between `backward` and `step`, and at that step no parameter of the
    optimizer has a gradient other than zero.

    Also gradients that are to be summed over several backward passes and are cleared before each of them: every step
    is preceded by several passes of one and the same `backward` line with a `zero_grad` before each, and nothing in the
    program looks at a gradient in between.

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

    Gradient accumulation that accumulates nothing:

    ```python
    import torch
    from torch import nn


    def train(model, optimizer, accumulate=4):
        for number in range(40):
            x = torch.randn(8, 6)
            optimizer.zero_grad()  # <- zero-grad-after-backward
            loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(dim=1)) / accumulate
            loss.backward()
            if (number + 1) % accumulate == 0:
                optimizer.step()


    torch.manual_seed(0)
    model = nn.Linear(6, 3)
    train(model, torch.optim.Adam(model.parameters(), lr=1e-2))
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

    Gradients of single samples, each looked at before it is cleared.

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(6, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(8):
        total = [torch.zeros_like(p) for p in model.parameters()]
        for sample in torch.randn(6, 1, 6):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(sample), sample[:, :3].argmax(dim=1)).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            for kept, p in zip(total, model.parameters()):
                kept += p.grad / 6
        for kept, p in zip(total, model.parameters()):
            p.grad = kept
        optimizer.step()
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
        yield from self._not_accumulated(trace)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        if finding.severity == "warning":
            yield from loops.clear_behind_step(finding, source)
        else:
            yield from loops.move_before(finding, source, "backward")

    def _not_accumulated(self, trace: Trace) -> Iterator[Finding]:
        """Yield where several backward passes lead to one step, and only the last of them counts."""
        owner = {step.step: step.optimizer for step in trace.steps}
        unread = {
            census.optimizer
            for census in trace.of(ParameterCensus)
            if census.reads_gradients is False
        }
        found: dict[int, list[tuple[int, int, CallSeen | None]]] = {}
        for calls in trace.of(StepCalls):
            optimizer = owner.get(calls.step)
            if optimizer in unread:
                passes, cleared = _cleared_each_time(calls.calls, optimizer)
                found.setdefault(optimizer, []).append((calls.step, passes, cleared))
        for optimizer, steps in found.items():
            thrown = [(step, passes, call) for step, passes, call in steps if call is not None]
            # The first may follow a backward pass that was only tried out.
            if len(thrown) >= ENOUGH_ACCUMULATED and all(call for _, _, call in steps[1:]):
                yield self._about_accumulation(trace, optimizer, thrown[-1])

    def _about_accumulation(
        self, trace: Trace, optimizer: int, last: tuple[int, int, CallSeen | None]
    ) -> Finding:
        step, passes, call = last
        maker = made(trace, optimizer)
        kind = f"{maker.kind}{where(maker.location)}" if maker is not None else "the optimizer"
        return Finding(
            detector=self.name,
            severity="warning",
            message=(
                f"each step follows {passes} backward passes, but zero_grad() comes before each of them: "
                "only the gradients of the last one are used"
            ),
            step=0,
            rank=trace.rank,
            location=call.location if call is not None else None,
            evidence=(
                Evidence(
                    f"the order of calls up to step {step} of {kind}: "
                    f"{passes} times zero_grad, backward, and then one step",
                    value=float(passes),
                    step=step,
                ),
                Evidence("nothing in the program looks at a gradient before it is cleared"),
            ),
            fixes=(
                Fix(
                    "clear the gradients once per step: zero_grad() right behind optimizer.step()",
                    safety="show-only",
                ),
            ),
        )

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


def _cleared_each_time(calls: list[CallSeen], optimizer: int) -> tuple[int, CallSeen | None]:
    """Return the number of backward passes before a step, and the `zero_grad` that stands before each of them.

    None unless there are several passes, all of one line, and every one but the last was cleared by one line.
    """
    relevant = [call for call in calls if call.name in ("zero_grad", "backward")]
    backwards = [call for call in relevant if call.name == "backward"]
    clears = [
        after
        for before, after in pairwise(relevant)
        if before.name == "backward" and after.name == "zero_grad"
    ]
    ends_well = bool(relevant) and relevant[-1].name == "backward"
    is_one_line = len({_line(call) for call in backwards}) == 1 == len({_line(c) for c in clears})
    if len(backwards) < 2 or not ends_well or not is_one_line:
        return len(backwards), None
    is_all = len(clears) == len(backwards) - 1
    is_own = all(call.optimizer in (None, -1, optimizer) for call in clears)
    # What a library clears for the user is not for us to judge.
    is_plain = "zero_grad" in (clears[0].location.expression or "") if clears[0].location else False
    return len(backwards), clears[0] if is_all and is_own and is_plain else None


def _line(call: CallSeen) -> tuple[str, int] | None:
    return (call.location.file, call.location.line) if call.location is not None else None
