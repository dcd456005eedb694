"""Evaluation with dropout on and batch statistics."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.cures import loops
from torchwhy.detect.edits import Source
from torchwhy.detect.wiring import active_layers, is_interleaved, training_modes
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.learning import ForwardModes
from torchwhy.record.trace import Trace

SHOWN = 3


class EvaluationInTrainMode(Detector):
    """A model is evaluated while its dropout and batch normalisation are still in train mode.

    ## What it finds

    A forward pass of a model that trains elsewhere in the program, in train mode, that feeds no backward pass, also
    after the last step, and whose model has Dropout or BatchNorm layers in train mode.

    ## Why it breaks training

    Dropout throws away features in evaluation, and BatchNorm takes the statistics of the evaluated batch and mixes
    them into its running ones. The scores are too low and change from call to call, a single sample gives
    nonsense, and information flows from the test data into the model.

    ## Broken

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Dropout(0.5), nn.Linear(32, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(5):
        for batch in range(10):
            x = torch.randn(32, 6)
            loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(dim=1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            x = torch.randn(64, 6)
            accuracy = (model(x).argmax(dim=1) == x[:, :3].argmax(dim=1)).float().mean()  # <- evaluation-in-train-mode
            print(epoch, accuracy.item())
    ```

    ```python
    import torch
    from torch import nn


    class Trainer:
        def __init__(self, model):
            self.model = model
            self.optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

        def fit(self, batches):
            self.model.train()
            for x, y in batches:
                loss = nn.functional.mse_loss(self.model(x), y)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()

        @torch.no_grad()
        def evaluate(self, batches):
            losses = []
            for x, y in batches:
                prediction = self.model(x)  # <- evaluation-in-train-mode
                losses.append(nn.functional.mse_loss(prediction, y).item())
            return sum(losses) / len(losses)


    torch.manual_seed(0)
    inputs = torch.randn(20, 32, 4)
    batches = [(x, x.sum(dim=1, keepdim=True)) for x in inputs]
    trainer = Trainer(nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 1)))
    for epoch in range(3):
        trainer.fit(batches[:15])
        print(trainer.evaluate(batches[15:]))
    ```

    ## Repaired

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Dropout(0.5), nn.Linear(32, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(5):
        model.train()
        for batch in range(10):
            x = torch.randn(32, 6)
            loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(dim=1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            x = torch.randn(64, 6)
            accuracy = (model(x).argmax(dim=1) == x[:, :3].argmax(dim=1)).float().mean()
            print(epoch, accuracy.item())
    ```

    ## Lookalike

    Dropout that is left on to learn how sure the model is: many passes over the same batch.

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Dropout(0.5), nn.Linear(32, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(30):
        x = torch.randn(32, 6)
        loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(dim=1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    x = torch.randn(8, 6)
    with torch.no_grad():
        samples = torch.stack([model(x).softmax(dim=1) for _ in range(20)])
    print(samples.std(dim=0).mean().item())
    ```

    Labels for the next step come from the model itself, in train mode, at every step.

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(40):
        x = torch.randn(32, 6)
        with torch.no_grad():
            guess = model(x + 0.01 * torch.randn(32, 6)).argmax(dim=1)
        y = torch.where(torch.rand(32) < 0.9, x[:, :3].argmax(dim=1), guess)
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    ```

    ## Limits

    The forward must also run after the last step; an interrupted program is not judged. Where two optimizers step in
    turn, as in a GAN that draws samples in train mode, and where the mode was switched by hand, it is a note. Dropout
    as a function (`F.dropout(x)` without `training=self.training`) is no layer and is not seen.
    """

    name = "evaluation-in-train-mode"
    needs = frozenset({"modes"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for mode in trace.of(ForwardModes):
            trains = training_modes(trace, mode.path)
            layers = active_layers(mode, "train")
            if trains and layers and _is_evaluation(mode):
                yield self._finding(trace, mode, layers)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from loops.evaluate_in_eval_mode(finding, source)

    def _finding(self, trace: Trace, mode: ForwardModes, layers: list[str]) -> Finding:
        meant = mode.repeats > 0 or (mode.freshly and mode.switched == "train")
        shown = ", ".join(layers[:SHOWN]) + (
            f" and {len(layers) - SHOWN} more" if len(layers) > SHOWN else ""
        )
        gradients = "with gradients" if mode.grad else "without gradients"
        return Finding(
            detector=self.name,
            severity="note" if meant or is_interleaved(trace) else "warning",
            message=f"`{mode.path}` is evaluated here in train mode: {shown} still act as in training",
            step=mode.first_step,
            rank=trace.rank,
            location=mode.location,
            evidence=(
                Evidence(
                    f"{mode.count} forward passes in train mode, {gradients}, fed no "
                    "backward pass, the last after the last step",
                    value=float(mode.count),
                    step=mode.first_step,
                ),
                *_last_switch(mode),
            ),
            fixes=(
                Fix(
                    "call model.eval() before evaluation and model.train() after it",
                    safety="show-only",
                ),
            ),
        )


def _is_evaluation(mode: ForwardModes) -> bool:
    """Tell whether a place only looks at the result: it feeds nothing, and comes after the last step, too."""
    return (
        mode.training
        and not mode.backwards
        and not mode.discarded
        and mode.last_step >= mode.step > 0
    )


def _last_switch(mode: ForwardModes) -> list[Evidence]:
    if mode.switched_at is None:
        return [Evidence("eval() was not called on the model before")]
    return [
        Evidence(
            f"the last switch before was {mode.switched}(), {mode.switched_at}",
            location=mode.switched_at,
        )
    ]
