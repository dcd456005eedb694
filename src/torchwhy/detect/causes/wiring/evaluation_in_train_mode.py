"""Evaluation with dropout on and batch statistics."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.cures import loops, statements
from torchwhy.detect.edits import Source
from torchwhy.detect.judging import short
from torchwhy.detect.wiring import (
    active_layers,
    is_interleaved,
    place_of_evaluation,
    training_modes,
    uncalled,
)
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.learning import DropoutInEvaluation, ForwardModes
from torchwhy.record.trace import Trace

SHOWN = 3
SWITCH_POSITION = 2  # of `training` among the arguments of F.dropout


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

    Dropout is called as a function, which does not know the mode of its model.

    ```python
    import torch
    from torch import nn
    import torch.nn.functional as F


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.hidden = nn.Linear(6, 32)
            self.out = nn.Linear(32, 3)

        def forward(self, x):
            x = F.dropout(torch.relu(self.hidden(x)), 0.5)  # <- evaluation-in-train-mode
            return self.out(x)


    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(3):
        model.train()
        for step in range(10):
            x = torch.randn(32, 6)
            loss = F.cross_entropy(model(x), x[:, :3].argmax(dim=1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            x = torch.randn(64, 6)
            print((model(x).argmax(dim=1) == x[:, :3].argmax(dim=1)).float().mean().item())
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
    turn, as in a GAN that draws samples in train mode, and where the mode was switched by hand, it is a note, and so is
    dropout as a function that is told `training=True`, or whose model gets the same input time and again.
    """

    name = "evaluation-in-train-mode"
    needs = frozenset({"modes"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for mode in trace.of(ForwardModes):
            trains = training_modes(trace, mode.path)
            layers = active_layers(mode, "train")
            if trains and layers and _is_evaluation(mode):
                yield self._finding(trace, mode, layers)
        yield from self._functions(trace)

    def _functions(self, trace: Trace) -> Iterator[Finding]:
        """Yield the places where a function drops values though its model is in eval mode."""
        told = set()
        for seen in trace.of(DropoutInEvaluation):
            modes = [m for m in trace.of(ForwardModes) if m.path == seen.path and not m.training]
            evaluations = [mode for mode in modes if not mode.backwards and not mode.discarded]
            if seen.location in told or not evaluations or not training_modes(trace, seen.path):
                continue
            told.add(seen.location)
            yield self._dropped(trace, seen, evaluations)

    def _dropped(
        self, trace: Trace, seen: DropoutInEvaluation, evaluations: list[ForwardModes]
    ) -> Finding:
        call = short(seen.location.expression or "") if seen.location is not None else "dropout"
        repeats = sum(mode.repeats for mode in evaluations)
        meant = repeats > 0 or "training=True" in call.replace(" ", "")
        count = sum(mode.count for mode in evaluations)
        attends = "scaled_dot_product_attention" in call
        switch = "dropout_p=p if self.training else 0.0" if attends else "training=self.training"
        return Finding(
            detector=self.name,
            severity="note" if meant else "warning",
            message=(
                f"`{call}` drops values in evaluation, too: a function does not know that `{seen.path}` is in eval mode"
            ),
            step=seen.step,
            rank=trace.rank,
            location=seen.location,
            evidence=(
                Evidence(
                    f"at step {seen.step} it dropped values in a forward of `{seen.path}` with training=False",
                    step=seen.step,
                    location=evaluations[0].location,
                ),
                Evidence(
                    f"{count} forward passes in eval mode gave results with random zeros in them",
                    value=float(count),
                    location=evaluations[0].location,
                ),
            ),
            fixes=(Fix(f"tell it the mode: {switch}", safety="show-only"),),
        )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        node = source.at(finding.location)
        if isinstance(node, ast.Call) and "dropout" in source.of(node.func):
            yield from _told_the_mode(source, node)
            return
        yield from statements.called(finding, source)
        yield from loops.evaluate_in_eval_mode(finding, source)

    def _finding(self, trace: Trace, mode: ForwardModes, layers: list[str]) -> Finding:
        # A train() call that training itself goes through was not made for the sake of this forward.
        shared = any(
            mode.switched_at is not None and other.switched_at == mode.switched_at
            for other in training_modes(trace, mode.path)
        )
        switched = mode.freshly and mode.switched == "train" and not shared
        meant = mode.repeats > 0 or switched
        shown = ", ".join(layers[:SHOWN]) + (
            f" and {len(layers) - SHOWN} more" if len(layers) > SHOWN else ""
        )
        named = uncalled(trace, "eval") if mode.switched == "eval" else None
        gradients = "with gradients" if mode.grad else "without gradients"
        return Finding(
            detector=self.name,
            severity="note" if meant or is_interleaved(trace) else "warning",
            message=(
                f"`{named.expression}` lacks its brackets, so `{mode.path}` is evaluated in train mode: {shown} still "
                "act as in training"
                if named is not None
                else f"`{mode.path}` is evaluated here in train mode: {shown} still act as in training"
            ),
            step=mode.first_step,
            rank=trace.rank,
            location=named or place_of_evaluation(trace, mode),
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


def _told_the_mode(source: Source, call: ast.Call) -> Iterator[Fix]:
    """Yield `training=self.training` for a call of F.dropout in a method, which has a `self` to ask."""
    method = source.scope_of(call)
    first = method.args.args[:1] if isinstance(method, ast.FunctionDef) else []
    told = any(keyword.arg == "training" for keyword in call.keywords)
    if not first or first[0].arg != "self" or told or len(call.args) > SWITCH_POSITION:
        return
    text = source.of(call)
    changed = f"{text[:-1].rstrip().rstrip(',')}, training=self.training)"
    yield from source.fix("tell dropout the mode of its module", source.replace(call, changed))


def _is_evaluation(mode: ForwardModes) -> bool:
    """Tell whether a place only looks at the result: it feeds nothing, and comes after the last step, too."""
    return (
        mode.training
        and not mode.backwards
        and not mode.discarded
        and mode.last_step >= mode.step > 0
    )


def _last_switch(mode: ForwardModes) -> list[Evidence]:
    if mode.switched == "eval":
        return []  # it was looked up and not called, or undone by hand
    if mode.switched_at is None:
        return [Evidence("eval() was not called on the model before")]
    return [
        Evidence(
            f"the last switch before was {mode.switched}(), {mode.switched_at}",
            location=mode.switched_at,
        )
    ]
