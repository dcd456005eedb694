"""A convolution or normalisation was made for another number of channels than it is given."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.crashes import (
    at,
    blamed_constructor,
    crashes,
    expression_of,
    favoured,
    finding_of,
    fixes_of,
    is_in_loader,
    layer_input,
    layer_of,
    layer_words,
    operand_evidence,
    says,
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

# Each with the channels the layer wants and the channels that came.
PATTERNS = (
    r"to have (\d+) channels, but got (\d+) channels instead",
    r"size at dim=1 to match num_features \((\d+)\), but got: (\d+)",
    r"weight of shape \[(\d+)\] and input of shape \[\d+, (\d+)",
)
IMAGE_LAYERS = ("Conv2d", "Conv3d", "ConvTranspose2d", "ConvTranspose3d")
# The same the other way round.
TURNED = (
    r"running_mean should contain (\d+) elements not (\d+)",
    r"weight should contain (\d+) elements not (\d+)",
)


class ChannelMismatch(Detector):
    """A convolution or normalisation layer was made for another number of channels than it is given.

    ## What it finds

    A convolution, transposed convolution, batch, group or instance normalisation that raised because its input has
    another number of channels than it was constructed with. It names the layer, the line that constructs it, both
    numbers and the station that made the channels; the layer with the other number is tried on the real input.

    ## Why it breaks training

    A convolution has one slice of weights per input channel, so the number cannot be stretched. It goes wrong when
    a layer is inserted or widened and the next one keeps its old number, or when images are grey.

    ## Broken

    ```python
    import torch
    from torch import nn


    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Conv2d(3, 24, 3, padding=1)
            self.second = nn.Conv2d(32, 16, 3, padding=1)  # <- channel-mismatch

        def forward(self, x):
            return self.second(torch.relu(self.first(x)))


    encoder = Encoder()
    optimizer = torch.optim.SGD(encoder.parameters(), lr=0.1)
    for step in range(3):
        loss = encoder(torch.randn(4, 3, 16, 16)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    Grey images into a network for colour, and a normalisation that was forgotten when a layer grew.

    ```python
    import torch
    from torch import nn

    model = nn.Sequential(
        nn.Conv2d(3, 8, 3),  # <- channel-mismatch
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(8, 10),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(3):
        loss = nn.functional.cross_entropy(model(torch.randn(8, 1, 28, 28)), torch.randint(0, 10, (8,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ```python
    import torch
    from torch import nn

    body = nn.Sequential(
        nn.Conv1d(4, 24, 3),
        nn.BatchNorm1d(16),  # <- channel-mismatch
        nn.ReLU(),
    )
    head = nn.Linear(24, 2)
    optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
    for step in range(3):
        features = body(torch.randn(8, 4, 20)).mean(-1)
        loss = head(features).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Repaired

    ```python
    import torch
    from torch import nn


    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Conv2d(3, 24, 3, padding=1)
            self.second = nn.Conv2d(24, 16, 3, padding=1)

        def forward(self, x):
            return self.second(torch.relu(self.first(x)))


    encoder = Encoder()
    optimizer = torch.optim.SGD(encoder.parameters(), lr=0.1)
    for step in range(3):
        loss = encoder(torch.randn(4, 3, 16, 16)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Lookalike

    Grey images are widened to three channels by `expand` before they go in.

    ```python
    import torch
    from torch import nn

    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(3):
        grey = torch.randn(8, 1, 28, 28)
        loss = nn.functional.cross_entropy(model(grey.expand(-1, 3, -1, -1)), torch.randint(0, 10, (8,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Limits

    An image whose channels come last is `channels-last-image`. When the data has the wrong channels rather than the
    layer, the layer is blamed all the same, unless it has worked in an earlier step.
    """

    name = "channel-mismatch"
    needs = frozenset({"crash"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            layer, pair = layer_of(crash), channels(crash)
            if layer is None or pair is None or is_in_loader(crash) or is_channels_last(crash):
                continue
            yield _judge(trace, crash, layer, wanted=pair[0], given=pair[1])

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from shapes.resized(finding, source)


def channels(crash: Crash) -> tuple[int, int] | None:
    """Return the channels that the layer wants and those that came."""
    for patterns, turned in ((PATTERNS, False), (TURNED, True)):
        for pattern in patterns:
            found = says(crash, pattern)
            if found:
                first, second = int(found[1]), int(found[2])
                return (second, first) if turned else (first, second)
    return None


def is_channels_last(crash: Crash) -> bool:
    """Tell whether the input is an image that fits after its channels are moved to the front.

    Channels are fewer than rows and columns; a feature map that happens to be as wide as it has channels is no image.
    """
    layer, shape = layer_of(crash), crash.facts.get("layer_input")
    if layer is None or layer.kind not in IMAGE_LAYERS:
        return False
    if isinstance(shape, list) and len(shape) > 2 and shape[-1] >= min(shape[-3:-1]):
        return False
    return any(trial.worked for trial in trials(crash, "permute-input"))


def _judge(trace: Trace, crash: Crash, layer: Layer, *, wanted: int, given: int) -> Finding:
    kinds_of_data = (
        ("add-channel",) if layer.kind in IMAGE_LAYERS else ("permute-input", "add-channel")
    )
    reshaped = [trial for trial in trials(crash, *kinds_of_data) if trial.worked]
    blames_data = bool(reshaped) or worked_before(trace, layer)
    name, tensor = layer_input(crash)
    shape = f" ({size(tensor)})" if tensor is not None else ""
    message = f"{layer.path} takes {wanted} channels and is given {given}: {name}{shape} in {expression_of(crash)}"
    if reshaped:
        message += f"; {reshaped[0].change} fits"
    source = "" if reshaped else _source(crash, given)
    evidence = [
        Evidence(f"{layer_words(layer)}{at(layer.made_at)} wants {wanted} channels{source}")
    ]
    if worked_before(trace, layer):
        evidence.append(
            Evidence(f"{layer.path} has worked in an earlier step, so it is the data that changed")
        )
    else:
        evidence += favoured(crash, layer, reshaped, noun="channels")
    kinds = (*kinds_of_data, "resize-layer") if blames_data else ("resize-layer",)
    return finding_of(
        trace,
        crash,
        detector=ChannelMismatch.name,
        message=message,
        evidence=[*evidence, *walk_evidence(crash), *operand_evidence(crash)],
        location=None if blames_data else blamed_constructor(crash, layer),
        fixes=fixes_of(crash, *kinds),
    )


def _source(crash: Crash, given: int) -> str:
    """Say which station made the channels that came."""
    for station in reversed(crash.walk):
        if len(station.shape) > 1 and station.shape[1] != given:
            break
        made = station
    else:
        return f"; the input itself has {given}" if crash.walk else ""
    return (
        f"; {given} come from {made.what}{at(made.location)}"
        if crash.walk and station is not crash.walk[-1]
        else ""
    )
