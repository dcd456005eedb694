"""The loss on held-out data rises while that on the training data falls."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from msgspec.structs import replace

from torchwhy.detect.base import Detector
from torchwhy.detect.overshoot import loss_curve
from torchwhy.detect.training import Training, is_lower, trainings
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.learning import Evaluated
from torchwhy.record.trace import Trace

FEWEST = 6  # evaluations, before a curve can be said to turn
LAST = 3  # evaluations whose median is the end of the curve
ROSE = 1.3  # end of the curve over its lowest point; evaluations of healthy runs waver by less


class Overfitting(Detector):
    """The evaluation loss has turned and rises, while the training loss keeps falling.

    ## What it finds

    A loss that the program reads without gradients, evaluation after evaluation, whose lowest value lies well in the
    past and which ends a third above it, while the training loss went on falling. A note, because it is a choice
    when to stop.

    ## Why it breaks training

    From the turn on the network learns its training samples by heart: what it learns no longer holds for others.

    ## Broken

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    x, y = torch.randn(40, 30), torch.randint(0, 2, (40,))
    x_val, y_val = torch.randn(200, 30), torch.randint(0, 2, (200,))
    model = nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Linear(64, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(100):
        model.train()
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if epoch % 5 == 4:
            model.eval()
            with torch.no_grad():
                val_loss = nn.functional.cross_entropy(model(x_val), y_val)
                print(epoch, val_loss.item())  # <- overfitting
    ```

    ## Repaired

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(400, 30)
    y = (x[:, 0] > 0).long()
    x_val = torch.randn(200, 30)
    y_val = (x_val[:, 0] > 0).long()
    model = nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Linear(64, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(60):
        model.train()
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if epoch % 5 == 4:
            model.eval()
            with torch.no_grad():
                val_loss = nn.functional.cross_entropy(model(x_val), y_val)
                print(epoch, val_loss.item())
    ```

    ## Lookalike

    A run that stops when the evaluation loss has not improved for a while.

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    x, y = torch.randn(40, 30), torch.randint(0, 2, (40,))
    x_val, y_val = torch.randn(200, 30), torch.randint(0, 2, (200,))
    model = nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Linear(64, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    best, waited = float("inf"), 0
    for epoch in range(100):
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            val_loss = nn.functional.cross_entropy(model(x_val), y_val).item()
        best, waited = (val_loss, 0) if val_loss < best else (best, waited + 1)
        if waited > 3:
            break
    ```

    ## Limits

    Only numbers read from expressions that are called a loss or an error are followed; accuracies are not.
    """

    name = "overfitting"
    needs = frozenset({"loss", "evaluation"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        if trace.alarms:
            return
        for evaluated in trace.of(Evaluated):
            for training in trainings(trace):
                curve = _during(evaluated, training)
                lowest = _turn(curve)
                if lowest is not None and _still_learning(training, curve.steps[lowest]):
                    yield self._finding(trace, training, curve, lowest)
                    return

    def _finding(self, trace: Trace, training: Training, curve: Evaluated, lowest: int) -> Finding:
        best, end = curve.values[lowest], median(curve.values[-LAST:])
        return Finding(
            detector=self.name,
            severity="note",
            message=(
                f"the evaluation loss was lowest at step {curve.steps[lowest]} ({best:.3g}) and is "
                f"{end:.3g} now, while the "
                f"training loss fell on to {training.values[-1]:.3g}"
            ),
            step=curve.steps[lowest],
            rank=trace.rank,
            location=curve.location,
            evidence=(
                Evidence("loss in evaluation", value=end, series=tuple(curve.values)),
                loss_curve(training),
            ),
            fixes=(
                Fix(
                    title=f"keep the weights of step {curve.steps[lowest]} (early stopping); more "
                    "data, dropout, weight decay",
                    safety="show-only",
                ),
            ),
        )


def _during(curve: Evaluated, training: Training) -> Evaluated:
    """Return what was evaluated while one optimizer trained: before and after, or in turn, it may be another model."""
    if not training.alone or not training.losses:
        return replace(curve, steps=[], values=[])
    first, last = training.losses[0][0], training.losses[-1][0]
    own = [place for place, step in enumerate(curve.steps) if first < step <= last + 1]
    return replace(
        curve,
        steps=[curve.steps[place] for place in own],
        values=[curve.values[place] for place in own],
    )


def _turn(curve: Evaluated) -> int | None:
    """Return the place from which the evaluation loss rose and stays up."""
    if len(curve.values) < FEWEST:
        return None
    lowest = min(range(len(curve.values)), key=curve.values.__getitem__)
    if lowest >= len(curve.values) - LAST or not curve.values[lowest] > 0:
        return None
    return lowest if median(curve.values[-LAST:]) >= ROSE * curve.values[lowest] else None


def _still_learning(training: Training, turn: int) -> bool:
    """Tell whether the training loss went on falling after the turn of the evaluation loss."""
    before = [loss for step, loss in training.losses if step <= turn][-20:]
    after = [loss for step, loss in training.losses if step > turn]
    return is_lower(after[len(after) // 2 :], than=before)
