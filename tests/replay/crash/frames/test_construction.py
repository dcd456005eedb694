"""The constructor of a layer is found in the source, wherever it is written."""

from __future__ import annotations

import importlib.util
import sys
import textwrap

import pytest
import torch
from torch import nn

from torchwhy.observe.program.names import Names
from torchwhy.replay.crash.frames import construction
from torchwhy.replay.crash.frames.construction import Builder
from torchwhy.source import files

SOURCE = """
    from collections import OrderedDict

    from torch import nn


    class Block(nn.Module):
        def __init__(self, width, out=3):
            super().__init__()
            self.project = nn.Linear(width, out)


    class Net(nn.Module):
        def __init__(self, sizes):
            super().__init__()
            self.conv = nn.Conv2d(1, 8, 3)
            self.body = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
            self.named = nn.Sequential(OrderedDict([("one", nn.Linear(4, 5)), ("two", nn.ReLU())]))
            self.listed = nn.ModuleList([nn.Linear(7, 7) for _ in range(2)])
            self.mapped = nn.ModuleDict({"left": nn.Linear(6, 6), "right": nn.Linear(6, 9)})
            self.block = Block(21)
            layers = []
            for size in sizes:
                layers.append(nn.LayerNorm(size))
            self.stack = nn.Sequential(*layers)


    def build():
        net = Net([11, 12])
        return net


    model = build().to("cpu")
"""


@pytest.fixture
def program(tmp_path):
    files.remember_torch(torch.__file__)
    file = tmp_path / "somebodys_model.py"
    file.write_text(textwrap.dedent(SOURCE))
    spec = importlib.util.spec_from_file_location("somebodys_model", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["somebodys_model"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["somebodys_model"]


@pytest.fixture
def builder(program, monkeypatch):
    """Give a builder that reads this program alone: other test files are loaded, too, and make layers."""
    monkeypatch.setattr(construction, "user_files", list)
    names = Names()
    names.add_root("model", program.model)
    return Builder(names, [program.__file__])


def expression(builder: Builder, module: nn.Module) -> str | None:
    made = builder.made_at(module)
    return made.span.expression if made is not None else None


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("conv", "nn.Conv2d(1, 8, 3)"),
        ("body.2", "nn.Linear(16, 4)"),
        ("named.one", "nn.Linear(4, 5)"),
        ("listed.1", "nn.Linear(7, 7)"),
        ("mapped.right", "nn.Linear(6, 9)"),
        ("block", "Block(21)"),
        ("block.project", "nn.Linear(width, out)"),
        ("stack.1", "nn.LayerNorm(size)"),
        ("", "Net([11, 12])"),
    ],
)
def test_constructor_is_found(program, builder, path, text):
    assert expression(builder, program.model.get_submodule(path)) == text


def test_number_is_followed_to_the_owner_only_if_the_owner_was_fed_with_it(program, builder):
    layer = program.model.block.project

    outside = builder.number_at(layer, "in_features", is_fed=lambda _: True)
    inside = builder.number_at(layer, "in_features", is_fed=lambda _: False)

    assert outside is not None
    assert inside is not None
    assert (outside.span.expression, inside.span.expression) == ("21", "width")


def test_number_is_followed_through_a_loop_over_a_parameter(program, builder):
    layer = program.model.stack[0]

    found = builder.number_at(layer, "normalized_shape", is_fed=lambda _: True)

    assert found is not None
    assert found.span.expression == "[11, 12]"
