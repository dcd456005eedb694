"""What the accelerator reads out of tensors, and how its descriptors behave."""

from __future__ import annotations

import math

import pytest
import torch

from torchwhy.observe.native import native_descriptors, records

pytestmark = pytest.mark.skipif(
    not native_descriptors.is_ready(),
    reason="the accelerator was not built, or torch offers too little",
)
NAN, INFINITY = math.nan, math.inf


class Labelled(torch.Tensor):
    """A subclass, whose answers only Python knows."""


FINITE = {
    "floats": torch.randn(100),
    "doubles": torch.randn(7, 3, dtype=torch.float64),
    "a number": torch.tensor(1.5),
    "nothing": torch.empty(0, 4),
    "the largest": torch.full((9,), torch.finfo(torch.float32).max),
    "the smallest": torch.tensor([1e-45, -1e-45]),
    "columns": torch.randn(5, 8).t(),
    "channels last": torch.randn(2, 3, 4, 4).contiguous(memory_format=torch.channels_last),
    "expanded": torch.randn(3, 1).expand(3, 50),
    "a graph": torch.randn(3, requires_grad=True) * 2,
    "from the middle": torch.randn(100)[40:60],
    "a parameter": torch.nn.Parameter(torch.randn(4)),
}
UNSURE = {
    "half": torch.randn(4).half(),
    "brain": torch.randn(4).bfloat16(),
    "whole": torch.arange(4),
    "complex": torch.randn(4, dtype=torch.complex64),
    "sparse": torch.eye(3).to_sparse(),
    "gaps": torch.randn(10, 10)[:, :3],
    "meta": torch.randn(4, device="meta"),
    "subclass": torch.randn(4).as_subclass(Labelled),
}


@pytest.mark.parametrize("kind", FINITE)
def test_finite_tensors_are_known_as_such(kind):
    assert records.fast.surely_finite(FINITE[kind])


@pytest.mark.parametrize("kind", UNSURE)
def test_others_are_left_to_python(kind):
    assert not records.fast.surely_finite(UNSURE[kind])
    assert records.fast.number_in(UNSURE[kind]) is None


@pytest.mark.parametrize("bad", [NAN, -NAN, INFINITY, -INFINITY])
@pytest.mark.parametrize("place", [0, 1, 57, 98])
@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_one_bad_element_anywhere_is_seen(bad, place, kind):
    values = torch.randn(99, dtype=kind)
    values[place] = bad

    assert not records.fast.surely_finite(values)
    assert not records.fast.surely_finite(values.reshape(9, 11).t())


def test_numbers_are_read_as_item_reads_them():
    for number in (
        torch.tensor(0.1),
        torch.tensor(0.1, dtype=torch.float64),
        torch.tensor([[2.5]]),
    ):
        assert records.fast.number_in(number) == number.item()
    assert math.isnan(records.fast.number_in(torch.tensor(NAN)))
    assert records.fast.number_in((torch.ones(3, requires_grad=True) * 2).sum()) == 6.0
    assert records.fast.number_in(torch.ones(2)) is None


def test_reading_leaves_no_trace_in_a_tensor():
    values = torch.randn(10)
    version, pointer = values._version, values.data_ptr()

    assert records.fast.surely_finite(values)
    assert (values._version, values.data_ptr()) == (version, pointer)


def test_what_is_no_tensor_is_left_to_python():
    for thing in (None, 1.0, "loss", [], object()):
        assert records.fast.number_in(thing) is None
        assert not records.fast.surely_finite(thing)


def test_descriptors_refuse_what_they_were_not_made_for():
    fast = records.fast
    for kind in (fast.Engine, fast.Read, fast.Forward, fast.Changed, fast.IndexNote):
        with pytest.raises(TypeError):
            kind(None, print, None)
    with pytest.raises(TypeError):
        fast.NativeCruise(cruise=object())
