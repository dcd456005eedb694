"""The installed torch says what the table of its messages knows: each of these raises, and is read as its kind."""

from __future__ import annotations

import io
from argparse import Namespace
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from torchwhy.detect.rules import dimension_messages as dimensions
from torchwhy.detect.rules import message_kinds as kinds
from torchwhy.detect.rules.message_kinds import TorchMessage
from torchwhy.detect.rules.torch_layers import LOSSES
from torchwhy.detect.rules.torch_messages import read

LONG = torch.zeros(3, dtype=torch.long)
LEAF = torch.zeros(3, requires_grad=True)


def zeros(*shape: int) -> torch.Tensor:
    return torch.zeros(*shape)


def changed_after_use() -> None:
    result = LEAF.exp()
    result.add_(1)
    result.sum().backward()


def backward_twice() -> None:
    loss = LEAF.exp().sum()
    loss.backward()
    loss.backward()


def part_of_an_unbound_tensor() -> None:
    (LEAF * 1).unbind(0)[0].add_(1)


def trained_on_inference() -> None:
    with torch.inference_mode():
        made = zeros(3)
    (LEAF * made).sum().backward()


def stepped(optimizer: type[torch.optim.Optimizer], *, sparse: bool) -> None:
    table = nn.Embedding(3, 2, sparse=sparse)
    table(LONG).sum().backward()
    optimizer(table.parameters(), lr=0.1).step()


def norm_of_sparse_gradients() -> None:
    table = nn.Embedding(3, 2, sparse=True)
    table(LONG).sum().backward()
    nn.utils.clip_grad_norm_(table.parameters(), 1.0)


def stepped_past_the_end() -> None:
    optimizer = torch.optim.SGD(nn.Linear(1, 1).parameters(), 0.1)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=2)
    for _ in range(3):
        optimizer.step()
        schedule.step()


def loaded_into_more_parameters() -> None:
    small, large = nn.Linear(1, 1), nn.Linear(1, 1, bias=False)
    state = torch.optim.SGD(large.parameters(), 0.1).state_dict()
    torch.optim.SGD(small.parameters(), 0.1).load_state_dict(state)


def load(content: bytes) -> None:
    torch.load(io.BytesIO(content))


def saved(value: object) -> bytes:
    stream = io.BytesIO()
    torch.save(value, stream)
    return stream.getvalue()


SIZES: list[tuple[type[TorchMessage], Callable[[], object]]] = [
    (kinds.Product, lambda: nn.Linear(4, 2)(zeros(3, 5))),
    (kinds.Product, lambda: zeros(2, 4) @ zeros(3)),
    (kinds.InnerSizes, lambda: torch.bmm(zeros(2, 3, 4), zeros(2, 5, 3))),
    (kinds.InnerSizes, lambda: torch.dot(zeros(3), zeros(4))),
    (kinds.InnerSizes, lambda: torch.einsum("ij,jk->ik", zeros(3, 4, 5), zeros(4, 5))),
    (kinds.EinsumLetter, lambda: torch.einsum("ij,jk->ik", zeros(3, 4), zeros(5, 6))),
    (kinds.NotAMatrix, lambda: torch.mm(zeros(3, 4, 5), zeros(3, 4))),
    (kinds.Features, lambda: nn.LSTM(4, 5)(zeros(3, 2, 6))),
    (kinds.Features, lambda: nn.LSTMCell(4, 5)(zeros(3, 6))),
    (kinds.Features, lambda: nn.LayerNorm(4)(zeros(3, 5))),
    (kinds.Features, lambda: nn.Bilinear(3, 4, 5)(zeros(2, 5), zeros(2, 4))),
    (kinds.Features, lambda: nn.MultiheadAttention(4, 2)(*[zeros(5, 2, 6)] * 3)),
    (kinds.Channels, lambda: nn.Conv2d(3, 4, 3)(zeros(2, 5, 6, 6))),
    (kinds.Channels, lambda: nn.BatchNorm2d(3)(zeros(2, 5, 6, 6))),
    (kinds.Channels, lambda: nn.GroupNorm(2, 4)(zeros(2, 6, 5, 5))),
    (kinds.Channels, lambda: nn.InstanceNorm2d(3, affine=True)(zeros(2, 4, 5, 5))),
    (kinds.InputDimensions, lambda: nn.BatchNorm1d(3)(zeros(3))),
    (kinds.InputDimensions, lambda: nn.Conv2d(3, 4, 3)(zeros(5, 5))),
    (kinds.InputDimensions, lambda: nn.LSTM(4, 5)(zeros(4))),
    (kinds.InputDimensions, lambda: functional.max_pool2d(zeros(5, 5), 2)),
    (kinds.InputDimensions, lambda: functional.max_pool1d(zeros(5), 2)),
    (kinds.InputDimensions, lambda: nn.GRU(4, 5)(zeros(3, 4), zeros(1, 2, 5))),
    (kinds.NoSecondDimension, lambda: zeros(3).softmax(1)),
    (kinds.OneValuePerChannel, lambda: nn.BatchNorm1d(3)(zeros(1, 3))),
    (kinds.OneValuePerChannel, lambda: nn.InstanceNorm2d(3)(zeros(1, 3, 1, 1))),
    (kinds.Elementwise, lambda: zeros(3) + zeros(4)),
    (kinds.Joined, lambda: torch.cat([zeros(2, 3), zeros(2, 4)])),
    (kinds.HiddenSize, lambda: nn.GRU(4, 5)(zeros(3, 2, 4), zeros(1, 3, 5))),
    (dimensions.RoomShape, lambda: zeros(3, 4).expand(3, 5)),
    (dimensions.DimensionsDiffer, lambda: torch.cat([zeros(2, 3), zeros(3)])),
    (dimensions.InPlaceShape, lambda: zeros(3).add_(zeros(2, 3))),
    (dimensions.DimensionCount, lambda: zeros(2, 3).permute(2, 0, 1)),
    (dimensions.DimensionCount, lambda: zeros(2, 3)[:, :, 0]),
    (dimensions.DimensionCount, lambda: zeros(2, 3).sum(2)),
    (dimensions.DimensionCount, lambda: zeros(2, 3).expand(3)),
    (dimensions.TooSmall, lambda: nn.Conv2d(1, 1, 3)(zeros(1, 1, 2, 2))),
    (dimensions.TooSmall, lambda: nn.MaxPool2d(2)(zeros(1, 1, 1, 1))),
    (
        dimensions.MaskShape,
        lambda: nn.MultiheadAttention(4, 2)(*[zeros(5, 2, 4)] * 3, attn_mask=zeros(4, 4)),
    ),
    (dimensions.RangeRefused, lambda: functional.binary_cross_entropy(zeros(3) - 1, zeros(3))),
    (dimensions.RangeRefused, lambda: torch.multinomial(zeros(3) - 1, 1)),
    (dimensions.MatrixRefused, lambda: torch.linalg.cholesky(-torch.eye(3))),
    (dimensions.MatrixRefused, lambda: torch.linalg.solve(zeros(3, 3), zeros(3))),
    (dimensions.MatrixRefused, lambda: torch.linalg.svd(zeros(3, 3) / 0)),
    (kinds.OtherSizes, lambda: zeros(4, 4)[torch.ones(5, dtype=torch.bool)]),
    (kinds.OtherSizes, lambda: zeros(3, 4).gather(1, LONG)),
    (kinds.Stacked, lambda: torch.stack([zeros(3), zeros(4)])),
    (kinds.RowsDiffer, lambda: torch.tensor([[1, 2], [3]])),
    (kinds.SamplesDiffer, lambda: torch.utils.data.default_collate([[1, 2], [1, 2, 3]])),
    (kinds.ArraysDiffer, lambda: np.stack([np.zeros(3), np.zeros(4)])),
    (kinds.Reshaped, lambda: zeros(3, 4).view(5, -1)),
    (kinds.Reshaped, lambda: zeros(3, 4).unflatten(1, (3, 2))),
    (kinds.StridedView, lambda: zeros(3, 4).t().view(12)),
    (kinds.BatchSizes, lambda: functional.cross_entropy(zeros(4, 3), LONG)),
    (kinds.TargetShape, lambda: functional.cross_entropy(zeros(3, 4, 5), LONG.expand(3, 3))),
    (kinds.TargetShape, lambda: functional.binary_cross_entropy(zeros(3, 1), zeros(3))),
    (kinds.IndexRange, lambda: nn.Embedding(3, 4)(LONG + 3)),
    (kinds.IndexBounds, lambda: zeros(3)[9]),
    (kinds.LabelRange, lambda: functional.cross_entropy(zeros(3, 4), LONG + 4)),
    (kinds.OneHotRange, lambda: functional.one_hot(LONG + 3, 3)),
]
TYPES: list[tuple[type[TorchMessage], Callable[[], object]]] = [
    (kinds.Devices, lambda: zeros(3) + torch.empty(3, device="meta")),
    (kinds.ToNumpy, lambda: torch.empty(3, device="meta").numpy()),
    (kinds.Dtypes, lambda: nn.Linear(3, 4)(zeros(1, 3).double())),
    (kinds.Dtypes, lambda: nn.Conv2d(3, 4, 3)(zeros(1, 3, 5, 5).double())),
    (kinds.Dtypes, lambda: nn.LayerNorm(3)(zeros(2, 3).double())),
    (kinds.Dtypes, lambda: nn.Parameter(LONG)),
    (kinds.ScalarType, lambda: torch.bmm(zeros(1, 2, 3), zeros(1, 3, 2).double())),
    (kinds.FoundDtype, lambda: functional.binary_cross_entropy(zeros(3), LONG)),
    (kinds.MeanOfIntegers, LONG.mean),
    (kinds.IndexDtype, lambda: nn.Embedding(3, 4)(zeros(3))),
    (kinds.IndexDtype, lambda: zeros(3, 4)[zeros(3)]),
    (kinds.IndexDtype, lambda: zeros(3, 4).gather(1, zeros(1, 1))),
    (kinds.UnsupportedDtype, lambda: LONG.softmax(0)),
    (kinds.ResultDtype, lambda: LONG.add_(zeros(3))),
    (kinds.NumberTooLarge, lambda: zeros(3).half().masked_fill(LONG == 0, -1e9)),
    (kinds.ProbabilitiesWanted, lambda: functional.cross_entropy(zeros(3, 3), LONG.expand(3, 3))),
    (kinds.ClassNumbersWanted, lambda: functional.one_hot(zeros(3))),
]
GRAPHS: list[tuple[type[TorchMessage], Callable[[], object]]] = [
    (kinds.FreedGraph, backward_twice),
    (kinds.StaleValue, changed_after_use),
    (kinds.LeafInPlace, lambda: LEAF.add_(1)),
    (kinds.ViewInPlace, part_of_an_unbound_tensor),
    (kinds.NothingRequiresGrad, lambda: zeros(()).backward()),
    (kinds.UnusedInGraph, lambda: torch.autograd.grad((LEAF * 2).sum(), zeros(3).requires_grad_())),
    (kinds.NeedsNoGradient, lambda: torch.autograd.grad((LEAF * 2).sum(), zeros(3))),
    (kinds.InferenceTensor, trained_on_inference),
    (kinds.NonScalar, (LEAF * 2).backward),
    (kinds.NegativeStride, lambda: torch.from_numpy(np.zeros(3)[::-1])),
    (kinds.FanIn, lambda: nn.init.xavier_uniform_(zeros(3))),
    (kinds.InitialiserDimensions, lambda: nn.init.orthogonal_(zeros(3))),
    (kinds.OutOfMemory, lambda: torch.empty(10**15)),
    (kinds.OutOfMemory, lambda: np.zeros((10**6, 10**6, 10**3))),
    (kinds.BeginnersError, LEAF.numpy),
    (kinds.BeginnersError, lambda: nn.Linear(3, 4)((zeros(3),))),
    (kinds.BeginnersError, lambda: torch.optim.SGD([], 0.1)),
    (kinds.BeginnersError, zeros(3).item),
]

EVERYDAY: list[tuple[type[TorchMessage], Callable[[], object]]] = [
    (kinds.SparseRefused, lambda: stepped(torch.optim.Adam, sparse=True)),
    (kinds.SparseRefused, lambda: stepped(torch.optim.AdamW, sparse=True)),
    (kinds.SparseRefused, lambda: stepped(torch.optim.RMSprop, sparse=True)),
    (kinds.SparseRefused, norm_of_sparse_gradients),
    (kinds.DenseRefused, lambda: stepped(torch.optim.SparseAdam, sparse=False)),
    (kinds.ScheduleOver, stepped_past_the_end),
    (kinds.StateMismatch, lambda: nn.Linear(3, 2).load_state_dict({})),
    (kinds.StateMismatch, lambda: nn.Linear(3, 2).load_state_dict(nn.Linear(3, 4).state_dict())),
    (kinds.StateMismatch, lambda: nn.Linear(3, 2).load_state_dict([])),
    (kinds.OptimizerStateMismatch, loaded_into_more_parameters),
    (kinds.UnsafeLoad, lambda: load(saved(Namespace(lr=1)))),
    (kinds.UnsafeLoad, lambda: load(saved(nn.Linear(3, 2)))),
    (kinds.UnreadableFile, lambda: load(b"version https://git-lfs.github.com/spec/v1")),
    (kinds.UnreadableFile, lambda: load(saved(zeros(3))[:400])),
    (kinds.OutsideSupport, lambda: torch.distributions.Bernoulli(zeros(1)).log_prob(zeros(1) - 1)),
    (kinds.BeginnersError, lambda: torch.device("gpu")),
    (kinds.BeginnersError, lambda: torch.save(zeros(1), "no/such/directory/w.pt")),
]


@pytest.mark.parametrize(("kind", "call"), [*SIZES, *TYPES, *GRAPHS, *EVERYDAY])
def test_what_torch_says_is_read_as_its_kind(kind, call):
    with pytest.raises(Exception) as raised:
        call()

    assert type(read(str(raised.value))) is kind, str(raised.value)


def test_every_loss_layer_of_torch_is_known():
    layers = {name for name in nn.modules.loss.__all__ if name.endswith("Loss")}

    assert layers <= LOSSES
