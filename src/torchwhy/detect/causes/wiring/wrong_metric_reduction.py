"""An average over the batches of a loader that is not the average over its samples."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.edits import Source
from torchwhy.detect.judging import short
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.learning import MetricReduced
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace

MEASURABLE = 0.01  # relative difference from which a reader of two digits sees another number
SUMS = {"count": "right answers", "mean": "accuracies of batches", "loss": "mean losses of batches"}


class WrongMetricReduction(Detector):
    """A metric is added up over the batches of a loader and divided by the wrong number.

    ## What it finds

    In an evaluation without gradients: a count of right answers divided by the number of batches, or by batches times
    batch size when the last batch is smaller; accuracies or mean losses of batches divided by the number of samples;
    and (as a note) a mean of means over batches of unequal size, where it differs from the mean over samples by a per
    cent.
    Both numbers are computed from the values that the program read in one whole pass over its loader.

    ## Why it breaks training

    Training itself goes on, but what is printed is wrong: an accuracy of 27, or one that can never exceed 1/32. Early
    stopping, schedulers and the choice of the best model follow that number, and two runs with other batch sizes cannot
    be compared.

    ## Broken

    ```python
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(600, 8)
    y = (x[:, 0] > 0).long()
    train = DataLoader(TensorDataset(x[:400], y[:400]), batch_size=40, shuffle=True)
    test = DataLoader(TensorDataset(x[400:], y[400:]), batch_size=40)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(3):
        for data, label in train:
            loss = nn.functional.cross_entropy(model(data), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        correct = 0
        with torch.no_grad():
            for data, label in test:
                correct += (model(data).argmax(dim=1) == label).sum().item()
        print("accuracy", correct / len(test))  # <- wrong-metric-reduction
    ```

    The accuracy of each batch is divided by the number of samples once more.

    ```python
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset


    def evaluate(model, loader):
        size = len(loader.dataset)
        accuracy = 0.0
        model.eval()
        with torch.no_grad():
            for data, label in loader:
                guess = model(data).argmax(dim=1)
                batch_accuracy = (guess == label).float().mean().item()
                accuracy += batch_accuracy
        accuracy /= size  # <- wrong-metric-reduction
        return 100 * accuracy


    torch.manual_seed(0)
    x = torch.randn(600, 8)
    y = (x[:, 0] > 0).long()
    train = DataLoader(TensorDataset(x[:400], y[:400]), batch_size=40, shuffle=True)
    test = DataLoader(TensorDataset(x[400:], y[400:]), batch_size=40)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(3):
        model.train()
        for data, label in train:
            loss = nn.functional.cross_entropy(model(data), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(evaluate(model, test))
    ```

    ## Repaired

    ```python
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(600, 8)
    y = (x[:, 0] > 0).long()
    train = DataLoader(TensorDataset(x[:400], y[:400]), batch_size=40, shuffle=True)
    test = DataLoader(TensorDataset(x[400:], y[400:]), batch_size=40)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(3):
        for data, label in train:
            loss = nn.functional.cross_entropy(model(data), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        correct = 0
        with torch.no_grad():
            for data, label in test:
                correct += (model(data).argmax(dim=1) == label).sum().item()
        print("accuracy", correct / len(test.dataset))
    ```

    ## Lookalike

    The tutorial's way: losses by batches, answers by samples, a loss that is summed by hand, and a running count.

    ```python
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset


    def test(loader, model, criterion):
        size, batches = len(loader.dataset), len(loader)
        loss, correct, summed, seen, right = 0, 0, 0.0, 0, 0
        model.eval()
        with torch.no_grad():
            for x, y in loader:
                out = model(x)
                loss += criterion(out, y).item()
                summed += criterion(out, y).item() * len(x)
                correct += (out.argmax(1) == y).type(torch.float).sum().item()
                right += (out.argmax(1) == y).sum().item()
                seen += y.size(0)
        loss /= batches
        correct /= size
        print(loss, correct, summed / size, 100.0 * right / seen)


    torch.manual_seed(0)
    x = torch.randn(600, 8)
    y = (x[:, 0] > 0).long()
    train = DataLoader(TensorDataset(x[:400], y[:400]), batch_size=40, shuffle=True)
    held = DataLoader(TensorDataset(x[400:], y[400:]), batch_size=50)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(3):
        model.train()
        for data, label in train:
            loss = nn.functional.cross_entropy(model(data), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        test(held, model, nn.CrossEntropyLoss())
    ```

    ## Limits

    Sum and division must stand in one function, the numbers must be read (`.item()`, `float()`) under `no_grad`, and
    the batches must come from a DataLoader with a fixed batch size. Averages over training steps are not judged, nor
    sums that are only printed: nothing says what they were meant to be.
    """

    name = "wrong-metric-reduction"
    needs = frozenset({"metric"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for metric in trace.of(MetricReduced):
            given, right = decode(metric.given), decode(metric.right)
            by_batches = decode(metric.divisor) == metric.batches and metric.kind != "count"
            if by_batches and abs(given - right) < MEASURABLE * abs(right):
                continue
            yield self._finding(trace, metric, is_note=by_batches or metric.kind == "loss")

    def _finding(self, trace: Trace, metric: MetricReduced, *, is_note: bool) -> Finding:
        where = metric.location
        text = short(where.expression or "") if where is not None else metric.variable
        given, right = decode(metric.given), decode(metric.right)
        uneven = metric.last_batch != metric.first_batch
        sizes = f"{metric.batches} batches of {metric.first_batch}" + (
            f", the last of {metric.last_batch}" if uneven else ""
        )
        return Finding(
            detector=self.name,
            severity="note" if is_note else "warning",
            message=(
                f"`{text}` gives {given:.4g} in place of {right:.4g}: the sum of {SUMS[metric.kind]} is divided by "
                f"{decode(metric.divisor):g} {metric.divided_by}"
            ),
            step=metric.step,
            rank=trace.rank,
            location=where,
            evidence=(
                Evidence(
                    f"`{metric.variable}` was {decode(metric.total):.4g} after one pass over {metric.samples} samples "
                    f"({sizes})",
                    value=decode(metric.total),
                    step=metric.step,
                    location=metric.added_at,
                ),
                Evidence(f"over all {metric.samples} samples it is {right:.4g}", value=right),
            ),
            fixes=(Fix(advice_for(metric), safety="show-only"),),
        )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        """Yield `len(loader.dataset)` for `len(loader)` under a count; other forms have more than one good answer."""
        if "right answers" not in finding.message or not finding.message.endswith(" batches"):
            return
        node = source.at(finding.location)
        statement = None if finding.location is None else source.statement_at(finding.location.line)
        around = node if node is not None else statement
        lengths = [
            call
            for call in (source.calls("len", within=around) if around is not None else [])
            if len(call.args) == 1 and isinstance(call.args[0], ast.Name | ast.Attribute)
        ]
        if len(lengths) == 1:
            inner = source.of(lengths[0].args[0])
            yield from source.fix(
                "divide the count by the number of samples",
                source.replace(lengths[0], f"len({inner}.dataset)"),
            )


def advice_for(metric: MetricReduced) -> str:
    """Return what to divide by, or to add up."""
    if metric.kind == "count":
        return "divide the count of right answers by the number of samples: `len(loader.dataset)`"
    if decode(metric.divisor) == metric.batches:
        return "weigh each batch by its size, `total += value.item() * len(x)`, and divide by the number of samples"
    return (
        "divide means of batches by the number of batches, `len(loader)`, or add `value * len(x)`"
    )
