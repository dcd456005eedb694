"""The stack of running modules knows them by identity, and identities are used again."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from torch import nn

from torchwhy.observe.program.names import Names
from torchwhy.replay.microscope.module_stack import ModuleStack


def _stack() -> ModuleStack:
    def protect(_name: str, function: Any, **_: Any) -> Any:
        return function

    def nothing(*_: Any) -> None:
        return None

    stack = ModuleStack(
        Names(),
        SimpleNamespace(postpone=nothing, write=nothing),  # type: ignore[arg-type]
        protect,
        observation=SimpleNamespace(number=0),  # type: ignore[arg-type]
        on_call=nothing,
        on_outermost=nothing,
        on_output=nothing,
        on_model=(),
    )
    stack.install()
    return stack


def test_a_module_at_the_address_of_a_freed_one_gets_a_name_of_its_own() -> None:
    stack = _stack()
    layer = nn.Linear(8, 2)
    layer(torch.randn(4, 8))
    name, called = stack.tables()["paths"], id(layer)
    assert called in name
    name[called] = "freed"

    del layer
    others = [nn.Linear(8, 2) for _ in range(50)]
    reused = [other for other in others if id(other) == called]
    for other in reused:
        assert not stack.has_run(other)
        other(torch.randn(4, 8))
    stack.remove()

    assert reused, "no module got the address of the freed one"
    assert name[called] != "freed"
