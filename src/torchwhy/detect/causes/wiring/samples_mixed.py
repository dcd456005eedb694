"""A reshape where a transposition was meant: samples, or axes, are mixed."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.cures import modules, shapes
from torchwhy.detect.edits import Source
from torchwhy.detect.graph import ForwardGraph, base_of, expression_of
from torchwhy.detect.looks import constant_output, last_look
from torchwhy.detect.samples import SamplesAnswer, samples_answer, unfolds_otherwise
from torchwhy.finding import Evidence, Finding, Fix, Severity
from torchwhy.record.events import ModuleCalled
from torchwhy.record.learning import GraphOperation
from torchwhy.record.trace import Trace

RESHAPES = ("view", "_unsafe_view", "reshape", "_reshape_alias")
REDUCTIONS = ("mean", "sum", "amax", "amin", "max", "min", "logsumexp", "median", "nanmean")
# Layers of torch that reshape inside, by the book.
LAYERS = {
    "MultiheadAttention",
    "LSTM",
    "GRU",
    "RNN",
    "TransformerEncoderLayer",
    "TransformerDecoderLayer",
    "Transformer",
    "PixelShuffle",
    "ChannelShuffle",
}


class SamplesMixed(Detector):
    """A reshape stands where a transposition was meant, so values of different samples or axes are mixed.

    ## What it finds

    A `view` or `reshape` of a tensor whose sizes come out in another order: (time, batch, features) becomes (batch,
    time, features), the final states (layers, batch, hidden) become (batch, layers · hidden), (batch, height, width,
    channels) becomes (batch, channels, height, width), (batch, time, width) becomes (batch, heads, time, part). For
    samples it was tried: with sample 0 changed, the live model's outputs of other samples moved. Or a mean, sum or
    maximum inside of the model that runs over the samples, after which all of them have the same output.

    ## Why it breaks training

    A reshape does not move anything in memory: it deals out the same numbers in the same order to new places. If
    dimensions were to change places, every row now holds pieces of several samples (or every channel pieces of all
    channels), and the labels belong to somebody else.

    ## Broken

    ```python
    import torch
    from torch import nn


    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = nn.GRU(5, 8, bidirectional=True, batch_first=True)
            self.out = nn.Linear(16, 2)

        def forward(self, x):
            _, last = self.rnn(x)
            both = last.reshape(x.shape[0], 16)  # <- samples-mixed
            return self.out(both)


    torch.manual_seed(0)
    model = Classifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(30):
        x = torch.randn(16, 9, 5)
        y = (x[:, -1, 0] > 0).long()
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ```python
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset


    class Forecaster(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = nn.LSTM(3, 12)
            self.out = nn.Linear(12, 1)

        def forward(self, x):
            batch, length, width = x.shape
            time_first = x.view(length, batch, width)  # <- samples-mixed
            states, _ = self.rnn(time_first)
            return self.out(states[-1])


    torch.manual_seed(0)
    x = torch.randn(240, 10, 3)
    loader = DataLoader(TensorDataset(x, x[:, -1, :1]), batch_size=24)
    model = Forecaster()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for inputs, targets in loader:
        loss = nn.functional.mse_loss(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(20):
        images = torch.rand(16, 12, 10, 3)
        labels = (images[..., 0].mean(dim=(1, 2)) > 0.5).long()
        channels_first = images.reshape(16, 3, 12, 10)  # <- samples-mixed
        loss = nn.functional.cross_entropy(model(channels_first), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    An average over the wrong dimension.

    ```python
    import torch
    from torch import nn


    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(10, 32), nn.ReLU())
            self.head = nn.Linear(32, 3)

        def forward(self, x):
            features = self.body(x)
            pooled = features.mean(dim=0, keepdim=True).expand_as(features)  # <- samples-mixed
            return self.head(pooled)


    torch.manual_seed(0)
    x = torch.randn(120, 10)
    labels = x[:, :3].argmax(dim=1)
    model = Classifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(150):
        logits = model(x)
        loss = nn.functional.cross_entropy(logits, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Repaired

    ```python
    import torch
    from torch import nn


    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = nn.GRU(5, 8, bidirectional=True, batch_first=True)
            self.out = nn.Linear(16, 2)

        def forward(self, x):
            _, last = self.rnn(x)
            both = last.transpose(0, 1).reshape(x.shape[0], 16)
            return self.out(both)


    torch.manual_seed(0)
    model = Classifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(30):
        x = torch.randn(16, 9, 5)
        y = (x[:, -1, 0] > 0).long()
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Lookalike

    Heads that are split and put together again, time and batch that are flattened for a layer and unflattened.

    ```python
    import torch
    from torch import nn


    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.out, self.head = nn.Linear(12, 36), nn.Linear(12, 12), nn.Linear(12, 4)

        def forward(self, x):
            batch, length, width = x.shape
            q, k, v = self.qkv(x).view(batch, length, 3, 2, 6).permute(2, 0, 3, 1, 4)
            mixed = torch.softmax(q @ k.transpose(-2, -1) / 6**0.5, dim=-1) @ v
            mixed = mixed.transpose(1, 2).reshape(batch, length, width)
            flat = self.out(mixed).view(batch * length, width)
            return self.head(torch.relu(flat)).view(batch, length, 4).mean(dim=1)


    torch.manual_seed(0)
    model = Attention()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(30):
        x = torch.randn(16, 7, 12)
        y = x[:, :, :4].sum(dim=1).argmax(dim=1)
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Limits

    Sizes must differ to tell a swap: a batch of 12 sequences of length 12 is not judged. Samples that are mixed over
    several reshapes, each of which looks innocent, are not found.
    """

    name = "samples-mixed"
    needs = frozenset({"graph", "experiment", "output"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        graph = ForwardGraph(trace)
        answer = samples_answer(trace)
        inner = {call.path for call in trace.of(ModuleCalled) if call.kind in LAYERS}
        reshapes = [*graph.views(), *graph.operations("_unsafe_view")]
        seen = set()
        for reshape in sorted(reshapes, key=lambda operation: operation.order):
            if (
                base_of(reshape) not in RESHAPES
                or not reshape.input_shapes
                or reshape.module in inner
            ):
                continue
            before, after = reshape.input_shapes[0], reshape.shape
            rows = answer.rows if answer is not None and answer.mixed else 0
            mixed = rows and (
                swaps_rows(before, after, rows) or unfolds_otherwise(before, after, rows)
            )
            turned = swaps_axes(before, after) or swaps_heads(before, after)
            if not (mixed or turned) or reshape.location in seen:
                continue
            seen.add(reshape.location)
            yield self._finding(trace, reshape, answer if mixed else None)
        if not seen:
            yield from self._averaged(trace, graph)

    def _averaged(self, trace: Trace, graph: ForwardGraph) -> Iterator[Finding]:
        """Yield the reduction over the samples that leaves one and the same output for all of them."""
        look = last_look(trace)
        outputs = [constant_output(trace, step) for step in (0, look or 0)]
        # Once may be chance, as in a head that starts at 0.
        if look is None or outputs[0] is None or outputs[1] is None or trace.alarms:
            return
        rows, path = outputs[0].rows, outputs[0].path
        reductions = (o for o in graph.operations(*REDUCTIONS) if over_samples(o, rows))
        for reduction in reductions:
            source = graph.source(reduction)
            taken = graph.taken_by(source) if source is not None else []
            # What is also used as it is, as in a normalisation by hand, still tells the samples apart.
            if not graph.trains(reduction) or not all(over_samples(one, rows) for one in taken):
                continue
            what = expression_of(reduction.location, "a reduction")
            yield Finding(
                detector=self.name,
                severity="error",
                message=(
                    f"{what} runs over dimension 0 of {reduction.input_shapes[0]}, the {rows} samples of the batch: "
                    f"{path} gives the same output for all of them"
                ),
                step=0,
                rank=trace.rank,
                location=reduction.location,
                evidence=(
                    Evidence(
                        "largest difference between two rows of the output, relative to its size",
                        value=outputs[1].spread,
                        step=look,
                    ),
                    Evidence("the same for the input", value=outputs[1].input_spread, step=look),
                ),
                fixes=(
                    Fix(
                        "reduce another dimension: 1 of (batch, time, …), the last of features",
                        safety="show-only",
                    ),
                ),
            )
            return

    def _finding(
        self, trace: Trace, reshape: GraphOperation, answer: SamplesAnswer | None
    ) -> Finding:
        before, after = reshape.input_shapes[0], reshape.shape
        what = expression_of(reshape.location, "a reshape")
        severity: Severity = "error" if answer is not None else "warning"
        whose = "of different samples" if answer is not None else "of different axes"
        evidence = [
            Evidence(
                f"{what} makes {after} of {before} without moving a number",
                step=0,
                location=reshape.location,
            )
        ]
        if answer is not None:
            evidence.append(answer.proof)
        return Finding(
            detector=self.name,
            severity=severity,
            message=f"a reshape does not swap dimensions: {before} dealt out as {after} mixes values {whose}",
            step=0,
            rank=trace.rank,
            location=reshape.location,
            evidence=tuple(evidence),
            certainty="replayed" if answer is not None else "observed",
            fixes=(
                Fix(
                    "use `transpose` or `permute` to swap dimensions, and reshape afterwards",
                    safety="show-only",
                ),
            ),
        )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from shapes.axes_swapped(finding, source)
        yield from modules.over_next_dimension(finding, source)


def over_samples(operation: GraphOperation, rows: int) -> bool:
    """Tell whether an operation makes one of all samples along dimension 0, and of dimension 0 only."""
    given = operation.input_shapes[0] if operation.input_shapes else []
    if base_of(operation) not in REDUCTIONS or len(given) < 2 or given[0] != rows:
        return False
    told = operation.scalars.get("1")
    axes = told if isinstance(told, list) else [told]
    return axes in ([0], [-len(given)])


def swaps_rows(before: list[int], after: list[int], rows: int) -> bool:
    """Tell whether samples were the second dimension and are now called the first, or the other way round."""
    if len(before) < 2 or len(after) < 2 or _only_splits_or_joins(before, after):
        return False
    comes = before[0] not in (1, rows) and before[1] == rows and after[0] == rows
    goes = before[0] == rows and after[0] not in (1, rows) and after[1] == rows
    return comes or goes


def _only_splits_or_joins(before: list[int], after: list[int]) -> bool:
    """Tell whether leading dimensions were made one, or one was made several, and the rest is as it was.

    So a linear layer treats (batch, time, width); a width that equals the batch size means nothing then.
    """
    same = 0
    while same < min(len(before), len(after)) and before[-1 - same] == after[-1 - same]:
        same += 1
    return min(len(before), len(after)) - same <= 1


def swaps_axes(before: list[int], after: list[int]) -> bool:
    """Tell whether the sizes behind the first are the same in another order, none of them 1."""
    if len(before) != len(after) or len(before) < 3 or before[0] != after[0] or before == after:
        return False
    return sorted(before) == sorted(after) and 1 not in before[1:]


def swaps_heads(before: list[int], after: list[int]) -> bool:
    """Tell whether (batch, time, width) became (batch, heads, time, part) in one go, or the other way round."""
    if len(before) > len(after):
        before, after = after, before
    if len(before) != 3 or len(after) != 4 or before[0] != after[0]:
        return False
    _, time, width = before
    _, heads, moments, part = after
    return (
        moments == time and heads * part == width and 1 not in (time, heads, part) and heads != time
    )
