"""The walk up the stack gives the same in C and in Python."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

from torchwhy.observe.native import records
from torchwhy.replay.microscope import call_sites
from torchwhy.source.files import remember_torch

remember_torch(torch.__file__)

pytestmark = pytest.mark.skipif(records.fast is None, reason="the accelerator was not built")


@pytest.fixture
def walks():
    """Collect both walks from where `look` is called."""
    found = []

    def look():
        frame = sys._getframe(1)
        found.append((call_sites.call_site(frame), call_sites.walk_in_python(frame)))

    return found, look


def deep(look, levels):
    if levels:
        deep(look, levels - 1)
    else:
        look()


def test_users_places_on_the_way(walks):
    found, look = walks
    deep(look, 9)

    [(in_c, in_python)] = found
    assert in_c == in_python
    assert len(in_c.sites) == call_sites.MOST_SITES
    assert in_c.sites[0].code is deep.__code__


def test_places_behind_a_backward_pass(walks):
    found, look = walks

    class Seen(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            look()
            return gradient * 2

    Seen.apply(torch.ones(2, requires_grad=True)).sum().backward()

    [(in_c, in_python)] = found
    assert in_c == in_python
    assert [site.code.co_name for site in in_c.sites] == ["backward"]
    assert in_c.outer[0].code.co_name == "test_places_behind_a_backward_pass"


def test_part_of_torch(walks):
    found, look = walks

    class Rows(torch.utils.data.Dataset):
        def __len__(self):
            return 4

        def __getitem__(self, index):
            look()
            return index

    class Mine(torch.optim.SGD):
        pass

    list(torch.utils.data.DataLoader(Rows()))
    weight = torch.nn.Parameter(torch.ones(1))
    weight.grad = torch.ones(1)
    optimizer = Mine([weight], lr=0.1)
    optimizer.register_step_pre_hook(lambda *_: look())
    optimizer.step()

    assert all(in_c == in_python for in_c, in_python in found)
    assert {in_c.part for in_c, _ in found} == {"data", "torch"}


def test_whose_code_issues_an_operation(walks):
    found, look = walks
    root = Path(torch.__file__).parent
    for file in (root / "nn" / "activation.py", root.parent / "package" / "layers.py", "train.py"):
        exec(compile("look()", str(file), "exec"), {"look": look})

    assert all(in_c == in_python for in_c, in_python in found)
    assert [in_c.issuer for in_c, _ in found] == ["torch", "library", "user"]


def test_without_a_frame_there_is_nothing():
    assert call_sites.call_site(None) == ((), (), "torch", "torch", ())
