"""Numbers about tensors: the accelerator's and torch's own are the same."""

from __future__ import annotations

import math

import pytest
import torch

from torchwhy.observe.native import native_descriptors
from torchwhy.observe.probes import weights
from torchwhy.replay.microscope import measures, tensor_facts

# The others hold without it, too.
compares = pytest.mark.skipif(
    not native_descriptors.is_ready(),
    reason="the accelerator was not built, or torch offers too little",
)
NAN, INFINITY = math.nan, math.inf


class Labelled(torch.Tensor):
    """A subclass, whose numbers only torch may read."""


TENSORS = {
    "a matrix": torch.randn(7, 5),
    "doubles": torch.randn(3, 4, dtype=torch.float64),
    "many": torch.randn(33, 65),
    "zeros": torch.zeros(4, 6),
    "half of it zero": torch.randn(6, 8).relu(),
    "one dead column": torch.randn(5, 4) * torch.tensor([1.0, 0.0, 1.0, 1.0]),
    "equal rows": torch.randn(1, 9).repeat(4, 1),
    "negative zeros": torch.tensor([[0.0, 1.0], [-0.0, 1.0]]),
    "columns": torch.randn(4, 6).t(),
    "images": torch.randn(2, 3, 4, 4).relu(),
    "channels last": torch.randn(2, 3, 4, 4).contiguous(memory_format=torch.channels_last),
    "gaps": torch.randn(8, 8)[:, :3],
    "expanded": torch.randn(3, 1).expand(3, 4),
    "bad numbers": torch.tensor([[1.0, NAN], [INFINITY, -INFINITY], [0.0, -2.0]]),
    "only bad numbers": torch.tensor([[NAN, INFINITY]]),
    "half precision": torch.randn(4, 4).half(),
    "a row": torch.randn(1, 5),
    "a subclass": torch.randn(3, 3).as_subclass(Labelled),
}


def both(monkeypatch: pytest.MonkeyPatch, ask):
    """Return the answer with the accelerator, and without."""
    fast = ask()
    monkeypatch.setattr(measures, "fast", None)
    monkeypatch.setattr(weights, "fast", None)
    return fast, ask()


@compares
@pytest.mark.parametrize("kind", TENSORS)
def test_facts_are_the_same(kind, monkeypatch):
    fast, slow = both(monkeypatch, lambda: tensor_facts.facts_of(TENSORS[kind]))

    assert fast == slow


@compares
@pytest.mark.parametrize("kind", [k for k in TENSORS if "bad" not in k])
def test_sizes_and_spreads_are_the_same(kind, monkeypatch):
    tensor = TENSORS[kind]
    for ask in (measures.root_mean_square, measures.weight_size, measures.spread):
        fast, slow = both(monkeypatch, lambda ask=ask: ask(tensor))

        # The norm of half precision is taken in half precision.
        assert fast == pytest.approx(slow, rel=1e-3 if tensor.dtype is torch.float16 else 1e-6)
        monkeypatch.undo()


@compares
@pytest.mark.parametrize("kind", [k for k in TENSORS if "bad" not in k])
@pytest.mark.parametrize("tolerance", [0.0, 1e-6])
def test_equal_rows_are_the_same(kind, tolerance, monkeypatch):
    fast, slow = both(monkeypatch, lambda: measures.rows_equal(TENSORS[kind], tolerance))

    assert fast == slow
    assert fast == (kind in ("zeros", "equal rows", "negative zeros"))


@compares
@pytest.mark.parametrize("kind", TENSORS)
def test_nonzero_elements_are_found(kind, monkeypatch):
    fast, slow = both(monkeypatch, lambda: measures.has_nonzero(TENSORS[kind]))

    assert fast == slow == (kind != "zeros")


@compares
@pytest.mark.parametrize("kind", [k for k in TENSORS if "bad" not in k])
@pytest.mark.parametrize("dimension", [0, 1])
def test_units_are_the_same(kind, dimension, monkeypatch):
    fast, slow = both(
        monkeypatch, lambda: measures.units(TENSORS[kind], dimension, low=-0.5, high=0.9)
    )

    assert fast == pytest.approx(slow)


def test_a_dead_unit_is_counted_along_its_dimension():
    dead = measures.units(TENSORS["one dead column"], 1, low=-9.0, high=9.0)

    assert (dead.dead, dead.outside) == (1, 0.0)
    assert dead.zeros == 0.25


def test_sizes_beyond_float32_are_told():
    assert measures.weight_size(torch.full((3,), 1e25)) == pytest.approx(1e25)
