"""Gradients of earlier steps are never cleared."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.cures import loops, statements
from torchwhy.detect.edits import Source
from torchwhy.detect.wiring import uncalled
from torchwhy.finding import Evidence, Finding, Fix, SourceSpan
from torchwhy.record.learning import HandUpdate, StaleGradients
from torchwhy.record.trace import Trace

ENOUGH_TIMES = (
    3  # one leftover may be a restart or a warm-up pass; three in a run are the loop itself
)
BY_HAND = -1


class MissingZeroGrad(Detector):
    """A step uses gradients that an earlier step has used already, because nobody cleared them in between.

    ## What it finds

    After a step the gradients stay where they are, with their values; the next backward pass adds to the same
    memory, and the next step uses the sum. It is judged by address and version of the gradients, not by the loss:
    whoever clears them by `zero_grad`, on the model or the optimizer, at the start or the end of the loop, by
    `p.grad = None` or `p.grad.zero_()` is not reported.

    ## Why it breaks training

    Every step then follows the sum of all gradients since the start. It cannot turn round: the weights overshoot
    the minimum further and further, which looks like a learning rate that is too high.

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
        optimizer.step()  # <- missing-zero-grad
    ```

    Cleared once per epoch, where it should be once per batch:

    ```python
    import torch
    from torch import nn


    def train_epoch(model, batches, optimizer):
        total = 0.0
        for x, y in batches:
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()  # <- missing-zero-grad
            total += loss.item()
        return total / len(batches)


    torch.manual_seed(0)
    inputs = torch.randn(12, 16, 6)
    batches = [(x, x[:, :3].argmax(dim=1)) for x in inputs]
    model = nn.Linear(6, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(4):
        optimizer.zero_grad()
        train_epoch(model, batches, optimizer)
    ```

    Without an optimizer:

    ```python
    import torch

    torch.manual_seed(0)
    x = torch.linspace(-1, 1, 50)
    y = 3 * x + 1
    w = torch.zeros(1, requires_grad=True)
    b = torch.zeros(1, requires_grad=True)
    for step in range(20):
        loss = ((w * x + b - y) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            for parameter in (w, b):
                parameter -= 0.01 * parameter.grad  # <- missing-zero-grad
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

    Gradients are accumulated on purpose over four batches, and cleared by hand after the step.

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for batch in range(80):
        x = torch.randn(16, 4)
        loss = nn.functional.mse_loss(model(x), x.sum(dim=1, keepdim=True)) / 4
        loss.backward()
        if batch % 4 == 3:
            optimizer.step()
            for parameter in model.parameters():
                parameter.grad = None
    ```

    Two networks in a game: the generator's backward pass adds to the gradients of the discriminator, which are
    cleared before it uses them.

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    generator = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 2))
    discriminator = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
    optimizer_g = torch.optim.Adam(generator.parameters(), lr=1e-3)
    optimizer_d = torch.optim.Adam(discriminator.parameters(), lr=1e-3)
    judge = nn.BCEWithLogitsLoss()
    for step in range(30):
        real = torch.randn(32, 2) * 0.5 + 1
        fake = generator(torch.randn(32, 2))
        optimizer_d.zero_grad(set_to_none=False)
        judge(discriminator(real), torch.ones(32, 1)).backward()
        judge(discriminator(fake.detach()), torch.zeros(32, 1)).backward()
        optimizer_d.step()
        optimizer_g.zero_grad()
        judge(discriminator(fake), torch.ones(32, 1)).backward()
        optimizer_g.step()
    ```

    ## Limits

    Three parameters of each optimizer are watched, for 400 steps; sparse gradients are not.
    """

    name = "missing-zero-grad"
    needs = frozenset({"stale-gradients"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        events: dict[int, list[StaleGradients]] = {}
        for event in trace.of(StaleGradients):
            events.setdefault(event.optimizer, []).append(event)
        for found in events.values():
            last = found[-1]
            # A loop that clears now and then is reported only if most of its steps run on leftovers.
            rare = last.cleared_ever and last.times < last.step / 2
            if last.times >= ENOUGH_TIMES and not rare:
                yield self._finding(trace, found)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from statements.called(finding, source)
        yield from loops.clear_gradients(finding, source)

    def _finding(self, trace: Trace, events: list[StaleGradients]) -> Finding:
        first, last = events[0], events[-1]
        location = first.stepped_at or first.location
        if first.optimizer == BY_HAND:
            update = next(iter(trace.of(HandUpdate)), None)
            location = update.location if update is not None else first.location
        call = location.expression if location is not None and location.expression else "the update"
        named = uncalled(trace, "zero_grad") if not last.cleared_ever else None
        never = (
            "nobody ever clears them"
            if not last.cleared_ever
            else "they are cleared only now and then"
        )
        return Finding(
            detector=self.name,
            severity="error",
            message=(
                f"`{call}` ran on gradients left over from step {first.used_at_step} "
                f"(0 clears since then); {never}"
            ),
            step=first.step,
            rank=trace.rank,
            location=named or location,
            evidence=(
                *_without_brackets(named),
                Evidence(
                    f"until step {last.step}, {last.times} backward passes added to "
                    "gradients that a step had used already",
                    value=float(last.times),
                    step=last.step,
                    location=last.location or first.location,
                ),
            ),
            fixes=(
                Fix(
                    "clear the gradients once per step: optimizer.zero_grad() before loss.backward()",
                    safety="show-only",
                ),
            ),
        )


def _without_brackets(named: SourceSpan | None) -> list[Evidence]:
    if named is None:
        return []
    return [Evidence(f"`{named.expression}` names the method and does not call it")]
