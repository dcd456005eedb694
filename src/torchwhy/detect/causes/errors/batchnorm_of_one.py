"""Batch normalisation in training mode over a single value per channel."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.crashes import crashes, finding_of, idea, layer_of, says, sizes, walk_evidence
from torchwhy.detect.cures import data
from torchwhy.detect.edits import Source
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Crash, LoaderFacts
from torchwhy.record.trace import Trace

ONE = (
    r"Expected more than 1 (?:value per channel|spatial element) when training, "
    r"got input size (?:torch\.Size\()?\[(?P<shape>[\d, ]*)\]"
)


class BatchnormOfOne(Detector):
    """Batch normalisation got a single value per channel to normalise with.

    ## What it finds

    A BatchNorm (or InstanceNorm) layer in training mode whose input has one value per channel: a last batch of
    one sample, a batch size of 1 behind a global pooling, or a single sample shown to a model that was not put
    into evaluation mode.

    ## Why it breaks training

    The layer subtracts the mean over the batch. Of one value that leaves 0, whatever the value was, and the
    variance cannot be estimated, so torch refuses.

    ## Broken

    ```python
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data = TensorDataset(torch.randn(33, 4), torch.randint(0, 2, (33,)))
    for epoch in range(2):
        for x, y in DataLoader(data, batch_size=8, shuffle=True):
            loss = torch.nn.functional.cross_entropy(model(x), y)  # <- batchnorm-of-one
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```

    A look at a single sample without `eval()`:

    ```python
    import torch


    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.body = torch.nn.Conv2d(3, 8, 3)
            self.norm = torch.nn.BatchNorm1d(8)
            self.out = torch.nn.Linear(8, 2)

        def forward(self, x):
            pooled = self.body(x).mean(dim=(2, 3))
            return self.out(self.norm(pooled))  # <- batchnorm-of-one


    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters())
    for step in range(3):
        loss = model(torch.randn(6, 3, 8, 8)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        print(model(torch.randn(1, 3, 8, 8)))
    ```

    ## Repaired

    ```python
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data = TensorDataset(torch.randn(33, 4), torch.randint(0, 2, (33,)))
    for epoch in range(2):
        for x, y in DataLoader(data, batch_size=8, shuffle=True, drop_last=True):
            loss = torch.nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```

    ## Lookalike

    One sample, but many pixels of it; and one sample in evaluation mode.

    ```python
    import torch

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.Flatten())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(4):
        loss = (model(torch.randn(1, 3, 6, 6)) - 1).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    norm = torch.nn.BatchNorm1d(4).eval()
    print(norm(torch.randn(1, 4)))
    ```

    ## Limits

    A batch of two is legal and still a poor estimate; nothing is said about it.
    """

    name = "batchnorm-of-one"
    needs = frozenset({"crash"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            found = says(crash, ONE)
            if found is None:
                continue
            shape = [int(size) for size in found["shape"].split(",") if size.strip()]
            yield finding_of(
                trace,
                crash,
                detector=self.name,
                message=_message(crash, shape),
                evidence=[*_evidence(crash, shape), *walk_evidence(crash)],
                fixes=list(_fixes(crash)),
            )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:  # noqa: ARG002 - the contract's
        yield from data.loader_option(source, "drop_last")


def _message(crash: Crash, shape: list[int]) -> str:
    layer = layer_of(crash)
    text = layer.text.split(",")[0].rstrip(")") + ")" if layer is not None else ""
    name = f"`{layer.path}` ({text})" if layer is not None else "a normalisation layer"
    rest = _remainder(crash.loader)
    if rest == 1 and crash.loader is not None:
        return (
            f"{name} got a batch of one sample: {crash.loader.dataset_length} samples in batches of "
            f"{crash.loader.batch_size} leave 1, and one value has no variance"
        )
    if len(shape) > 2:
        return f"{name} got {sizes(shape)}: one value per channel, which has no variance to normalise with"
    return f"{name} got a single sample ({sizes(shape)}) in training mode, and one value has no variance"


def _remainder(loader: LoaderFacts | None) -> int | None:
    if (
        loader is None
        or loader.dataset_length is None
        or not loader.batch_size
        or loader.batch_size == 1
    ):
        return None
    in_hand = loader.last_batch[0] if loader.last_batch else ""
    return (
        loader.dataset_length % loader.batch_size if "[1," in in_hand or "[1]" in in_hand else None
    )


def _evidence(crash: Crash, shape: list[int]) -> Iterator[Evidence]:
    yield Evidence(f"the input of the layer is {sizes(shape)}", step=crash.step)
    if crash.loader is not None and crash.loader.batch_size == 1:
        yield Evidence("the loader's batch size is 1")


def _fixes(crash: Crash) -> Iterator[Fix]:
    if _remainder(crash.loader) == 1:
        yield idea("give the DataLoader `drop_last=True`")
    elif crash.loader is not None and crash.loader.batch_size == 1:
        yield idea(
            "train with a batch size of 2 or more, or normalise with `nn.GroupNorm` or `nn.LayerNorm`"
        )
    else:
        yield idea(
            "call `model.eval()` before single samples are shown to the model, and `model.train()` after"
        )
        yield idea(
            "if this is training: use batches of 2 or more, or `nn.LayerNorm` or `nn.GroupNorm` instead"
        )
