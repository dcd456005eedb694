from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.models import checkpoints, graphs
from torchwhy.detect.fixes.sizes import statements
from torchwhy.detect.fixes.training import loops, turns
from torchwhy.detect.rules.graph_messages import HookedInPlace
from torchwhy.detect.rules.message_kinds import LeafInPlace, StaleValue, ViewInPlace
from torchwhy.detect.views.crash.crash_evidence import at, sizes
from torchwhy.detect.views.crash.crash_view import CrashView, crashes
from torchwhy.detect.views.nonfinite.judging import short
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix, SourceSpan
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

OTHER_OPERATION = "use the operation without the underscore or `inplace=True`, or `torch.where` for a part of a tensor"


class WeightChanged(Diagnosis):
    """A statement changes a weight in place while autograd records, which torch refuses at once."""

    expression: str
    message = "`{expression}` changes a weight in place while autograd records"

    @property
    def remedies(self) -> tuple[str, ...]:
        return (
            "put the update under `with torch.no_grad():`",
            "use an optimizer from `torch.optim`",
        )


class SharedMemoryChanged(Diagnosis):
    """A statement changes a view in place, which torch refuses at once."""

    expression: str
    message = "`{expression}` changes a view in place that shares its memory with other tensors"
    advice = "create a new tensor instead of changing this one, or `clone()` it first"


class HookedOutputChanged(Diagnosis):
    """A layer or statement changes the output of a module with a full backward hook, which torch refuses at once."""

    writer: str
    message = "`{writer}` changes its input in place, which is the output of a module with a full backward hook"
    advice = (
        "create the layer with `inplace=False`, or `clone()` the output of the hooked module first"
    )


class StateHoldsGraph(Diagnosis):
    """A value carried over from the previous iteration leads the backward pass back into its graph."""

    state: str
    attribute: str | None  # the attribute of the module that holds the value
    call: str
    message = (
        "`{state}` still holds the graph of the previous iteration, so `{call}` goes back into it and needs weights "
        "that have been updated since"
    )
    advice = (
        "cut the graph between iterations: `{held}.detach()`; then `retain_graph=True` is not "
        "needed either"
    )

    @property
    def held(self) -> str:
        """Return the name to detach."""
        return self.attribute or self.state


class ValueChanged(Diagnosis):
    """An unknown statement changed a value in place that the backward pass needs."""

    call: str
    message = "`{call}` needs a value that was changed in place after it was computed"
    advice = OTHER_OPERATION


class WeightsUpdatedEarly(Diagnosis):
    """A statement updates the weights between the forward pass and its backward pass."""

    call: str
    written: SourceSpan
    needed: SourceSpan | None
    message = (
        "`{writer}` changes the weights between the forward pass and `{call}`, which still needs the "
        "old ones{purpose}"
    )
    advice = (
        "compute the loss of this backward pass after that step, or from detached values if it must not train what the "
        "step updates"
    )

    @property
    def writer(self) -> str:
        """Return the statement that changes the weights."""
        return _text(self.written)

    @property
    def purpose(self) -> str:
        """Return the expression whose gradient needs the old weights."""
        return _purpose(self.needed)


class Overwritten(Diagnosis):
    """A statement overwrites a value that the backward pass needs."""

    variable: str | None
    written: SourceSpan
    needed: SourceSpan | None
    message = "`{writer}` overwrites {what}, but the gradient still needs the old value{purpose}"

    @property
    def writer(self) -> str:
        """Return the statement that overwrites the value."""
        return _text(self.written)

    @property
    def what(self) -> str:
        """Return the value."""
        return f"`{self.variable}`" if self.variable is not None else "a value"

    @property
    def purpose(self) -> str:
        """Return the expression whose gradient needs the old value."""
        return _purpose(self.needed)

    @property
    def remedies(self) -> tuple[str, ...]:
        left, adds, right = (self.written.expression or "").partition("+=")
        if self.variable is not None and adds:
            first = f"create a new tensor: `{left.strip()} = {left.strip()} + {right.strip()}`"
            return first, OTHER_OPERATION
        if self.variable is not None and self.variable.isidentifier():
            name = self.variable
            return f"change a copy: `{name} = {name}.clone()` before this line", OTHER_OPERATION
        return (OTHER_OPERATION,)


class InplaceModification(Detector):
    """An in-place operation changed a value that the backward pass needs."""

    name = "inplace-modification"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            match crash.said:
                case StaleValue():
                    yield crash.finding(
                        self.name,
                        diagnosed(crash),
                        evidence=list(_order(crash)),
                        location=crash.place("carried") or crash.place("written"),
                    )
                case LeafInPlace():
                    diagnosis = WeightChanged(expression=crash.expression)
                    yield crash.finding(self.name, diagnosis, evidence=crash.operand_evidence)
                case HookedInPlace():
                    yield self._behind_hook(crash)
                case ViewInPlace():
                    shared = SharedMemoryChanged(expression=crash.expression)
                    yield crash.finding(self.name, shared, evidence=crash.operand_evidence)

    def _behind_hook(self, crash: CrashView) -> Finding:
        layer = crash.layer
        is_in_place = layer is not None and bool(layer.settings.get("inplace"))
        return crash.finding(
            self.name,
            HookedOutputChanged(
                writer=layer.path if is_in_place and layer is not None else crash.expression
            ),
            location=layer.made_at if is_in_place and layer is not None else None,
        )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from checkpoints.not_reentrant(source)
        place = finding.location
        match finding.diagnosis:
            case StateHoldsGraph():
                yield from statements.cut_between_steps(place, source)
                return
        yield from statements.out_of_place(place, source)
        yield from statements.update_by_hand(place, source)
        yield from graphs.not_in_place(place, source)
        match finding.diagnosis:
            case WeightsUpdatedEarly(call=call):
                yield from turns.second_loss_apart(place, source, call=call)
                yield from loops.move_after(place, source, "backward")
        yield from graphs.states_cut(source)


def diagnosed(crash: CrashView) -> Diagnosis:
    """Return what was overwritten, and by which statement."""
    written, needed = crash.place("written"), crash.place("needed")
    if crash.place("carried") is not None:
        return StateHoldsGraph(
            state=str(crash.fact("carried")),
            attribute=crash.fact("attribute"),
            call=crash.expression,
        )
    if written is None:
        return ValueChanged(call=crash.expression)
    if crash.fact("phase") == "update":
        return WeightsUpdatedEarly(call=crash.expression, written=written, needed=needed)
    return Overwritten(variable=crash.fact("variable"), written=written, needed=needed)


def _text(span: SourceSpan) -> str:
    return short(span.expression or f"line {span.line}")


def _purpose(needed: SourceSpan | None) -> str:
    return f" for `{_text(needed)}`{at(needed)}" if needed is not None else ""


def _order(crash: CrashView) -> Iterator[Evidence]:
    """Yield the expression that saved the value, the statement that changed it, and how often."""
    needed, written = crash.place("needed"), crash.place("written")
    node = crash.fact("node")
    if needed is not None:
        keeper = f" ({node})" if node is not None else ""
        yield Evidence(
            f"first `{_text(needed)}` saves the value for its gradient{keeper}", location=needed
        )
    if written is not None:
        yield Evidence(f"then `{_text(written)}` changes it in place", location=written)
    shape, times = crash.numbers("shape"), crash.count("times_written")
    if shape is not None and times is not None:
        how_often = "once" if times == 1 else f"{times} times"
        yield Evidence(f"the value has shape {sizes(shape)} and was changed {how_often} since then")
