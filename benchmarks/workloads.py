"""The training loops whose cost is measured: from a tiny network, where microseconds show, to a small transformer.

Run as a program it is one contestant: it trains a given number of steps whenever told so on its standard input
and answers with the thread-CPU seconds they took.
"""

from __future__ import annotations

import contextlib
import itertools
import sys
import time
from collections.abc import Callable, Iterator

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

Step = Callable[[], None]


def _supervised(
    model: nn.Module,
    batches: Iterator[tuple[torch.Tensor, torch.Tensor]],
    loss_of: Callable,
    **options: bool,
) -> Step:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, **options)

    def step() -> None:
        inputs, targets = next(batches)
        optimizer.zero_grad()
        loss = loss_of(model(inputs), targets)
        loss.backward()
        optimizer.step()

    step.model = model  # for those who hook its modules
    return step


def _endless(loader: DataLoader) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    while True:
        yield from loader


def _line(count: int, width: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return data that can be learned, so that the loss falls as in a healthy run."""
    inputs = torch.randn(count, width)
    return inputs, inputs @ torch.randn(width, 1) / width**0.5


def tiny() -> Step:
    """MLP 10-100-100-1, batch 32, with a DataLoader: about 1 ms a step."""
    model = nn.Sequential(
        nn.Linear(10, 100), nn.ReLU(), nn.Linear(100, 100), nn.ReLU(), nn.Linear(100, 1)
    )
    loader = DataLoader(TensorDataset(*_line(6400, 10)), batch_size=32, shuffle=True)
    return _supervised(model, _endless(loader), nn.functional.mse_loss)


def tiny_fused() -> Step:
    """The same without loader and with a fused optimizer."""
    model = nn.Sequential(
        nn.Linear(10, 100), nn.ReLU(), nn.Linear(100, 100), nn.ReLU(), nn.Linear(100, 1)
    )
    return _supervised(model, itertools.repeat(_line(32, 10)), nn.functional.mse_loss, fused=True)


def mlp() -> Step:
    """MLP 784-1024-1024-10, batch 128."""
    model = nn.Sequential(
        nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10)
    )
    inputs = torch.randn(1280, 784)
    loader = DataLoader(TensorDataset(inputs, inputs[:, :10].argmax(1)), batch_size=128)
    return _supervised(model, _endless(loader), nn.functional.cross_entropy)


class Residual(nn.Module):
    """A block of a small ResNet."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels), nn.ReLU(),
            nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels),
        )  # fmt: skip

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return torch.relu(images + self.body(images))


def cnn() -> Step:
    """A small ResNet on 3x32x32, batch 64."""
    model = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), Residual(32), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3, padding=1), Residual(64),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10),
    )  # fmt: skip
    images = torch.randn(256, 3, 32, 32)
    loader = DataLoader(TensorDataset(images, images.mean((2, 3)).argmax(1)), batch_size=64)
    return _supervised(model, _endless(loader), nn.functional.cross_entropy)


class Transformer(nn.Module):
    """Four causal layers of width 256 over 128 tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(100, 256)
        layer = nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True, dropout=0.1)
        self.layers = nn.TransformerEncoder(layer, 4)
        self.head = nn.Linear(256, 100)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(128))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.head(self.layers(self.tokens(ids), mask=self.mask, is_causal=True)).flatten(
            0, 1
        )


def gpt() -> Step:
    """A small language model, batch 8."""
    ids = torch.randint(0, 100, (8, 129)).cumsum(1) % 100
    batches = itertools.repeat((ids[:, :-1], ids[:, 1:].flatten()))
    return _supervised(Transformer(), batches, nn.functional.cross_entropy)


class Recurrent(nn.Module):
    """Two LSTM layers of width 256 over 64 steps."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(32, 256, 2, batch_first=True)
        self.head = nn.Linear(256, 1)

    def forward(self, sequence: torch.Tensor) -> torch.Tensor:
        return self.head(self.lstm(sequence)[0][:, -1])


def lstm() -> Step:
    """A recurrent network, batch 16."""
    sequences = torch.randn(16, 64, 32)
    batches = itertools.repeat((sequences, sequences.mean((1, 2))[:, None]))
    return _supervised(Recurrent(), batches, nn.functional.mse_loss)


WORKLOADS = {
    "tiny": tiny,
    "tiny-fused": tiny_fused,
    "mlp": mlp,
    "cnn": cnn,
    "gpt": gpt,
    "lstm": lstm,
}


def serve(workload: str, variant: str) -> None:
    """Train when told: a line with a number of steps in, a line with thread-CPU seconds out."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    step = WORKLOADS[workload]()
    if variant == "DebugUnderflowOverflow":
        from transformers.debug_utils import DebugUnderflowOverflow

        DebugUnderflowOverflow(step.model)
    mode = (
        torch.autograd.detect_anomaly(check_nan=True)
        if variant == "detect_anomaly"
        else contextlib.nullcontext()
    )
    with mode:
        for line in sys.stdin:
            began = time.thread_time()
            for _ in range(int(line)):
                step()
            print(time.thread_time() - began, flush=True)


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2])
