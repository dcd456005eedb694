"""A layer over features was made for another number of features than it is given."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.crashes import (
    BATCHED_MODEL,
    at,
    blamed_constructor,
    crashes,
    expression_of,
    factors,
    favoured,
    finding_of,
    fixes_of,
    is_in_loader,
    layer_input,
    layer_of,
    layer_words,
    operand_evidence,
    says,
    setting,
    size,
    trials,
    walk_evidence,
    worked_before,
)
from torchwhy.detect.cures import shapes
from torchwhy.detect.edits import Source
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Crash, Layer
from torchwhy.record.trace import Trace

PRODUCT = r"mat1 and mat2 shapes cannot be multiplied \(\d+x(\d+) and (\d+)x\d+\)"
# Each with the size it was given and the size the layer wants, in this order.
GIVEN_AND_WANTED = (
    PRODUCT,
    r"size mismatch, got input \(\d+\), mat \(\d+x(\d+)\), vec \((\d+)\)",
    r"input has inconsistent input_size: got (\d+) expected (\d+)",
    r"bilinear\(\): input\d size does not match weight size: got (\d+) but expected (\d+)",
)
WANTED_AND_GIVEN = (
    r"input\.size\(-1\) must be equal to input_size\. Expected (\d+), got (\d+)",
    r"normalized_shape=\[(?:\d+, )*(\d+)\].*but got input of size\[(?:\d+, )*(\d+)\]",
    r"expecting embedding dimension of (\d+), but got (\d+)",
)
SIZES = ("in_features", "input_size", "normalized_shape", "embed_dim", "in1_features")


class LinearSizeMismatch(Detector):
    """A layer was made for another number of features than it is given.

    ## What it finds

    An `nn.Linear`, `nn.LayerNorm`, recurrent or attention layer that raised because the last dimension of its
    input is not the size it was constructed with. It names the layer, the line that constructs it, both numbers,
    and the way the data took to its size. The layer with the other number is tried on the real input.

    ## Why it breaks training

    The product of two matrices needs equal inner sizes. The number in the constructor is usually worked out by
    hand from the image size, and is wrong as soon as a stride, a kernel or the images change.

    ## Broken

    ```python
    import torch
    import torch.nn.functional as F
    from torch import nn


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
            self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
            self.out = nn.Linear(1050, 10)  # <- linear-size-mismatch

        def forward(self, x):
            x = F.max_pool2d(F.relu(self.conv1(x)), 2)
            x = F.max_pool2d(F.relu(self.conv2(x)), 2)
            x = torch.flatten(x, 1)
            return self.out(x)


    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(3):
        loss = F.cross_entropy(model(torch.randn(8, 1, 28, 28)), torch.randint(0, 10, (8,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    In an `nn.Sequential`, built by a function.

    ```python
    import torch
    from torch import nn


    def build(features, classes):
        return nn.Sequential(
            nn.Linear(features, 64),
            nn.ReLU(),
            nn.Linear(32, classes),  # <- linear-size-mismatch
        )


    model = build(20, 3)
    optimizer = torch.optim.Adam(model.parameters())
    for step in range(3):
        loss = nn.functional.cross_entropy(model(torch.randn(16, 20)), torch.randint(0, 3, (16,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    A block with parameters: the number is written where the block is made.

    ```python
    import torch
    from torch import nn


    class Block(nn.Module):
        def __init__(self, width, out):
            super().__init__()
            self.norm = nn.LayerNorm(width)
            self.project = nn.Linear(width, out)

        def forward(self, x):
            return torch.relu(self.project(self.norm(x)))


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList([
                Block(16, 32),
                Block(24, 8),  # <- linear-size-mismatch
            ])

        def forward(self, x):
            for block in self.blocks:
                x = block(x)
            return x.mean()


    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    net(torch.randn(4, 16)).backward()
    optimizer.step()
    ```

    The images were never flattened.

    ```python
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(784, 32), nn.ReLU(), nn.Linear(32, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(3):
        images = torch.randn(8, 1, 28, 28)
        logits = model(images)  # <- linear-size-mismatch
        loss = nn.functional.cross_entropy(logits, torch.randint(0, 10, (8,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Repaired

    ```python
    import torch
    import torch.nn.functional as F
    from torch import nn


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
            self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
            self.out = nn.Linear(1568, 10)

        def forward(self, x):
            x = F.max_pool2d(F.relu(self.conv1(x)), 2)
            x = F.max_pool2d(F.relu(self.conv2(x)), 2)
            x = torch.flatten(x, 1)
            return self.out(x)


    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(3):
        loss = F.cross_entropy(model(torch.randn(8, 1, 28, 28)), torch.randint(0, 10, (8,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Lookalike

    The program measures the size by trying, and catches its own error on purpose.

    ```python
    import torch
    from torch import nn

    body = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten())
    with torch.no_grad():
        width = body(torch.zeros(1, 1, 12, 12)).shape[1]
    model = nn.Sequential(body, nn.LazyLinear(16), nn.Linear(16, 2))
    model(torch.zeros(1, 1, 12, 12))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(3):
        loss = model(torch.randn(8, 1, 12, 12)).square().mean() + 0.0 * width
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Limits

    A product of two tensors without a layer is `matmul-size-mismatch`, channels of a convolution are
    `channel-mismatch`. Whether the layer or the data is wrong cannot be known: the layer is blamed unless it has
    worked before or the input fits after a flatten or a transpose.
    """

    name = "linear-size-mismatch"
    needs = frozenset({"crash"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            layer = layer_of(crash)
            pair = _sizes(crash)
            if layer is None or pair is None or is_in_loader(crash) or not _is_over_features(layer):
                continue
            if fixes_of(crash, BATCHED_MODEL):
                continue  # the sizes fit as soon as the one sample is a batch: missing-batch-dimension
            yield _judge(trace, crash, layer, given=pair[0], wanted=pair[1])

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from shapes.resized(finding, source)


def _is_over_features(layer: Layer) -> bool:
    return (
        any(name in layer.settings for name in SIZES)
        or "Attention" in layer.kind
        or "Transformer" in layer.kind
    )


def _sizes(crash: Crash) -> tuple[int, int] | None:
    """Return the size that came and the size that the layer wants."""
    for pattern in GIVEN_AND_WANTED:
        found = says(crash, pattern)
        if found:
            return int(found[1]), int(found[2])
    for pattern in WANTED_AND_GIVEN:
        found = says(crash, pattern)
        if found and found.groups():
            return int(found[2]), int(found[1])
    return None


def _judge(trace: Trace, crash: Crash, layer: Layer, *, given: int, wanted: int) -> Finding:
    reshaped = [
        trial for trial in trials(crash, "flatten-input", "transpose-input") if trial.worked
    ]
    blames_data = bool(reshaped) or worked_before(trace, layer)
    name, tensor = layer_input(crash)
    shape = f" ({size(tensor)})" if tensor is not None else ""
    message = f"{layer.path} takes {wanted} features and is given {given}: {name}{shape} in {expression_of(crash)}"
    if reshaped:
        message += f"; {reshaped[0].change} fits"
    evidence = [Evidence(_odd_one(crash, layer, given=given, wanted=wanted))]
    if worked_before(trace, layer):
        evidence.append(
            Evidence(f"{layer.path} has worked in an earlier step, so it is the data that changed")
        )
    else:
        evidence += favoured(crash, layer, reshaped, noun="features")
    evidence += walk_evidence(crash) + operand_evidence(crash)
    kinds = (
        ("flatten-input", "transpose-input", "resize-layer")
        if blames_data
        else ("resize-layer", "transpose-input")
    )
    return finding_of(
        trace,
        crash,
        detector=LinearSizeMismatch.name,
        message=message,
        evidence=evidence,
        location=None if blames_data else blamed_constructor(crash, layer),
        fixes=fixes_of(crash, *kinds),
    )


def _odd_one(crash: Crash, layer: Layer, *, given: int, wanted: int) -> str:
    """Say where each of the two sizes comes from."""
    words = f"{layer_words(layer)}{at(layer.made_at)} wants {wanted}"
    if setting(layer, "in_features") is None and "in_features" in layer.settings:
        return words
    stations = [station for station in crash.walk if station.shape]
    if stations and stations[-1].shape[-1] == given:
        before = stations[-2].shape if len(stations) > 1 else []
        words += f"; {given}{factors(given, before)} comes from {stations[-1].what}{at(stations[-1].location)}"
    return words
