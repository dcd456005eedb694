"""Code that counts on a fixed batch size meets the smaller batch at the end of the data."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.crashes import crashes, expression_of, finding_of, idea, operand_evidence, size
from torchwhy.detect.cures import data, shapes, statements
from torchwhy.detect.edits import Source
from torchwhy.detect.last_batch import (
    LastBatch,
    last_batch,
    place_of_fixed_size,
    tensor_of_fixed_size,
)
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Crash
from torchwhy.record.trace import Trace


class RaggedLastBatch(Detector):
    """The last batch is smaller than the others, and the code assumes a fixed batch size.

    ## What it finds

    A size that does not fit in the last batch of a pass over the data, because something was made for the usual
    batch size: a hidden state, a mask, labels of ones, a `view(BATCH, …)`. All batches before went well, which
    is why the error seems to come "after some batches".

    ## Why it breaks training

    If the number of samples is no multiple of the batch size, the last batch holds the remainder. Whatever
    was made for the full size does not fit it.

    ## Broken

    ```python
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    BATCH = 8
    rnn = torch.nn.GRU(4, 6, batch_first=True)
    optimizer = torch.optim.SGD(rnn.parameters(), lr=0.1)
    loader = DataLoader(TensorDataset(torch.randn(30, 5, 4)), batch_size=BATCH, shuffle=True)
    for (x,) in loader:
        start = torch.zeros(1, BATCH, 6)  # <- ragged-last-batch
        output, _ = rnn(x, start)
        loss = output.pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    A reshape with the size written out:

    ```python
    import torch
    from torch.utils.data import DataLoader, TensorDataset


    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.out = torch.nn.Linear(12, 2)

        def forward(self, x):
            flat = x.view(16, 12)  # <- ragged-last-batch
            return self.out(flat)


    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters())
    data = TensorDataset(torch.randn(50, 3, 4), torch.randint(0, 2, (50,)))
    for epoch in range(2):
        for x, y in DataLoader(data, batch_size=16, shuffle=True):
            loss = torch.nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```

    Batches cut by hand, and labels made once for the full size:

    ```python
    import torch

    torch.manual_seed(0)
    data = torch.randn(26, 3)
    model = torch.nn.Sequential(torch.nn.Linear(3, 1), torch.nn.Sigmoid())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    batch_size = 8
    real = torch.ones(batch_size, 1)  # <- ragged-last-batch
    for first in range(0, len(data), batch_size):
        prediction = model(data[first : first + batch_size])
        loss = torch.nn.functional.binary_cross_entropy(prediction, real)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Repaired

    ```python
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    BATCH = 8
    rnn = torch.nn.GRU(4, 6, batch_first=True)
    optimizer = torch.optim.SGD(rnn.parameters(), lr=0.1)
    loader = DataLoader(TensorDataset(torch.randn(30, 5, 4)), batch_size=BATCH, shuffle=True)
    for (x,) in loader:
        start = torch.zeros(1, x.shape[0], 6)
        output, _ = rnn(x, start)
        loss = output.pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ```python
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    BATCH = 8
    rnn = torch.nn.GRU(4, 6, batch_first=True)
    optimizer = torch.optim.SGD(rnn.parameters(), lr=0.1)
    loader = DataLoader(TensorDataset(torch.randn(30, 5, 4)), batch_size=BATCH, drop_last=True, shuffle=True)
    for (x,) in loader:
        output, _ = rnn(x, torch.zeros(1, BATCH, 6))
        loss = output.pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Lookalike

    A smaller last batch that nothing minds.

    ```python
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data = TensorDataset(torch.randn(30, 4), torch.randint(0, 2, (30,)))
    for epoch in range(2):
        for x, y in DataLoader(data, batch_size=8, shuffle=True):
            loss = torch.nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```

    ## Limits

    Known are the sizes of batches from a DataLoader, or cut by hand from a tensor that is still a variable where
    the error is raised. Code that goes wrong silently in the last batch (broadcasting) raises nothing.
    """

    name = "ragged-last-batch"
    needs = frozenset({"crash"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            batch = last_batch(crash)
            if batch is not None:
                yield finding_of(
                    trace,
                    crash,
                    detector=self.name,
                    message=_message(crash, batch),
                    evidence=_evidence(crash, batch),
                    location=place_of_fixed_size(crash, batch),
                    fixes=_fixes(crash, batch),
                )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from shapes.sized_by_batch(finding, source)
        yield from statements.any_batch_size(finding, source)
        yield from data.loader_option(source, "drop_last")


def _message(crash: Crash, batch: LastBatch) -> str:
    fixed, place = tensor_of_fixed_size(crash, batch), place_of_fixed_size(crash, batch)
    left = f"{batch.samples} samples in batches of {batch.usual} leave {batch.rest}"
    if fixed is not None and place is not None:
        return (
            f"`{fixed.name}` ({size(fixed)}) is made for batches of {batch.usual}, but the last batch has only "
            f"{batch.rest} samples: {left}"
        )
    return (
        f"`{expression_of(crash)}` works for batches of {batch.usual}, but the last batch has only {batch.rest} "
        f"samples: {left}"
    )


def _evidence(crash: Crash, batch: LastBatch) -> list[Evidence]:
    full = batch.samples // batch.usual
    return [
        Evidence(f"{batch.samples} samples = {full} × {batch.usual} + {batch.rest}"),
        *operand_evidence(crash),
    ]


def _fixes(crash: Crash, batch: LastBatch) -> list[Fix]:
    tensors = [tensor.name for tensor in crash.operands if tensor.shape[:1] == [batch.rest]]
    source = tensors[0] if tensors and tensors[0].isidentifier() else "x"
    by_batch = idea(
        f"take the size from the batch, `{source}.shape[0]`, where {batch.usual} is assumed"
    )
    if batch.from_loader:
        return [
            by_batch,
            idea("give the DataLoader `drop_last=True`, so that every batch is full"),
        ]
    return [by_batch, idea("stop the loop before the incomplete batch")]
