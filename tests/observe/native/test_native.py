"""What the accelerator reads out of tensors, and how its descriptors behave."""

from __future__ import annotations

import gc
import math
import sys
import warnings
import weakref

import pytest
import torch
from torch.overrides import TorchFunctionMode

from torchwhy.observe.native import native_descriptors, records
from torchwhy.observe.session import Session
from torchwhy.observe.steps import gradients
from torchwhy.record import run_file

pytestmark = pytest.mark.skipif(
    not native_descriptors.is_ready(),
    reason="the accelerator was not built, or torch offers too little",
)
NAN, INFINITY = math.nan, math.inf


class Labelled(torch.Tensor):
    """A subclass, whose answers only Python knows."""


def _without_memory() -> torch.Tensor:
    """Sharded training frees the memory of weights between uses."""
    values = torch.ones(4)
    values.untyped_storage().resize_(0)
    return values


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
with warnings.catch_warnings():  # torch calls them deprecated, or not yet stable
    warnings.simplefilter("ignore")
    QUANTIZED = torch.quantize_per_tensor(torch.ones(4), 0.1, 0, torch.qint8)
    COMPRESSED = torch.eye(3).to_sparse_csr()
    NESTED = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
UNSURE = {
    "half": torch.randn(4).half(),
    "brain": torch.randn(4).bfloat16(),
    "whole": torch.arange(4),
    "complex": torch.randn(4, dtype=torch.complex64),
    "sparse": torch.eye(3).to_sparse(),
    "gaps": torch.randn(10, 10)[:, :3],
    "meta": torch.randn(4, device="meta"),
    "subclass": torch.randn(4).as_subclass(Labelled),
    "quantized": QUANTIZED,
    "compressed rows": COMPRESSED,
    "nested": NESTED,
    "eight bits": torch.ones(4).to(torch.float8_e4m3fn),
    "freed memory": _without_memory(),
    "no memory at all": torch._efficientzerotensor(4),
    "between two floats": torch.frombuffer(bytearray(9), dtype=torch.float32, offset=1),
    "more dimensions than we count": torch.ones([1] * 9),
}
GAPS = {
    "a column": lambda x: x[::2],
    "an expanded column": lambda x: x[::5].expand(4, 4),
    "expanded columns": lambda x: x[::5, None].expand(4, 9),
    "overlapping windows": lambda x: x.as_strided((3, 5), (4, 1)),
    "overlapping windows with gaps": lambda x: x.as_strided((4, 4), (2, 4)),
    "turned": lambda x: x.as_strided((3, 2), (1, 4)),
    "transposed and expanded": lambda x: x[::3].expand(7, 7).t(),
    "halves of complex numbers": lambda x: torch.view_as_complex(x.view(10, 2)).real,
}


@pytest.mark.parametrize("kind", FINITE)
def test_finite_tensors_are_known_as_such(kind):
    assert records.fast.surely_finite(FINITE[kind])


@pytest.mark.parametrize("kind", UNSURE)
def test_others_are_left_to_python(kind):
    assert not records.fast.surely_finite(UNSURE[kind])
    assert records.fast.number_in(UNSURE[kind]) is None


@pytest.mark.parametrize("kind", GAPS)
def test_only_what_a_view_shows_is_judged(kind):
    view = GAPS[kind]
    for place in range(20):
        memory = torch.ones(20)
        memory[place] = NAN
        shown = bool(view(memory).isnan().any())

        assert not (records.fast.surely_finite(view(memory)) and shown)
        measured = records.fast.measured(view(memory))
        assert measured is None or (measured[0] > 0) == shown
        if not shown:
            assert gradients.is_finite(view(memory))


def test_values_kept_with_the_other_sign_are_left_to_python():
    number = torch.tensor(1 + 2j).conj().imag
    values = torch.tensor([1 + 2j, 3 - 4j]).conj().imag

    assert number.is_neg()
    assert records.fast.number_in(number) is None
    assert records.fast.number_in(number.resolve_neg()) == -2.0
    for measure in (records.fast.measured, records.fast.rows_apart):
        assert measure(values._neg_view()) is None
        assert measure(torch.ones(3)._neg_view()) is None
    assert records.fast.units_at_rest(torch.ones(3, 2)._neg_view(), 1, 0.0, 2.0) is None


def test_transformed_tensors_are_left_to_python():
    seen = []

    def note(x):
        seen.append((records.fast.number_in(x), records.fast.surely_finite(x)))
        return x * 2

    torch.vmap(note)(torch.ones(3))
    torch.func.grad(note)(torch.tensor(1.0))

    assert seen == [(None, False)] * 2


def test_reading_is_unseen_by_a_function_mode():
    class Noting(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            noted.append(function)
            return function(*args, **(kwargs or {}))

    noted = []
    number, values = torch.tensor(2.0), torch.ones(3)
    with Noting():
        assert records.fast.number_in(number) is None
        assert records.fast.measured(values) is None
        assert records.fast.surely_finite(values)

    assert noted == []


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


def copies_of(tensors):
    return [torch.zeros_like(tensor) for tensor in tensors], [weakref.ref(one) for one in tensors]


def test_plain_tensors_are_copied_whatever_their_type_and_strides():
    tensors = [
        torch.randn(3, 4),
        torch.arange(6).reshape(2, 3).t(),
        torch.tensor(7),
        torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last),
        torch.tensor([True, False]),
        torch.randn(5).bfloat16(),
        torch.randn(3, dtype=torch.complex64),
        torch.zeros(0, 2),
    ]
    copies, references = copies_of(tensors)

    assert records.fast.copied(copies, references)
    for copy, tensor in zip(copies, tensors, strict=True):
        assert copy.stride() == tensor.stride()
        assert torch.equal(copy, tensor)


@pytest.mark.parametrize(
    "tensor",
    [
        torch.randn(4, 4)[:, ::2],
        torch.randn(1).expand(4),
        torch.randn(4).to_sparse(),
        torch.empty(2, device="meta"),
        torch.zeros(2**20 + 1),
    ],
    ids=["gaps", "expanded", "sparse", "meta", "large"],
)
def test_tensors_that_are_not_plain_memory_are_not_copied(tensor):
    assert not records.fast.copied([torch.empty(tensor.shape)], [weakref.ref(tensor)])


def test_nothing_is_copied_over_a_tensor_of_another_shape_type_or_life():
    tensor = torch.ones(3)
    dead = weakref.ref(torch.ones(3))

    for copy, reference in [
        (torch.zeros(4), weakref.ref(tensor)),
        (torch.zeros(1, 3), weakref.ref(tensor)),
        (torch.zeros(3, dtype=torch.int32), weakref.ref(tensor)),
        (torch.zeros(3), dead),
        (torch.zeros(3), tensor),
    ]:
        assert not records.fast.copied([copy], [reference])
        assert not copy.any()
    assert not records.fast.copied([], [])
    assert not records.fast.copied([torch.zeros(3)], [])


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


class Unaskable:
    """An iterator of samples whose truth and length must not be asked for."""

    def __bool__(self):
        raise RuntimeError("asked")

    def __len__(self):
        raise RuntimeError("asked")


def test_assigned_object_is_passed_on_unasked(changed):
    holder, sampler = changed(), Unaskable()

    holder.counted = sampler

    assert holder.counted is sampler
    del holder.counted
    with pytest.raises(AttributeError, match="counted"):
        del holder.counted


def test_exception_of_a_note_reaches_whoever_assigns(changed):
    with pytest.raises(ZeroDivisionError):
        changed(fails=True).counted = 1


@pytest.fixture
def changed(native_cruise):
    """Return a maker of objects whose attribute `counted` passes every assignment on."""

    def make(*, fails=False):
        def note(instance, value, frame):
            return 1 / 0 if fails else value

        kind = type("Holder", (), {})
        kind.counted = records.fast.Changed(None, note, native_cruise, "counted")
        return kind()

    return make


@pytest.fixture
def native_cruise(tmp_path):
    """Return the accelerator's part of a watched process that has not begun."""
    run_file.write_run(tmp_path, run_file.Run(command=("x",), directory=str(tmp_path)))
    parts = Session(tmp_path).parts
    descriptors = native_descriptors.NativeDescriptors(parts, print, print)
    return descriptors.before_step.__self__


def test_every_call_gives_its_references_back():
    fast = records.fast
    things = [*FINITE.values(), *UNSURE.values(), torch.ones(3)._neg_view(), None, "x"]

    def ask():
        for thing in things:
            fast.number_in(thing)
            fast.surely_finite(thing)
            fast.measured(thing)
            fast.has_nonzero(thing)
            fast.same_rows(thing)
            fast.rows_apart(thing)
            fast.units_at_rest(thing, 0, -1.0, 1.0)

    ask()
    gc.collect()
    before = [sys.getrefcount(thing) for thing in things]
    blocks = sys.getallocatedblocks()
    for _ in range(50):
        ask()

    assert [sys.getrefcount(thing) for thing in things] == before
    assert sys.getallocatedblocks() - blocks < 50
