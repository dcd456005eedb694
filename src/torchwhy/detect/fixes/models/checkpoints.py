"""Edits of activation checkpoints."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchwhy.finding import Fix
from torchwhy.source.calls import keyword
from torchwhy.source.edits import Source


def not_reentrant(source: Source) -> Iterator[Fix]:
    """Yield checkpoints with `use_reentrant=False`.

    The reentrant kind gives no gradient if no input requires one, and refuses `torch.autograd.grad`.
    """
    given = [
        keyword(call, "use_reentrant")
        for call in source.calls("checkpoint", "checkpoint_sequential")
    ]
    edits = [
        source.replace(one, "False")
        for one in given
        if isinstance(one, ast.Constant) and one.value is True
    ]
    if edits:
        yield from source.fix("checkpoint with use_reentrant=False", *edits)
