"""Parameters that were used and got no gradient: between which operations was their graph cut, and by which words?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from torchwhy.finding import SourceSpan
from torchwhy.observe.program.frames import span_of
from torchwhy.observe.steps.sentinel import Check
from torchwhy.observe.torch_features.mode_stack import unseen
from torchwhy.record.learning import GraphCut
from torchwhy.replay.crash.hidden.cut_graph import switch_around
from torchwhy.replay.graph.host_reads import READS, Cut, read_and_made_anew
from torchwhy.replay.microscope.operations import Operation
from torchwhy.source.calls import calls_in
from torchwhy.source.files import scope_of, span_in
from torchwhy.source.values import text_of

if TYPE_CHECKING:
    from torchwhy.replay.equipment import Stage

JOINING = {
    "add",
    "sub",
    "rsub",
    "mul",
    "div",
    "mse_loss",
    "l1_loss",
    "smooth_l1_loss",
    "huber_loss",
    "cosine_similarity",
}
MOST_NODES = 20_000  # of the graph of a closure's loss
DERIVABLE = ("float", "bfloat", "complex")
# Steps and draws: autograd has a derivative for them, and it is 0.
FLAT = {"normal", "round", "floor", "ceil", "trunc", "sign", "heaviside", "poisson", "bernoulli"}


def write_cuts(stage: Stage, check: Check, *, fed: set[int] | None = None) -> None:
    """Write where the graphs of an optimizer's parameters without gradient were cut, at its first step.

    `fed` are those that a loss is about to give a gradient, where that has not happened yet.
    """
    watched = check.watched
    if watched is None:
        return
    microscope = stage.microscope
    used = microscope.used_parameters
    pairs = list(zip(watched.names(), watched.parameters(), strict=True))
    operations = _forwards(stage)
    dry = _dry_ones(stage, pairs, fed, flat=any(o.info.base in FLAT for o in operations))
    for name, parameter in pairs:
        is_read_only = parameter.requires_grad and id(parameter) not in used
        if is_read_only and _is_dry(stage, parameter, fed):
            _write_if_only_read(stage, check, operations, named=(name, parameter))
    if not dry:
        return
    groups: dict[tuple[int, str], list[str]] = {}
    found: dict[tuple[int, str], GraphCut] = {}
    whole = len(dry) == len(pairs)
    for name, parameter in dry:
        is_cut = fed is not None or _own_gradient(stage, parameter) is None
        find = _cut_of if is_cut else _flattened
        told = find(stage, operations, id(parameter))
        if told is None:
            continue
        cut, how, where = told
        key = (where.line if where else cut.operation.order, how)
        groups.setdefault(key, []).append(name)
        found.setdefault(
            key,
            GraphCut(
                step=check.step,
                optimizer=watched.index,
                parameters=groups[key],
                how=how,
                op=cut.operation.info.name,
                location=where,
                joins=cut.meets,
                whole=whole,
                loaded=_was_loaded(stage, parameter, watched.index),
                look=stage.observation,
            ),
        )
    for event in found.values():
        stage.session.write(event)


def _forwards(stage: Stage) -> list[Operation]:
    """Return the forward operations of this look so far, those of the steps before included."""
    now = stage.microscope.forward_operations()
    return [*stage.earlier, *(one for one in now if one.phase == "forward")]


def _dry_ones(
    stage: Stage, pairs: list[tuple[str, torch.Tensor]], fed: set[int] | None, *, flat: bool
) -> list[tuple[str, torch.Tensor]]:
    """Return the parameters that were used and get no gradient."""
    used = stage.microscope.used_parameters
    return [
        (name, parameter)
        for name, parameter in pairs
        if parameter.requires_grad
        and id(parameter) in used
        and _is_dry(stage, parameter, fed, flat=flat)
    ]


def leaves_under(losses: list[torch.Tensor]) -> set[int] | None:
    """Return the tensors that the backward pass of some losses will give gradients; None if the graph is too large."""
    waiting = [loss.grad_fn for loss in losses if loss.grad_fn is not None]
    seen, found = set(waiting), set()
    while waiting:
        node = waiting.pop()
        if len(seen) > MOST_NODES:
            return None
        found.add(id(getattr(node, "variable", None)))
        for below, _ in node.next_functions:
            if below is not None and below not in seen:
                seen.add(below)
                waiting.append(below)
    return found


def _is_dry(
    stage: Stage, parameter: torch.Tensor, fed: set[int] | None, *, flat: bool = False
) -> bool:
    """Tell whether a parameter has got no gradient, and will get none; a zero counts behind a step function."""
    if fed is not None:
        return id(parameter) not in fed
    gradient = _own_gradient(stage, parameter)
    return gradient is None or (flat and _is_zero(gradient))


def _own_gradient(stage: Stage, parameter: torch.Tensor) -> torch.Tensor | None:
    """Return the gradient of the watched step; one that is left over from an earlier phase does not count."""
    if stage.observation and not stage.parameter_memory.has_arrived(parameter):
        return None
    return parameter.grad


def _write_if_only_read(
    stage: Stage, check: Check, operations: list[Operation], *, named: tuple[str, torch.Tensor]
) -> None:
    """Write where the bare value of a parameter that no operation uses otherwise was taken for a forward pass.

    Outside of a module it may have been taken for a log: there, the value must go on to a loss.
    """
    name, parameter = named
    read = next(
        (
            cut
            for cut in stage.microscope.notes.cuts
            if id(parameter) in cut.parameter_ids
            and (cut.module is not None or _goes_on(stage, operations, cut))
        ),
        None,
    )
    if read is None or check.watched is None:
        return
    how, where = _words(Cut(read, read, meets=False))
    stage.session.write(
        GraphCut(
            step=check.step,
            optimizer=check.watched.index,
            parameters=[name],
            how="number" if read.info.base in READS else how,
            op=read.info.name,
            location=where,
            loaded=_was_loaded(stage, parameter, check.watched.index),
            look=stage.observation,
        )
    )


def _goes_on(stage: Stage, operations: list[Operation], cut: Operation) -> bool:
    """Tell whether what a call took out of its graph feeds an operation on the way to a loss."""
    return any(
        operation.order in stage.graph.reached and _detached_by(operation, position) is cut
        for operation in operations
        for position in range(len(operation.through))
    )


def _cut_of(
    stage: Stage, operations: list[Operation], parameter: int
) -> tuple[Cut, str, SourceSpan | None] | None:
    """Return the first cut on a parameter's way to a loss, how it was done and where."""
    alive, cuts = _follow(operations, parameter)
    reached = stage.graph.reached
    leading = [cut for cut in cuts if cut.operation.order in reached]
    # Words that cut say more than an operation without derivative beside them.
    leading.sort(key=lambda cut: cut.by is None and cut.operation.grad_mode)
    if leading:
        cut = leading[0]
        same = [c for c in leading if c.by is cut.by or c.operation.order == cut.operation.order]
        cut = replace(cut, meets=all(c.meets for c in same))
        how, where = _words(cut)
        return cut, how, where
    return read_and_made_anew(stage, operations, alive)


def _flattened(
    stage: Stage, operations: list[Operation], parameter: int
) -> tuple[Cut, str, SourceSpan | None] | None:
    """Return the operation whose derivative is 0 everywhere, on the way from a parameter to a loss."""
    alive, _ = _follow(operations, parameter)
    for operation in operations:
        if (
            operation.info.base in FLAT
            and operation.order in alive
            and operation.order in stage.graph.reached
        ):
            site = operation.place()
            return Cut(operation, None, meets=False), "flat", span_of(site) if site else None
    return None


@unseen
def _is_zero(gradient: torch.Tensor) -> bool:
    return gradient.layout is torch.strided and not bool(gradient.any().item())


def _follow(operations: list[Operation], parameter: int) -> tuple[set[int], list[Cut]]:
    """Return the operations that autograd followed from a parameter on, and the places where it lost it."""
    alive: set[int] = set()
    cuts: list[Cut] = []
    for operation in operations:
        if operation.info.writes and operation.parameter_ids[:1] == [parameter]:
            if alive or cuts:
                return (
                    set(),
                    [],
                )  # used, and then written by hand: a moving average takes the place of a gradient
            continue  # a weight is initialised
        sources = list(operation.inputs) or [None] * len(operation.tracked)
        for position, (tracked, own) in enumerate(
            zip(operation.tracked, operation.parameter_ids, strict=True)
        ):
            source = sources[position] if position < len(sources) else None
            fed = own == parameter or (source is not None and source.order in alive)
            if not fed:
                continue
            if own not in (None, parameter):
                # `nn.Parameter(…)` of a value with a graph is a new leaf; no operation tells that it was made.
                view = operation.through[position] if position < len(operation.through) else None
                made = view if view is not None and view.inputs[:1] == (source,) else source
                cuts.append(Cut(operation, None, meets=False, last=made, is_parameter=True))
                continue
            if (
                tracked
                and operation.grad_mode
                and operation.dtype.startswith(DERIVABLE)
                and (operation.info.is_view or _detached_by(operation, position) is None)
            ):
                alive.add(operation.order)
            elif not operation.info.is_view:
                by = _detached_by(operation, position)
                last = operation if tracked else source
                cuts.append(Cut(operation, by, _meets_another(operation, position), last))
    return alive, cuts


def _detached_by(operation: Operation, position: int) -> Operation | None:
    """Return the call that took an operand out of its graph, behind the views that came after it."""
    view = operation.through[position] if position < len(operation.through) else None
    for _ in range(16):
        if view is None or view.info.base in ("detach", "detach_"):
            return view
        view = view.through[0] if view.through else None
    return None


def _meets_another(operation: Operation, position: int) -> bool:
    """Tell whether a value without graph is combined, element by element, with an activation that has one."""
    others = [
        tracked and parameter is None
        for place, (tracked, parameter) in enumerate(
            zip(operation.tracked, operation.parameter_ids, strict=True)
        )
        if place != position
    ]
    return operation.info.base.rstrip("_") in JOINING and any(others)


def _words(cut: Cut) -> tuple[str, SourceSpan | None]:
    """Return how the graph was cut and the expression to blame."""
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
        return "no-grad", switch or (span_of(site) if site else None)
    last = cut.last.place() if cut.last is not None else site
    return "underivable", span_of(last) if last else None


def _wrapped(cut: Cut) -> SourceSpan | None:
    """Return the `nn.Parameter(…)` around a value: in the code that made the value, or that uses it."""
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
            # Made on the same line, or wrapped some lines further on.
            call = next((one for one in calls if (one.end_lineno or 0) >= line), calls[-1])
            return span_in(site.code, call)
    return span_of(made) if made is not None else None


def _was_loaded(stage: Stage, parameter: torch.Tensor, optimizer: int) -> bool:
    """Tell whether a parameter holds values worth keeping: out of a file, or of an earlier phase."""
    if stage.parameter_memory.was_trained(parameter, observation={optimizer}):
        return True
    entry = stage.microscope.memory_writers.entry(parameter)
    base = (
        entry.last_operation.info.base
        if entry is not None and entry.last_operation is not None
        else ""
    )
    return base in ("copy_", "set_")
