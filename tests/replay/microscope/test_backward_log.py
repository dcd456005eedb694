"""What is kept of a backward pass without looking closely, in C: only what is ordinary, all else is for Python."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from torchwhy.observe.native import native_descriptors, records
from torchwhy.observe.torch_features.autograd_nodes import next_node_number
from torchwhy.observe.torch_features.tensor_parts import storage_key, weak_reference
from torchwhy.replay.microscope.memory_writers import MemoryWriters
from torchwhy.replay.microscope.operations import Operation, info_of

pytestmark = pytest.mark.skipif(
    not native_descriptors.is_ready(),
    reason="the accelerator was not built, or torch offers too little",
)
aten = torch.ops.aten


class Node:
    def name(self):
        return "torch::autograd::MulBackward0"

    def _sequence_nr(self):
        return 7


class Scene:
    """A microscope as far as the backward log knows one, in the middle of a backward pass."""

    def __init__(self):
        self.microscope = SimpleNamespace(seen=40, step=3, last_node_number=next_node_number())
        self.births, self.running, self.waiting = {}, [], []
        self.writers = MemoryWriters()
        self.node = Node()
        self.looked, self.ways = [], []
        self.backward_log = records.fast.BackwardLog(
            microscope=self.microscope,
            births=self.births,
            running=self.running,
            waiting=self.waiting,
            info_of=info_of,
            call_site=self.way,
            look=lambda *seen: self.looked.append(seen),
            weak=weak_reference(),
            current_node=lambda: self.node,
            writers=self.writers,
        )

    def way(self, frame):
        self.ways.append(frame.f_code.co_name)
        return len(self.ways)

    def __torch_dispatch__(self, function, *args, **kwargs):  # its frame is the mode's
        return self.backward_log.run(function, args, kwargs or None)


def test_ordinary_operation_runs_and_is_kept():
    scene = Scene()

    product = scene.__torch_dispatch__(aten.mul.Tensor, torch.ones(3), torch.full((3,), 2.0))

    assert product.tolist() == [2, 2, 2]
    [(order, info, step, node, node_number, way, written)] = scene.backward_log.take()
    assert (order, info.base, step, node, node_number) == (
        41, "mul", 3, "torch::autograd::MulBackward0", 7,
    )  # fmt: skip
    assert [weak.cdata for weak in written] == [storage_key(product)]
    assert (way, scene.ways) == (1, ["test_ordinary_operation_runs_and_is_kept"])
    assert scene.microscope.seen == 41
    assert scene.backward_log.kept == []
    assert scene.backward_log.seconds > 0


def test_memory_is_not_kept_alive():
    scene = Scene()
    scene.__torch_dispatch__(aten.mul.Tensor, torch.ones(3), torch.ones(3))

    [(*_, written)] = scene.backward_log.take()

    assert [weak.expired() for weak in written] == [True]


def test_view_has_no_memory_of_its_own():
    scene = Scene()
    scene.__torch_dispatch__(aten.t.default, torch.ones(2, 3))

    [(*_, written)] = scene.backward_log.take()

    assert written == []


def test_way_is_found_once_for_one_place_and_anew_in_the_next_pass():
    scene = Scene()
    for times in range(3):
        if times == 2:
            scene.backward_log.begin()
        scene.__torch_dispatch__(aten.neg.default, torch.ones(1))
    scene.__torch_dispatch__(aten.neg.default, torch.ones(1))  # another place

    assert [way for *_, way, _ in scene.backward_log.take()] == [1, 1, 2, 3]


@pytest.mark.parametrize("bad", [torch.inf, torch.nan])
def test_bad_result_is_looked_at(bad):
    scene = Scene()
    given = torch.tensor([1.0, bad])

    result = scene.__torch_dispatch__(aten.neg.default, given)

    [(info, function, args, kwargs, looked_at)] = scene.looked
    assert (info.base, function, kwargs) == ("neg", aten.neg.default, None)
    assert looked_at is result
    assert args[0] is given
    assert scene.backward_log.take() == []


def test_result_that_c_cannot_read_is_looked_at():
    scene = Scene()

    scene.__torch_dispatch__(aten.neg.default, torch.ones(2, dtype=torch.bfloat16))

    assert len(scene.looked) == 1


def test_what_takes_no_bad_value_is_kept_beside_one():
    scene, bad = Scene(), torch.tensor([torch.nan])
    scene.births[1] = "a birth"
    negation = Operation(1, info_of(aten.neg.default), 0)
    scene.writers.wrote(bad, negation, frozenset({1}))

    scene.__torch_dispatch__(aten.neg.default, torch.ones(2))
    assert len(scene.backward_log.take()) == 1

    healing = (aten.nan_to_num.default, bad)
    assert scene.__torch_dispatch__(*healing) is NotImplemented
    assert scene.__torch_dispatch__(aten.stack.default, [torch.ones(1), bad]) is NotImplemented


@pytest.mark.parametrize("odd", ["forward", "in a module", "waited for", "recorded"])
def test_what_is_not_ordinary_does_not_run(odd):
    scene = Scene()
    if odd == "forward":
        scene.node = None
    elif odd == "in a module":
        scene.running.append("a module")
    elif odd == "waited for":
        scene.waiting.append(print)
    else:
        scene.microscope.last_node_number -= 1

    assert scene.__torch_dispatch__(aten.neg.default, torch.ones(2)) is NotImplemented
    assert scene.backward_log.take() == []


@pytest.mark.parametrize("function", [aten.add_.Tensor, aten.detach.default])
def test_operation_that_writes_or_is_ignored_does_not_run(function):
    scene, given = Scene(), torch.ones(2)

    assert scene.__torch_dispatch__(function, given, given) is NotImplemented
    assert given.tolist() == [1, 1]


def test_error_of_the_operation_is_the_programs():
    scene = Scene()

    with pytest.raises(RuntimeError, match="must match"):
        scene.__torch_dispatch__(aten.add.Tensor, torch.ones(2), torch.ones(3))
    assert scene.backward_log.take() == []
