"""The optimizer steps, and no backward pass has ever made a gradient."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.cures import statements
from torchwhy.detect.edits import Source
from torchwhy.detect.wiring import ENOUGH_UPDATES, made, steps_of, uncalled
from torchwhy.finding import Evidence, Finding, Fix, SourceSpan
from torchwhy.record.events import OptimizerMade, RunEnded, Step, Weights
from torchwhy.record.learning import ForwardModes, ParameterCensus, StepCalls
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace


class MissingBackward(Detector):
    """The optimizer makes steps, but `backward()` is never called.

    ## What it finds

    An optimizer has made some steps, the program computes with its parameters, no backward pass has run since the
    first one, none of them ever had a gradient, and all are as they were. Often `loss.backward` stands there without
    its brackets.

    ## Why it breaks training

    `step()` passes over parameters without a gradient and says nothing. The loss goes up and down with the batches, and
    nothing is learnt.

    ## Broken

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(40):
        x = torch.randn(32, 6)
        loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(dim=1))
        optimizer.zero_grad()
        loss.backward  # <- missing-backward
        optimizer.step()
    ```

    ```python
    import torch
    from torch import nn


    def train(model, batches):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for x in batches:
            optimizer.zero_grad()
            loss = (model(x) - x.sum(dim=1, keepdim=True)).pow(2).mean()
            optimizer.step()  # <- missing-backward
            print(loss.item())


    torch.manual_seed(0)
    train(nn.Linear(4, 1), torch.randn(30, 16, 4))
    ```

    ## Repaired

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(40):
        x = torch.randn(32, 6)
        loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(dim=1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Lookalike

    Gradients that the program estimates by itself, from what random changes of the weights do to the loss.

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(60):
        x = torch.randn(64, 4)
        with torch.no_grad():
            start = [p.clone() for p in model.parameters()]
            noise = [torch.randn_like(p) for p in start]
            losses = []
            for sign in (1, -1):
                for p, s, n in zip(model.parameters(), start, noise):
                    p.copy_(s + sign * 0.01 * n)
                losses.append((model(x).squeeze(1) - x[:, 0]).pow(2).mean())
            for p, s, n in zip(model.parameters(), start, noise):
                p.copy_(s)
                p.grad = (losses[0] - losses[1]) / 0.02 * n
        optimizer.step()
    ```

    An optimizer that makes steps for nothing but its schedule.

    ```python
    import torch
    from torch import nn

    optimizer = torch.optim.AdamW(nn.Linear(4, 2).parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=50)
    rates = []
    for step in range(50):
        optimizer.step()
        scheduler.step()
        rates.append(scheduler.get_last_lr()[0])
    print(rates)
    ```

    ## Limits

    An optimizer with fewer than three steps is left alone: some call `step()` once to quiet a scheduler.
    """

    name = "missing-backward"
    needs = frozenset({"calls", "loss"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        # Of several optimizers that share a backward pass only the first is told of its loss; on some devices none is.
        ran = [step.step for step in trace.steps if step.losses]
        ran += [
            event.step
            for event in trace.of(StepCalls)
            if any(call.name == "backward" for call in event.calls)
        ]
        last = max(ran, default=-1)
        for event in trace.of(OptimizerMade):
            steps = steps_of(trace, event.index)
            if len(steps) < ENOUGH_UPDATES or not last < steps[0].step:
                continue
            if not _nothing_moved(trace, event.index):
                continue
            if uncalled(trace, "backward") is not None or _is_at_work(trace, event.index):
                yield self._finding(trace, event.index, steps=steps)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from statements.called(finding, source)

    def _finding(self, trace: Trace, optimizer: int, *, steps: list[Step]) -> Finding:
        maker = made(trace, optimizer)
        kind = maker.kind if maker is not None else "the optimizer"
        named = uncalled(trace, "backward")
        first = steps[0].step
        since = f" since step {first}, when it began" if first else ""
        evidence = [
            Evidence(
                "none of its parameters has had a gradient, and all are as they were", value=0.0
            )
        ]
        if named is not None:
            evidence.insert(
                0, Evidence(f"`{named.expression}` names the method and does not call it")
            )
        return Finding(
            detector=self.name,
            severity="error",
            message=(
                f"{kind} has made {len(steps)} steps, and no backward pass has run{since}: "
                "there is nothing to step along"
            ),
            step=first,
            rank=trace.rank,
            location=named or _place_of_step(trace, optimizer),
            evidence=tuple(evidence),
            fixes=(Fix("call loss.backward() before optimizer.step()", safety="show-only"),),
        )


def _is_at_work(trace: Trace, optimizer: int) -> bool:
    """Tell whether the program computes something with an optimizer's parameters, from step to step.

    An optimizer that only carries a schedule, to draw it or for updates by other means, has nothing to step along.
    """
    own = [
        one
        for look in (trace, *trace.later_looks)
        for census in look.of(ParameterCensus)
        for one in census.parameters
        if census.optimizer == optimizer and one.in_optimizer
    ]
    used = [one for one in own if one.used and one.requires_grad]
    if own and not used:
        return False
    if any(one.owner is None for one in used) or not trace.of(RunEnded):
        return True  # no module that could be seen at work; a program that was killed has not told of its modules
    return any(_forwards_since(trace, optimizer))


def _forwards_since(trace: Trace, optimizer: int) -> Iterator[ForwardModes]:
    """Yield the places at which a model ran with its graph between an optimizer's steps."""
    first = steps_of(trace, optimizer)[0].step
    for mode in trace.of(ForwardModes):
        if mode.grad and mode.steps >= ENOUGH_UPDATES - 1 and mode.last_step > first:
            yield mode


def _nothing_moved(trace: Trace, optimizer: int) -> bool:
    """Tell whether no sample of an optimizer's weights shows a gradient or another weight."""
    samples = [one for one in trace.of(Weights) if one.optimizer == optimizer]
    return (
        len(samples) > 1
        and all(not decode(size) for one in samples for size in one.gradient_rms)
        and all(one.weight_rms == samples[0].weight_rms for one in samples)
    )


def _place_of_step(trace: Trace, optimizer: int) -> SourceSpan | None:
    own = {step.step for step in steps_of(trace, optimizer)}
    calls = [call for event in trace.of(StepCalls) if event.step in own for call in event.calls]
    steps = [
        call.location
        for call in calls
        if call.name == "step" and call.optimizer in (None, optimizer)
    ]
    # Of the steps of a later phase no calls are told.
    forwards = [one.location for one in _forwards_since(trace, optimizer) if not one.backwards]
    maker = made(trace, optimizer)
    return next(iter([*steps, *forwards]), maker.location if maker is not None else None)
