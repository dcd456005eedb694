"""Tries `reshape` in place of a `view` that the strides do not allow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import torch

from torchwhy.record.events import OperandTrial
from torchwhy.source.calls import method_of
from torchwhy.source.values import text_of

if TYPE_CHECKING:
    from torchwhy.replay.crash.autopsy.case import Case

REFUSED = "view size is not compatible with input tensor's size and stride"


def reshape_for_view(case: Case) -> Iterator[OperandTrial]:
    """Try the same sizes with `reshape`, and make that change in the source as a diff."""
    node = case.frame.node if case.frame is not None else None
    viewed = method_of(node, "view")
    if REFUSED not in str(case.error) or viewed is None:
        return
    worked, detail = False, "its arguments could not be had"
    if case.call is not None and case.call.args:
        try:
            result = torch.Tensor.reshape(*case.call.args, **case.call.kwargs)
            worked, detail = True, f"gives {list(result.shape)}"
        except Exception as problem:
            detail = str(problem)[:200]
    function, receiver = viewed
    tensor = text_of(receiver)
    yield OperandTrial(
        kind="use-reshape",
        target=tensor,
        worked=worked,
        detail=detail,
        diff=case.diff_of(function, f"{tensor}.reshape"),
    )
