"""Images with their channels in the last dimension go into a convolution, which wants them before height and width."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.causes.errors.channel_mismatch import channels, is_channels_last
from torchwhy.detect.crashes import (
    at,
    crashes,
    expression_of,
    finding_of,
    fixes_of,
    is_in_loader,
    layer_input,
    layer_of,
    layer_words,
    operand_evidence,
    size,
    walk_evidence,
)
from torchwhy.finding import Evidence, Finding
from torchwhy.record.trace import Trace


class ChannelsLastImage(Detector):
    """Images with their channels in the last dimension go into a convolution.

    ## What it finds

    A convolution that raised because the second dimension of its input is not its number of channels, where the
    last dimension is, and where the same call goes through after `permute`.

    ## Why it breaks training

    NumPy, PIL and OpenCV keep an image as height × width × channels; torch wants channels × height × width. When
    the numbers happen to fit, nothing is raised and the network looks at columns as if they were colours.

    ## Broken

    ```python
    import numpy as np
    import torch
    from torch import nn

    images = np.random.default_rng(0).random((32, 24, 20, 3), dtype=np.float32)
    labels = torch.arange(32) % 2
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(4):
        x = torch.from_numpy(images[step * 8 : step * 8 + 8])
        logits = model(x)  # <- channels-last-image
        loss = nn.functional.cross_entropy(logits, labels[step * 8 : step * 8 + 8])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    One image at a time, in a module.

    ```python
    import torch
    from torch import nn


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(3, 4, 5)
            self.head = nn.Linear(4, 1)

        def forward(self, image):
            features = self.conv(image)  # <- channels-last-image
            return self.head(features.mean((-1, -2)))


    net = Net()
    optimizer = torch.optim.Adam(net.parameters())
    for step in range(3):
        loss = net(torch.rand(32, 48, 3)).square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Repaired

    ```python
    import numpy as np
    import torch
    from torch import nn

    images = np.random.default_rng(0).random((32, 24, 20, 3), dtype=np.float32)
    labels = torch.arange(32) % 2
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(4):
        x = torch.from_numpy(images[step * 8 : step * 8 + 8]).permute(0, 3, 1, 2)
        logits = model(x)
        loss = nn.functional.cross_entropy(logits, labels[step * 8 : step * 8 + 8])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Lookalike

    The memory format `channels_last` changes the order in memory and not the order of dimensions.

    ```python
    import torch
    from torch import nn

    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 2))
    model = model.to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(4):
        x = torch.rand(8, 3, 24, 20).to(memory_format=torch.channels_last)
        loss = nn.functional.cross_entropy(model(x), torch.arange(8) % 2)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Limits

    An image as wide or as high as it has channels cannot be told from one in the right order.
    """

    name = "channels-last-image"
    needs = frozenset({"crash"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            layer, pair = layer_of(crash), channels(crash)
            if layer is None or pair is None or is_in_loader(crash) or not is_channels_last(crash):
                continue
            name, tensor = layer_input(crash)
            shape = f" ({size(tensor)})" if tensor is not None else ""
            yield finding_of(
                trace,
                crash,
                detector=self.name,
                message=f"{name}{shape} has its {pair[0]} channels in the last dimension, but {expression_of(crash)} "
                "wants them before height and width",
                evidence=[
                    Evidence(
                        f"{layer_words(layer)}{at(layer.made_at)} wants {pair[0]} channels; "
                        f"the last dimension is {pair[0]}, dimension 1 is {pair[1]}"
                    ),
                    *operand_evidence(crash),
                    *walk_evidence(crash),
                ],
                fixes=fixes_of(crash, "permute-input"),
            )
