"""A `view` that the strides do not allow: does `reshape` go through?"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

import torch

from torchwhy.record.events import OperandTrial
from torchwhy.replay.crash.frames.source_files import replaced

if TYPE_CHECKING:
    from torchwhy.replay.crash.autopsy.case import Case

REFUSED = "view size is not compatible with input tensor's size and stride"


def reshape_for_view(case: Case) -> Iterator[OperandTrial]:
    """Try the same sizes with `reshape`, and write that into the source."""
    node = case.frame.node if case.frame is not None else None
    if case.frame is None or REFUSED not in str(case.error) or not isinstance(node, ast.Call):
        return
    if not isinstance(node.func, ast.Attribute) or node.func.attr != "view":
        return
    worked, detail = False, "its arguments could not be had"
    if case.call is not None and case.call.args:
        try:
            result = torch.Tensor.reshape(*case.call.args, **case.call.kwargs)
            worked, detail = True, f"gives {list(result.shape)}"
        except Exception as problem:
            detail = str(problem)[:200]
    written = ast.unparse(node.func.value)
    change = f"{written}.reshape"
    diff = replaced(case.frame.filename, node.func, change) if case.is_in_file(node) else ""
    yield OperandTrial(
        kind="use-reshape", change=f"`reshape` in place of `view`: `{change}(…)`", worked=worked, detail=detail,
        diff=diff,
    )  # fmt: skip
