"""The updates drove the weights up until the numbers ended."""

from __future__ import annotations

import math
from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.births import certainty_of, counted_births, show
from torchwhy.detect.by_hand import diverged_by_hand
from torchwhy.detect.candidates import judged_among
from torchwhy.detect.causes.numerics import (
    domain_error,
    exp_overflow,
    float_overflow,
    half_precision_overflow,
    infinity_arithmetic,
    log_of_nonpositive,
)
from torchwhy.detect.cures import optimizers
from torchwhy.detect.edits import Source
from torchwhy.detect.history import History, curve_of, history_of, times
from torchwhy.detect.looks import input_growth
from torchwhy.detect.overshoot import find_overshoot, proof_of, stable_advice
from torchwhy.detect.rate_places import place_of_rate
from torchwhy.detect.sources import word
from torchwhy.detect.training import trainings
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Birth, OptimizerMade
from torchwhy.record.numbers import is_finite
from torchwhy.record.trace import Trace

GROWTH = 10.0  # weights and loss that stay within one order of magnitude have not diverged, whatever else broke
SUDDEN_UPDATES = 3  # so few updates leave no curve of losses to read, only the size of the jump
HUGE_GRADIENT = 1e3  # over the weights before any update: beyond, the gradient exploded
MOVED = 1.2  # weights of a healthy run change by less in the few steps in which a wrong rate doubles the loss
JUMP = 1e3  # a loss that rises so much in one step of a run that went well met a bad batch; divergence is gradual
ADAPTIVE = frozenset(
    {"Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop", "Adagrad", "Adadelta", "SparseAdam"}
)
# What numbers that have grown too large end in; a zero row, a bad sample or an empty mask is none of these.
CONSEQUENCES = (
    float_overflow.judge,
    exp_overflow.judge,
    half_precision_overflow.judge,
    infinity_arithmetic.judge,
    log_of_nonpositive.judge,
    domain_error.judge,
)


class LearningRateTooHigh(Detector):
    """The learning rate is so high that each update overshoots, until weights and loss leave the range of numbers.

    ## What it finds

    A run that ended in inf or NaN after its weights had grown by orders of magnitude: over the steps the loss
    grew with them, or one or a few updates were enough. The overflow at the end is the consequence.
    In a run that stays finite: a loss that was driven up and stays there, swings without falling, or is
    "perfect" only because the updates killed every ReLU. The curvature of the loss, measured in the run,
    gives the rate that would be stable.

    ## Why it breaks training

    A step longer than 2 / curvature lands further from the minimum than it started, on steeper ground, so the
    next step is longer still. Loss and weights grow by a constant factor per step, and 3e38 is soon
    reached. Adam moves every weight by about the rate at each step, whatever the gradient.

    ## Broken

    The program's own `isnan` test never fires: the loss becomes inf first.

    ```python
    import torch

    torch.manual_seed(0)
    x = torch.randn(64, 3)
    y = x @ torch.tensor([[1.0], [-2.0], [0.5]])
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1000)  # <- learning-rate-too-high
    for epoch in range(30):
        loss = ((model(x) - y) ** 2).mean()
        if torch.isnan(loss):
            print("stopped: NaN")
            break
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    A deep network in functions, with momentum and a DataLoader; the rate is not absurd, only ten times too high.

    ```python
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset


    def make_model():
        return nn.Sequential(nn.Linear(8, 32), nn.LeakyReLU(), nn.Linear(32, 32), nn.LeakyReLU(), nn.Linear(32, 1))


    def train(model, loader, epochs):
        settings = {"lr": 0.6, "momentum": 0.9}
        optimizer = torch.optim.SGD(model.parameters(), **settings)  # <- learning-rate-too-high
        criterion = nn.MSELoss()
        for _ in range(epochs):
            for x, y in loader:
                optimizer.zero_grad()
                loss = criterion(model(x), y)
                loss.backward()
                optimizer.step()


    torch.manual_seed(0)
    inputs = torch.randn(128, 8)
    targets = inputs.sum(dim=1, keepdim=True)
    train(make_model(), DataLoader(TensorDataset(inputs, targets), batch_size=32, shuffle=True), epochs=10)
    ```

    Adam: one step moves every weight by 200, and the softmax of the second step has exact zeros.

    ```python
    import torch
    from torch import nn


    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Linear(10, 4)

        def forward(self, x):
            return torch.softmax(self.body(x), dim=1)


    torch.manual_seed(0)
    net = Classifier()
    optimizer = torch.optim.Adam(net.parameters(), lr=200.0)  # <- learning-rate-too-high
    for step in range(10):
        x = torch.randn(16, 10)
        label = torch.randint(0, 4, (16,))
        probabilities = net(x)
        loss = -torch.log(probabilities[torch.arange(16), label]).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    A scheduler that raises a good rate until it is too high.

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 16), nn.LeakyReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)  # <- learning-rate-too-high
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=1.06)
    for step in range(400):
        x = torch.randn(16, 4)
        loss = (net(x) - x.sum(dim=1, keepdim=True)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
    ```

    The loss is exactly 0 because no unit fires any more, which looks like success.

    ```python
    import torch
    from torch import nn

    torch.manual_seed(4)
    x, y = torch.randn(32, 10), torch.zeros(32, 1)
    model = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 1), nn.ReLU())
    optimizer = torch.optim.Adam(model.parameters(), lr=1000)  # <- learning-rate-too-high
    for epoch in range(100):
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Repaired

    ```python
    import torch

    torch.manual_seed(0)
    x = torch.randn(64, 3)
    y = x @ torch.tensor([[1.0], [-2.0], [0.5]])
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(30):
        loss = ((model(x) - y) ** 2).mean()
        if torch.isnan(loss):
            print("stopped: NaN")
            break
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Lookalike

    A rate of 1000 is fine where the loss is a thousand times smaller.

    ```python
    import torch

    torch.manual_seed(0)
    x = torch.randn(64, 3)
    y = x @ torch.tensor([[1.0], [-2.0], [0.5]])
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1000)
    for epoch in range(30):
        loss = ((model(x) - y) ** 2).mean() * 1e-4
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    Weights that grow from almost nothing to their proper size, while the loss falls.

    ```python
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    with torch.no_grad():
        model.weight.mul_(1e-3)
        model.bias.zero_()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    for step in range(60):
        x = torch.randn(32, 4)
        loss = (model(x) - 20 * x.sum(dim=1, keepdim=True)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Limits

    A run of fewer than 40 steps that stays finite is judged only when its units died or its loss grew tenfold.
    The curvature is not measured for compiled, distributed or very large models, nor where the program has hooks
    on tensors. Of updates written by hand (`p -= lr * p.grad`) only the losses are known.
    """

    name = "learning-rate-too-high"
    needs = frozenset({"birth", "weights", "loss"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        yield from self._overshoots(trace)
        births = failing_births(trace)
        if not births or not are_consequences(births) or input_growth(trace) is not None:
            return
        yield from diverged_by_hand(trace, births, self.name)
        grown = weights_diverged(trace)
        if grown:
            yield self._finding(trace, max(grown, key=lambda one: one.weight_ratio), births)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from optimizers.lower_rate(finding, source)

    def _overshoots(self, trace: Trace) -> Iterator[Finding]:
        """Yield the optimizers whose updates were too long in a run that stayed finite."""
        for training in trainings(trace):
            overshoot = find_overshoot(trace, training)
            if overshoot is None:
                continue
            made, rate = training.made, show(training.rate)
            found = Finding(
                detector=self.name,
                severity="error",
                message=f"lr={rate} is too high for this {made.kind}: its updates {overshoot.harm}",
                step=overshoot.update[0],
                rank=trace.rank,
                location=made.location,
                evidence=tuple(proof_of(training, overshoot)),
                fixes=(Fix(title=stable_advice(training, overshoot), safety="show-only"),),
            )
            yield judged_among(found, training, trace)

    def _finding(self, trace: Trace, history: History, births: list[Birth]) -> Finding:
        made, rate = history.made, show(history.rate)
        if history.rate != history.first_rate:
            rate += f" (at first {show(history.first_rate)})"
        steps = "1 step" if history.updates == 1 else f"{history.updates} steps"
        message = (
            f"lr={rate} is too high for this {made.kind}: in {steps} the weights grew "
            f"{times(history.weight_ratio)}, most of all {history.fastest}"
        )
        if len(history.losses) > 1:
            ends = [word(x) for one in trace.alarms for x in one.losses if not is_finite(x)][:1]
            message += f", and the loss went {' → '.join([curve_of([x for _, x in history.losses]), *ends])}"
        return Finding(
            detector=self.name,
            severity="error",
            message=message,
            step=births[0].step,
            rank=trace.rank,
            location=place_of_rate(trace, made, (history.first_rate, history.rate)),
            evidence=tuple(evidence_of(history)),
            certainty=certainty_of(trace, births[0]),
            fixes=(Fix(title=advice_for(history), safety="show-only"),),
            births=tuple(birth.id for birth in births),
        )


def weights_diverged(trace: Trace) -> list[History]:
    """Return the optimizers whose updates drove the weights up before the step that failed."""
    births = failing_births(trace)
    if not births:
        return []
    histories = [history_of(trace, made, births[0].step) for made in trace.of(OptimizerMade)]
    return [history for history in histories if history is not None and has_diverged(history)]


def failing_births(trace: Trace) -> list[Birth]:
    """Return the births of the step that failed first."""
    births = counted_births(trace)
    step = trace.alarms[0].step if trace.alarms else None
    chosen = [birth for birth in births if step is None or birth.step == step]
    return [birth for birth in chosen if birth.step == chosen[0].step]


def are_consequences(births: list[Birth]) -> bool:
    """Tell whether the failure is what too large numbers end in, and nothing bad came in from outside."""
    if any(
        birth.kind == "source" and birth.origin not in ("parameter", "buffer") for birth in births
    ):
        return False
    first = births[0]
    return first.kind == "source" or any(judge(first) is not None for judge in CONSEQUENCES)


def has_diverged(history: History) -> bool:
    """Tell whether the updates, and not one bad batch or one exploded gradient, drove the weights up."""
    if not history.weight_ratio >= GROWTH:
        return False
    if history.updates <= SUDDEN_UPDATES:
        start = history.sizes[0][1]
        exploded = history.first_gradient > HUGE_GRADIENT * max(start, 1e-3)
        return history.made.kind in ADAPTIVE or not exploded
    return history.loss_ratio >= GROWTH and weights_grew_before_loss(history)


def weights_grew_before_loss(history: History) -> bool:
    """Tell whether the weights were larger already when the loss first was: a bad batch does it the other way round."""
    start = abs(history.losses[0][1])
    places = [
        place for place, (_, loss) in enumerate(history.losses) if abs(loss) >= GROWTH * start
    ]
    if not places or not places[0]:
        return True
    before, risen = history.losses[places[0] - 1], history.losses[places[0]]
    there = next((size for step, size in history.sizes if step == risen[0]), None)
    if there is not None:
        return there >= MOVED * history.sizes[0][1]
    return history.rate_was_raised_before(risen[0]) or abs(risen[1]) < JUMP * abs(before[1])


def evidence_of(history: History) -> list[Evidence]:
    """Return the curves and the growth per step."""
    losses = tuple(loss for _, loss in history.losses)
    sizes = tuple(size for _, size in history.sizes if math.isfinite(size))
    facts = [Evidence("root mean square of all weights, at the sampled steps", series=sizes)]
    if losses:
        facts.insert(
            0, Evidence("loss of each step before the failure", value=losses[-1], series=losses)
        )
    if math.isfinite(history.growth_per_step):
        growth = history.growth_per_step
        facts.append(Evidence(f"the weights grew {times(growth)} a step", value=growth))
    for step, before, after in history.raises[-1:]:
        facts.append(Evidence(f"the rate was raised from {before:g} to {after:g}", step=step))
    return facts


def advice_for(history: History) -> str:
    """Return what to change; for plain SGD with a steady growth also about which rate is stable."""
    rate, growth = history.rate, history.growth_per_step
    plain = history.made.kind == "SGD" and not history.made.defaults.get("momentum")
    if rate is None:
        return f"lower the learning rate of {history.made.kind} by a factor of 10 or more"
    if rate != history.first_rate and history.losses:
        best = min(history.losses, key=lambda pair: abs(pair[1]))[0]
        return (
            f"stop raising the rate at about lr={show(history.rate_at(best))}, which it was at step {best} "
            f"when the loss was lowest; it is {show(rate)} now"
        )
    if plain and math.isfinite(growth) and history.updates > 1:
        # On a quadratic, SGD multiplies the error by 1 - lr·curvature at each step; stable means below 2 / curvature.
        return f"lower lr={show(rate)} to less than about {2 * rate / (1 + growth):.2g}, which this growth allows"
    usual = "1e-3" if history.made.kind in ADAPTIVE else f"{rate / 100:.2g}"
    return f"lower lr={show(rate)}, for instance to {usual}"
