"""Measures an argument that a call refused: values out of range, a matrix, a shape that was unpacked."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch

from torchwhy.observe.program.frames import span_of
from torchwhy.replay.crash.frames.lookup import Lookup
from torchwhy.replay.crash.frames.traceback_frames import TracebackFrame
from torchwhy.source.files import scope_of
from torchwhy.source.scopes import covers, inside
from torchwhy.source.values import text_of

if TYPE_CHECKING:
    from torchwhy.replay.crash.autopsy.case import Case

MOST_ROWS = 1024  # of a matrix that is decomposed; takes about a second
UNIT_INTERVAL = "should be between 0 and 1"
PROBABILITIES = "probability tensor contains"
UNPACKED = "values to unpack"
LINEAR_ALGEBRA = "_LinAlgError"


def argument_facts(case: Case) -> dict[str, Any]:
    """Return the facts about the argument that the failing call refused; empty if it refused none."""
    message = str(case.error)
    if UNIT_INTERVAL in message:
        return _values(case, "input", "values from 0 to 1", 1.0)
    if PROBABILITIES in message:
        return _values(case, "multinomial", "no negative numbers", torch.inf)
    if type(case.error).__name__ == LINEAR_ALGEBRA:
        return _matrix(case)
    if isinstance(case.error, ValueError) and UNPACKED in message and case.frame is not None:
        return next(_unpacked(case.frame), {})
    return {}


def _values(case: Case, argument: str, takes: str, most: float) -> dict[str, Any]:
    """Return how many elements lie outside of 0 … `most`, and their range."""
    named = [found for found in case.operands if isinstance(found.value, torch.Tensor)]
    found = next((one for one in named if one.argument == argument), named[0] if named else None)
    if found is None or not found.value.is_floating_point():
        return {}
    values = found.value.detach()
    finite = values[values.isfinite()]
    lowest, highest = torch.aminmax(finite) if finite.numel() else (values.sum(), values.sum())
    taker = case.layer if case.layer is not None else None
    return {
        "refused": found.name,
        "refused_by": type(taker).__name__ if taker is not None else argument,
        "refused_constraint": takes,
        "refused_count": float((~((values >= 0) & (values <= most))).sum().item()),
        "refused_of": float(values.numel()),
        "refused_nonfinite": float(values.numel() - finite.numel()),
        "refused_minimum": float(lowest.item()),
        "refused_maximum": float(highest.item()),
    }


def _matrix(case: Case) -> dict[str, Any]:
    """Return the smallest and largest eigenvalue of a symmetric matrix, or singular value of another one."""
    found = next(
        (
            one
            for one in case.operands
            if isinstance(one.value, torch.Tensor) and one.value.dim() >= 2
        ),
        None,
    )
    if found is None:
        return {}
    matrix = found.value.detach()
    bad = int((~matrix.isfinite()).sum().item())
    facts: dict[str, Any] = {
        "matrix": found.name,
        "matrix_shape": list(matrix.shape),
        "matrix_nonfinite": float(bad),
    }
    if bad or matrix.is_complex() or max(matrix.shape[-2:]) > MOST_ROWS:
        return facts
    wide = matrix.double()
    is_square = wide.shape[-1] == wide.shape[-2]
    is_symmetric = is_square and torch.allclose(wide, wide.mT, rtol=1e-4, atol=1e-8)
    values = torch.linalg.eigvalsh(wide) if is_symmetric else torch.linalg.svdvals(wide)
    return {
        **facts,
        "matrix_symmetric": is_symmetric,
        "matrix_smallest": float(values.min().item()),
        "matrix_largest": float(values.max().item()),
    }


def _unpacked(frame: TracebackFrame) -> Iterator[dict[str, Any]]:
    """Yield the shape of a tensor that an assignment of the failing line unpacks into another number of names."""
    scope, lookup = scope_of(frame.code), Lookup(frame.live)
    for node in inside(scope) if scope is not None else ():
        if not isinstance(node, ast.Assign) or not covers(node, span_of(frame.site).line):
            continue
        target, holder = node.targets[0], _holder_of_shape(node.value)
        value = lookup.get(holder) if holder is not None else None
        if holder is None or not isinstance(value, torch.Tensor):
            continue
        if isinstance(target, (ast.Tuple, ast.List)) and value.dim() != len(target.elts):
            yield {"unpacked_shape": list(value.shape), "unpacked_name": text_of(holder)}


def _holder_of_shape(node: ast.expr) -> ast.expr | None:
    """Return `x` of `x.shape` and `x.size()`."""
    if isinstance(node, ast.Call) and not node.args and not node.keywords:
        node = node.func
        return node.value if isinstance(node, ast.Attribute) and node.attr == "size" else None
    return node.value if isinstance(node, ast.Attribute) and node.attr == "shape" else None
