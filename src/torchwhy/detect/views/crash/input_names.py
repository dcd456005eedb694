"""The program's words for the arguments of a torch function, whose own word for the first is often just `self`."""

from __future__ import annotations

import ast

import msgspec

from torchwhy.finding import SourceSpan
from torchwhy.record.events import Crash, NamedTensor
from torchwhy.source.values import expression_of, parts_of, text_of

ARGUMENTS_OF_LOSSES = {
    "self": 0,
    "input": 0,
    "target": 1,
}  # torch's names, by their place in the call
NAMELESS = "self"


def loss_expression(crash: Crash) -> SourceSpan | None:
    """Return the expression that computed the loss if `loss.backward()` raised, else None."""
    written = crash.location.expression if crash.location is not None else None
    if ".backward(" not in (written or "") or not crash.operands:
        return None
    return crash.operands[0].made_by


def with_program_names(crash: Crash) -> Crash:
    """Return the exception with its inputs named as the program names them, where that is known."""
    if not crash.inputs:
        return crash
    loss = loss_expression(crash)
    arguments = _arguments(loss.expression) if loss is not None else []
    inputs = [_named(tensor, arguments) for tensor in crash.inputs]
    return msgspec.structs.replace(crash, inputs=inputs)


def _arguments(written: str | None) -> list[str]:
    call = expression_of(written or "")
    if not isinstance(call, ast.Call):
        return []
    return [text_of(part) for place, part in parts_of(call) if place is not None]


def _named(tensor: NamedTensor, arguments: list[str]) -> NamedTensor:
    place = ARGUMENTS_OF_LOSSES.get(tensor.argument or "")
    if place is not None and place < len(arguments):
        return msgspec.structs.replace(tensor, name=arguments[place])
    made_by = tensor.made_by.expression if tensor.made_by is not None else None
    if tensor.name == NAMELESS:
        return msgspec.structs.replace(tensor, name=made_by or "its input")
    return tensor
