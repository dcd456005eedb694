"""Follows a parameter through the forward graph to the places where the graph was cut, and names them."""

from __future__ import annotations

import re
from collections.abc import Collection

from torchwhy.finding import SourceSpan
from torchwhy.observe.program.frames import span_of
from torchwhy.replay.crash.hidden.cut_graph import switch_around
from torchwhy.replay.graph.host_reads import Cut
from torchwhy.replay.microscope.operations import Operation
from torchwhy.source.calls import calls_in
from torchwhy.source.files import scope_of, span_in
from torchwhy.source.values import text_of

JOINING = {
    "add", "sub", "rsub", "mul", "div", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "cosine_similarity",
}  # fmt: skip
DERIVABLE = ("float", "bfloat", "complex")
CHECKPOINT = re.compile(r"([\w.]+\.)?checkpoint(_sequential)?\(")


def follow(
    operations: list[Operation], parameter: int, *, without: Collection[str] = ()
) -> tuple[set[int], list[Cut]]:
    """Return the operations in the graph of a parameter, and the places where a value left that graph.

    Operations named in `without` are not followed through.
    """
    alive: set[int] = set()
    cuts: list[Cut] = []
    for operation in operations:
        if operation.info.base in without:
            continue
        if operation.info.writes and operation.parameter_ids[:1] == [parameter]:
            if alive or cuts:
                return set(), []  # used, then written: a moving average replaces the gradient
            continue  # this initialises the weight
        sources = list(operation.inputs) or [None] * len(operation.tracked)
        for position, (tracked, own) in enumerate(
            zip(operation.tracked, operation.parameter_ids, strict=True)
        ):
            source = sources[position] if position < len(sources) else None
            fed = own == parameter or (source is not None and source.order in alive)
            if not fed:
                continue
            if own not in (None, parameter):
                # `nn.Parameter(…)` of a value with a graph is a new leaf, made without any operation.
                view = operation.through[position] if position < len(operation.through) else None
                made = view if view is not None and view.inputs[:1] == (source,) else source
                cuts.append(Cut(operation, None, meets=False, last=made, is_parameter=True))
                continue
            if (
                tracked
                and operation.grad_mode
                and operation.dtype.startswith(DERIVABLE)
                and (operation.info.is_view or detached_by(operation, position) is None)
            ):
                alive.add(operation.order)
            elif not operation.info.is_view:
                by = detached_by(operation, position)
                last = operation if tracked else source
                cuts.append(Cut(operation, by, _meets_another(operation, position), last))
    return alive, cuts


def detached_by(operation: Operation, position: int) -> Operation | None:
    """Return the call that took an operand out of its graph, looking through later views."""
    view = operation.through[position] if position < len(operation.through) else None
    for _ in range(16):
        if view is None or view.info.base in ("detach", "detach_"):
            return view
        view = view.through[0] if view.through else None
    return None


def _meets_another(operation: Operation, position: int) -> bool:
    """Tell whether a value without a graph is combined elementwise with an activation that has one."""
    others = [
        tracked and parameter is None
        for place, (tracked, parameter) in enumerate(
            zip(operation.tracked, operation.parameter_ids, strict=True)
        )
        if place != position
    ]
    return operation.info.base.rstrip("_") in JOINING and any(others)


def words_of(cut: Cut) -> tuple[str, SourceSpan | None]:
    """Return how the graph was cut, in a word, and the expression to blame."""
    if cut.by is not None:
        site = cut.by.place()
        where = span_of(site) if site else None
        text = (where.expression or "") if where else ""
        return ("data" if text.endswith(".data") else "detach"), where
    site = cut.operation.place()
    if cut.is_parameter:
        return "parameter", _wrapped(cut)
    if not cut.operation.grad_mode:
        switch = switch_around(cut.operation.sites)
        saved = None if switch is not None else _checkpoint_around(cut.operation)
        if saved is not None:
            return "checkpoint", saved
        return "no-grad", switch or (span_of(site) if site else None)
    last = cut.last.place() if cut.last is not None else site
    return "underivable", span_of(last) if last else None


def _checkpoint_around(operation: Operation) -> SourceSpan | None:
    """Return the call of the activation checkpoint that an operation under `no_grad` runs in: a reentrant one."""
    for site in operation.sites:
        place = span_of(site)
        if CHECKPOINT.match(place.expression or ""):
            return place
    return None


def _wrapped(cut: Cut) -> SourceSpan | None:
    """Return the `nn.Parameter(…)` around a value, in the code that made or uses the value."""
    made = cut.last.place() if cut.last is not None else None
    used = cut.operation.place()
    for site in (made, used):
        scope = scope_of(site.code) if site is not None else None
        calls = [
            call
            for call in (calls_in(scope) if scope is not None else ())
            if text_of(call.func).endswith("Parameter")
        ]
        if site is not None and calls:
            line = span_of(site).line
            # Made on the same line, or wrapped some lines later.
            call = next((one for one in calls if (one.end_lineno or 0) >= line), calls[-1])
            return span_in(site.code, call)
    return span_of(made) if made is not None else None
