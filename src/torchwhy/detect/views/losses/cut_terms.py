"""Terms of a loss that depend on trained parameters and have no graph: they change its value and train nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Literal

from torchwhy.detect.views.graph.graph_queries import ForwardGraph, base_of, elements
from torchwhy.detect.views.losses.self_comparisons import compared_with_itself
from torchwhy.finding import SourceSpan
from torchwhy.plain_data import dataclass
from torchwhy.record.events import OptimizerDescribed, OptimizerMade, Step
from torchwhy.record.learning import GraphOperation, LossRoot
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace
from torchwhy.source.calls import called, calls_in
from torchwhy.source.scopes import function_at

SUMS = {"add", "sub", "rsub"}
FACTORS = {"mul", "div"}
GATHERED = {"stack", "cat"}
PASSED_ON = {"neg", "mean", "sum", "_to_copy", "clone"}
DETACHES = {"detach"}
WITHOUT_GRAPH = {"no_grad", "inference_mode"}
REAL = ("float", "bfloat", "complex")
WITHOUT_DECAY = {"LBFGS", "Rprop", "SparseAdam"}  # of torch
MOST_VIEWS = 8  # of one tensor, one after another

How = Literal["gradient", "detach", "number", "itself", "other"]


@dataclass(frozen=True)
class CutTerm:
    """A term of a loss without a graph, which `joins` adds; `place` is where it left the graph.

    `how` is itself if it compares a value with the same value computed once more, gradient if it was computed from the
    result of a backward pass whose own graph was not kept, and number if the program detaches the finished number.
    """

    root: LossRoot
    joins: GraphOperation
    term: GraphOperation
    how: How
    place: SourceSpan | None


def cut_terms(trace: Trace, graph: ForwardGraph) -> Iterator[CutTerm]:
    """Yield the terms without a graph that depend on parameters of the optimizer which the loss is for."""
    held = {one.index: set(one.parameters) for one in trace.of(OptimizerDescribed)}
    stepped = {one.step: one.optimizer for one in reversed(trace.of(Step))}
    decaying = {one.index for one in trace.of(OptimizerMade) if _may_decay(one)}
    for root in graph.losses:
        operation = graph.operation(root.order)
        owned = held.get(stepped.get(root.step, -1), set())
        if operation is None or not owned or not operation.differentiable:
            continue
        walk = _Walk(graph, operation)
        for joins, term in walk.untracked:
            if stepped.get(root.step) in decaying and _is_of_weights_alone(graph, term):
                continue  # The optimizer decays the weights, and the loss shows their size.
            same = compared_with_itself(graph, term)
            if same is not None and not _is_factor_zero(graph, term):
                yield CutTerm(root, joins, term, "itself", same.location)
                continue
            found = _judge(walk, joins, term, owned)
            if found is not None:
                yield CutTerm(root, joins, term, *found)


def _may_decay(optimizer: OptimizerMade) -> bool:
    """Tell whether an optimizer moves the weights towards 0 by itself; one of the program's own may do so unseen."""
    is_own = "weight_decay" not in optimizer.defaults and optimizer.kind not in WITHOUT_DECAY
    return is_own or bool(optimizer.defaults.get("weight_decay"))


def _is_of_weights_alone(graph: ForwardGraph, term: GraphOperation) -> bool:
    """Tell whether a number was computed from parameters and nothing else."""
    above = list(graph.ancestors(term))
    return all(
        one.parameters or any(made is not None for made in graph.sources(one)) for one in above
    )


class _Walk:
    """The sum that a loss is: its scalar operations, the terms without a graph, and what the others descend from."""

    def __init__(self, graph: ForwardGraph, root: GraphOperation) -> None:
        self.graph = graph
        self.scalars: set[int] = set()
        self.untracked: list[tuple[GraphOperation, GraphOperation]] = []
        self._waiting = [root]
        while self._waiting:
            operation = self._waiting.pop()
            if operation.order in self.scalars:
                continue
            self.scalars.add(operation.order)
            for place in _added(graph, operation):
                self._look(operation, place)
        self.alive = set(_tracked_ancestors(graph, root))

    def _look(self, operation: GraphOperation, place: int) -> None:
        source = self.graph.source(operation, place)
        if source is None or not _is_single(operation.input_shapes[place]):
            return
        if operation.tracked[place]:
            self._waiting.append(source)
        elif base_of(operation) in SUMS | GATHERED:
            self.untracked.append((operation, source))


def _added(graph: ForwardGraph, operation: GraphOperation) -> list[int]:
    """Return the places of the operands that a scalar operation adds up or passes on.

    A product of two operands with a graph, as of an error with itself, is no sum: its target is meant as a constant.
    """
    base, count = base_of(operation), len(operation.input_shapes)
    if len(operation.inputs) < count or len(operation.tracked) < count:
        return []
    if base in SUMS | GATHERED:
        return list(range(count))
    if base in FACTORS and count == 2:
        tracked = [place for place in (0, 1) if operation.tracked[place]]
        return tracked if len(tracked) == 1 and (base == "mul" or tracked == [0]) else []
    if base in FACTORS | PASSED_ON and count == 1:
        return (
            [0] if _is_single(operation.input_shapes[0]) or _is_gathered(graph, operation) else []
        )
    return []


def _is_gathered(graph: ForwardGraph, operation: GraphOperation) -> bool:
    """Tell whether single numbers were put into one tensor and are added up."""
    made = graph.source(operation)
    return (
        made is not None and base_of(made) in GATHERED and all(map(_is_single, made.input_shapes))
    )


def _is_single(shape: list[int]) -> bool:
    return elements(shape) == 1


def _tracked_ancestors(graph: ForwardGraph, root: GraphOperation) -> Iterator[int]:
    """Yield the operations that gradients of a loss flow through."""
    waiting, seen = [root], set()
    while waiting:
        operation = waiting.pop()
        if operation.order in seen or not operation.differentiable:
            continue
        seen.add(operation.order)
        yield operation.order
        for place, order in enumerate(operation.inputs):
            made = graph.operation(order)
            is_tracked = place < len(operation.tracked) and operation.tracked[place]
            if made is not None and is_tracked:
                waiting.append(made)


Judged = tuple[How, "SourceSpan | None"]


def _judge(
    walk: _Walk, joins: GraphOperation, term: GraphOperation, owned: set[str]
) -> Judged | None:
    """Return how and where a term left the graph; None if that is meant, or no parameter that trains is behind it."""
    graph = walk.graph
    if _is_factor_zero(graph, term) or _is_shared(walk, term) or _has_twin(walk, term):
        return None
    outside = sorted(_without_graph(graph, term), key=lambda one: one.order)
    if any(set(joins.parameters) & set(one.parameters) for one in (term, *outside)):
        return None  # `parameter + (parameter.round() - parameter).detach()` passes its gradient straight through.
    reading = next((one for one in outside if graph.reads_gradient(one)), None)
    if reading is not None:
        return "gradient", reading.location
    if not any(owned & set(above.parameters) for above in graph.ancestors(term)):
        return None
    for one in (*outside, joins):
        detach = _detach_before(graph, one)
        if detach is not None:
            is_finished = _is_single(detach.shape)
            return "number" if is_finished else "detach", detach.location or one.location
    bare = next((one for one in outside if one.parameters and not any(one.tracked)), None)
    return ("detach", bare.location) if bare is not None else ("other", term.location)


def _is_factor_zero(graph: ForwardGraph, term: GraphOperation) -> bool:
    """Tell whether a term is multiplied by 0: a weight that begins later, or is off."""
    current: GraphOperation | None = term
    while current is not None and base_of(current) in FACTORS and len(current.input_shapes) == 1:
        factor = current.scalars.get("1")
        if isinstance(factor, (int, float)) and decode(factor) == 0:
            return True
        current = graph.source(current)
    return False


def _without_graph(graph: ForwardGraph, term: GraphOperation) -> Iterator[GraphOperation]:
    """Yield the operations before a term that are outside of the graph, and depend on parameters or on a gradient.

    What was computed from a choice, as a reward is from the action that was taken, depends on the choice alone.
    """
    waiting, seen = [term], set()
    while waiting:
        one = waiting.pop()
        if one.order in seen or one.differentiable or not one.dtype.startswith(REAL):
            continue
        seen.add(one.order)
        above = list(graph.ancestors(one))
        if any(each.parameters or graph.reads_gradient(each) for each in above):
            yield one
            waiting += [made for made in graph.sources(one) if made is not None]


def _detach_before(graph: ForwardGraph, operation: GraphOperation) -> GraphOperation | None:
    """Return the call that took an operand out of its graph."""
    for place, is_tracked in enumerate(operation.tracked):
        made, view = graph.source(operation, place), graph.view(operation, place)
        if is_tracked or made is None or not graph.trains(made):
            continue
        for _ in range(MOST_VIEWS):
            if view is None or base_of(view) in DETACHES:
                break
            view = graph.view(view, 0)
        if view is not None and base_of(view) in DETACHES:
            return view
    return None


def _is_shared(walk: _Walk, term: GraphOperation) -> bool:
    """Tell whether a part of the term is also used where gradients flow.

    The entropy of a target that the model gave is the constant of a divergence whose other part trains; a value that is
    exchanged by `loss + (value - loss).detach()` has the loss on both sides.
    """
    graph = walk.graph
    if term.differentiable:
        return _has_part_in(graph, term, walk.alive)
    for one in _without_graph(graph, term):
        others = {user.order for user in graph.consumers.get(one.order, [])} - walk.scalars
        if others & walk.alive:
            return True
        for made in graph.sources(one):
            if made is not None and made.differentiable and _has_part_in(graph, made, walk.alive):
                return True
    return False


def _has_twin(walk: _Walk, term: GraphOperation) -> bool:
    """Tell whether another term with a graph comes from the same operations and parameters.

    The mean log-probability of the policy that acted is the constant beside that of the policy that trains.
    """
    own = _made_by(walk.graph, term)
    others = [
        made
        for order in walk.scalars
        if (operation := walk.graph.operation(order)) is not None
        for made in (operation, *walk.graph.sources(operation))
        if made is not None and made.differentiable and made.order != term.order
    ]
    return any(base_of(one) == base_of(term) and _made_by(walk.graph, one) == own for one in others)


def _made_by(graph: ForwardGraph, term: GraphOperation) -> tuple[set[str], set[str]]:
    """Return the names of the operations and of the parameters behind a number."""
    above = list(graph.ancestors(term))
    return {base_of(one) for one in above}, {name for one in above for name in one.parameters}


def _has_part_in(graph: ForwardGraph, operation: GraphOperation, alive: set[int]) -> bool:
    """Tell whether a number that was detached, or a number that it adds up, is a part of the loss."""
    waiting = [operation] if _is_single(operation.shape) else []
    seen: set[int] = set()
    while waiting:
        current = waiting.pop()
        if current.order in alive:
            return True
        if current.order in seen:
            continue
        seen.add(current.order)
        places = _added(graph, current)
        waiting += [
            made
            for place in places
            if (made := graph.source(current, place)) is not None and _is_single(made.shape)
        ]
    return False


def gradient_taken(trace: Trace, place: SourceSpan | None) -> SourceSpan | None:
    """Return the last call of `autograd.grad` without a graph before a place, in its function; else the place."""
    source = trace.files.get(place.file) if place is not None else None
    if place is None or source is None:
        return place
    calls = [
        call
        for call in calls_in(function_at(source.tree, place.line))
        if called(call) == "grad" and call.lineno <= place.line
    ]
    return source.span(max(calls, key=lambda call: call.lineno)) if calls else place


def is_under_no_grad(trace: Trace, cut: CutTerm) -> bool:
    """Tell whether a term is computed in a `with torch.no_grad():` that stands in the function which makes the loss."""
    place, loss = cut.place, cut.joins.location
    source = trace.files.get(place.file) if place is not None else None
    if source is None or place is None or loss is None or loss.file != place.file:
        return False
    term, sum_ = source.statement_at(place.line), source.statement_at(loss.line)
    if term is None or sum_ is None or source.function_of(term) is not source.function_of(sum_):
        return False
    return any(
        isinstance(item.context_expr, ast.Call) and called(item.context_expr) in WITHOUT_GRAPH
        for around in source.around(term)
        if isinstance(around, ast.With)
        for item in around.items
    )
