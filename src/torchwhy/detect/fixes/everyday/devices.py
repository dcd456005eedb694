"""Edits that let a program run where the device it names is missing."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchwhy.finding import Fix, SourceSpan
from torchwhy.source.calls import torch_name
from torchwhy.source.edits import Source

IS_THERE = {
    "cuda": "cuda.is_available()",
    "mps": "backends.mps.is_available()",
    "xpu": "xpu.is_available()",
}
# Syntax around a name of a device that needs no brackets around a choice.
ROOMY = (ast.Call, ast.keyword, ast.Assign, ast.AnnAssign, ast.Return, ast.arguments, ast.Dict)


def chosen_by_what_is_there(
    place: SourceSpan | None, source: Source, *, device: str
) -> Iterator[Fix]:
    """Yield the device chosen by what is there, in place of its name or of `.cuda()`."""
    torch, check = torch_name(source), IS_THERE.get(device)
    node = source.at(place)
    if torch is None or check is None or node is None:
        return
    title = f"use {device.upper()} only where it is available"
    named = [one for one in ast.walk(node) if names_device(one, device)]
    if named:
        edits = [
            source.replace(one, _choice(source, one, f"{torch}.{check}"))
            for one in named
            if isinstance(one, ast.expr)
        ]
        yield from source.fix(title, *edits)
    elif _moves(node, device):
        yield from _moved_to_chosen(source, device, title, f"{torch}.{check}")


def names_device(node: ast.AST, device: str) -> bool:
    """Tell whether a piece of syntax is the name of a device of a kind: `"cuda"`, `"cuda:0"`."""
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return False
    return node.value == device or node.value.startswith(f"{device}:")


def _choice(source: Source, node: ast.expr, check: str) -> str:
    text = f'{source.of(node)} if {check} else "cpu"'
    return text if isinstance(source.parents.get(node), ROOMY) else f"({text})"


def _moves(node: ast.AST, device: str) -> bool:
    """Tell whether an expression is a call such as `x.cuda()`."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == device
    )


def _moved_to_chosen(source: Source, device: str, title: str, check: str) -> Iterator[Fix]:
    """Yield all `x.cuda()` of the file as `x.to(device)`, with the device chosen after the imports."""
    imports = [node for node in source.tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {node.id for node in ast.walk(source.tree) if isinstance(node, ast.Name)}
    name = "device" if "device" not in names else "DEVICE"
    if not imports:
        return
    edits = [source.insert_after(imports[-1], f'{name} = "{device}" if {check} else "cpu"')]
    edits += [
        source.replace(call, f"{source.of(call.func.value)}.to({name})")
        for call in source.calls(device)
        if isinstance(call.func, ast.Attribute)
    ]
    yield from source.fix(title, *edits)
