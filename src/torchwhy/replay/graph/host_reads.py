"""Finds where numbers and arrays read from a graph come back into the loss, without their graph."""

from __future__ import annotations

import linecache
import re
from collections.abc import Iterator

from torchwhy.finding import SourceSpan
from torchwhy.observe.program.frames import Site, span_of
from torchwhy.plain_data import dataclass
from torchwhy.replay.microscope.operations import Operation

MADE_ANEW = {"lift_fresh", "lift_fresh_copy", "scalar_tensor", "full", "_to_copy"}
READS = {"_local_scalar_dense", "item"}


@dataclass(frozen=True)
class Cut:
    """One place where a value left its graph: `operation` used it without, `by` is the call that took it out.

    Without such a call, `last` is the operation that has no derivative, or whose value a new parameter holds.
    """

    operation: Operation
    by: Operation | None
    meets: bool
    last: Operation | None = None
    is_parameter: bool = False


# The cut, how the value left its graph, and the expression to blame.
ExplainedCut = tuple[Cut, str, SourceSpan | None]


def read_and_made_anew(
    operations: list[Operation], *, cuts: list[Operation], alive: set[int], reached: set[int]
) -> ExplainedCut | None:
    """Return where numbers read from a graph went on to the loss: in a new tensor, or as they are.

    `alive` are the operations in the graph of a parameter, `reached` those that a loss depends on.
    """
    reads = [
        cut
        for cut in cuts
        if any(s is not None and s.order in alive for s in cut.inputs) and not _is_saved(cut)
    ]
    return (
        _made_anew(operations, reads, reached)
        or _put_in(operations, reads, reached)
        or _followed_to(operations, alive, reached)
    )


def _is_saved(cut: Operation) -> bool:
    """Tell whether autograd itself took the value, to save it for the backward pass."""
    here, there = cut.place(), cut.inputs[0].place() if cut.inputs and cut.inputs[0] else None
    if cut.info.base in READS or here is None or there is None:
        return False
    return span_of(here) == span_of(there)


def _put_in(
    operations: list[Operation], reads: list[Operation], reached: set[int]
) -> ExplainedCut | None:
    """Return a number that was read and then used in an operation that leads to the loss."""
    for read in reads:
        here = read.place()
        if read.info.base not in READS or here is None:
            continue
        for operation in operations:
            if operation.order > read.order and operation.order in reached:
                there = operation.place()
                if there is not None and _goes_into(here, there, operation):
                    return Cut(operation, None, meets=False), "number", span_of(here)
    return None


def _goes_into(here: Site, there: Site, operation: Operation) -> bool:
    """Tell whether an operation has a number as operand that its expression got from a place where one was read."""
    numbers = [v for _, v in operation.scalars if isinstance(v, float)]
    text = span_of(there).expression or ""
    if not numbers or here.code is not there.code:
        return False
    line = linecache.getline(here.code.co_filename, span_of(here).line)
    put_into = re.match(r"\s*([A-Za-z_]\w*)\s*[+*/-]?=[^=]", line)
    words = re.findall(r"[A-Za-z_]\w*", text)
    return (span_of(here).expression or "?") in text or (
        put_into is not None and put_into[1] in words and span_of(here).line < span_of(there).line
    )


def _followed_to(
    operations: list[Operation], alive: set[int], reached: set[int]
) -> ExplainedCut | None:
    """Return the tensor made of numbers in this step that a loss without parameters requires gradients of."""
    began = min(alive, default=None)
    leading = [o for o in operations if o.order in reached]
    if began is None or any(p is not None for o in leading for p in o.parameter_ids):
        return None
    for operation in leading:
        for tracked, made in zip(operation.tracked, operation.inputs, strict=False):
            if not tracked or made is None or made.order < began or any(made.inputs):
                continue
            where = made.place() if made.info.base in MADE_ANEW else None
            if where is not None:
                return Cut(made, None, meets=False), "array", span_of(where)
    return None


def _made_anew(
    operations: list[Operation], reads: list[Operation], reached: set[int]
) -> ExplainedCut | None:
    """Return a new tensor that leads to the loss and was made of numbers read before."""
    if not reads:
        return None
    pairs = list(_pairs(reads, operations, reached))
    # Prefer the tensor whose variable the numbers were put into.
    for read, made in sorted(pairs, key=lambda pair: not _share_a_name(*pair)):
        cut = Cut(made, None, meets=False)
        where, here = made.place(), read.place()
        if where is None:
            continue
        span = span_of(where)
        how = "item" if read.info.base in READS else "array"
        text = span.expression or ""
        if here is not None and (not text.rstrip().endswith(")") or _left_here(read, made)):
            span = span_of(here)
        return cut, how, span
    return None


def copied_into(
    operations: list[Operation], last: Operation, reached: set[int]
) -> ExplainedCut | None:
    """Return the tensor that leads to a loss and was made of a list that contains the result of `last`.

    `torch.tensor([[cos(a), sin(a)]])` reads the numbers where no dispatch mode sees it.
    """
    here = last.place()
    text = span_of(here).expression if here is not None else None
    for made in operations:
        if made.order not in reached or made.info.base not in MADE_ANEW or any(made.inputs):
            continue
        there = made.place()
        if here is None or there is None or not text or there.code is not here.code:
            continue
        where = span_of(there)
        if made.order > last.order and text in (where.expression or "").partition("(")[2]:
            return Cut(made, None, meets=False), "copied", where
    return None


def _left_here(read: Operation, made: Operation) -> bool:
    """Tell whether a function took an array out of the graph and made a tensor of it some lines later.

    Numbers are often read just to print them, and arrays elsewhere to plot them.
    """
    here, there = read.place(), made.place()
    return (
        read.info.base not in READS
        and here is not None
        and there is not None
        and here.code is there.code
        and span_of(here).line < span_of(there).line
    )


def _pairs(
    reads: list[Operation], operations: list[Operation], reached: set[int]
) -> Iterator[tuple[Operation, Operation]]:
    for made in operations:
        if made.order not in reached or made.info.base not in MADE_ANEW or any(made.inputs):
            continue
        before = [read for read in reads if read.order < made.order]
        if before:
            related = [read for read in before if _share_a_name(read, made)]
            yield (related or before)[-1], made


def _share_a_name(read: Operation, made: Operation) -> bool:
    """Tell whether the line that read a number names a variable of the new tensor's expression."""
    here, there = read.place(), made.place()
    if here is None or there is None:
        return False
    line = linecache.getline(here.code.co_filename, span_of(here).line)
    text = span_of(there).expression or ""
    arguments = text.partition("(")[2]
    words = set(re.findall(r"[A-Za-z_]\w*", arguments)) - {"torch", "self", "dtype", "device"}
    return bool(words & set(re.findall(r"[A-Za-z_]\w*", line)))
