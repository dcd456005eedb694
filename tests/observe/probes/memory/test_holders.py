"""What holds tensors is found and counted without running anything of the program's own."""

from __future__ import annotations

from collections import deque

import pytest
import torch
from torch import nn

from torchwhy.observe.probes.memory.chains import MOST_NODES, Chains
from torchwhy.observe.probes.memory.holders import END, MOST_ITEMS, Holder, count_in
from torchwhy.observe.torch_features.autograd_nodes import next_node_number


class Angry(list):
    def __len__(self):
        raise AssertionError("asked for its length")

    def __iter__(self):
        raise AssertionError("asked for its items")


def test_nested_tensors_are_counted_and_shared_memory_once():
    base = torch.zeros(10, 10)

    count = count_in([base[0], {"a": base[1], "b": [torch.zeros(5)]}, (1, "x", None)])

    assert (count.tensors, count.with_graph, count.bytes) == (3, 0, 420)


def test_graphs_are_counted_and_weights_are_not():
    weight = nn.Parameter(torch.ones(2))

    count = count_in([weight, weight * 2, (weight * 3).detach()])

    assert (count.tensors, count.with_graph) == (2, 1)


def test_a_subclass_is_not_asked():
    angry = Angry()
    list.append(angry, torch.zeros(3))

    assert count_in(angry).tensors == 1


@pytest.mark.parametrize("make", [list, deque, lambda items: dict(enumerate(items))])
def test_a_long_collection_is_reckoned_from_its_ends(make):
    length = MOST_ITEMS + 3 * END

    count = count_in(make([torch.zeros(2) for _ in range(length)]))

    assert count.tensors == length
    assert count.bytes == 8 * length


def test_many_views_of_one_tensor_are_no_more_memory():
    base = torch.zeros(MOST_ITEMS * 2)

    assert count_in(list(base)).bytes == 4 * len(base)


def test_a_bounded_deque_says_its_bound():
    assert Holder("recent", deque(maxlen=7)).kind == "deque(maxlen=7)"
    assert Holder("recent", deque()).kind == "deque"


def test_links_count_the_sums_since_the_mark():
    weight = torch.ones(3, requires_grad=True)
    total = (weight * 2).sum()
    mark = next_node_number()
    for _ in range(20):
        total = total + (weight * 3).sum()

    assert Chains(mark).links(total.grad_fn) == 20


def test_a_step_of_its_own_does_not_reach_back():
    weight = torch.ones(3, requires_grad=True)
    mark = next_node_number()
    loss = (weight.exp() * 2).sum()

    assert Chains(mark).links(loss.grad_fn) == 0


def test_following_a_graph_is_bounded():
    weight = torch.ones(1, requires_grad=True)
    total = weight * 1
    mark = next_node_number()
    for _ in range(MOST_NODES + 10):
        total = total + weight
    chains = Chains(mark)

    assert chains.links(total.grad_fn) == 0
    assert chains.left == 0
