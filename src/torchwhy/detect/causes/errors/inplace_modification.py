from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.models import graphs
from torchwhy.detect.fixes.sizes import statements
from torchwhy.detect.views.crash.crash_facts import (
    at,
    crashes,
    expression_of,
    finding_of,
    idea,
    operand_evidence,
    says,
    sizes,
)
from torchwhy.detect.views.nonfinite.judging import short
from torchwhy.finding import Evidence, Finding, Fix, SourceSpan
from torchwhy.record.events import Crash
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

STALE = r"modified by an inplace operation"
LEAF = r"(?:a leaf Variable|a view of a leaf Variable) that requires grad is being used in an in-place operation"
VIEWS = r"is a view and (?:is being|its base or another view of its base has been) modified inplace"
HOLDS_GRAPH = "still holds the graph of the iteration before"


class InplaceModification(Detector):
    """A value that the backward pass needs was changed in place."""

    name = "inplace-modification"
    needs = frozenset({"crash"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            if says(crash, STALE):
                yield finding_of(
                    trace,
                    crash,
                    detector=self.name,
                    message=_message(crash),
                    evidence=list(_evidence(crash)),
                    location=crash.places.get("carried") or crash.places.get("written"),
                    fixes=list(_fixes(crash)),
                )
            elif says(crash, LEAF) or says(crash, VIEWS):
                yield _on_the_spot(trace, crash, self.name)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        if HOLDS_GRAPH in finding.message:
            yield from statements.cut_between_steps(finding, source)
            return
        yield from statements.out_of_place(finding, source)
        yield from statements.update_by_hand(finding, source)
        yield from graphs.not_in_place(finding.location, source)
        yield from graphs.updated_last(finding, source)


def _message(crash: Crash) -> str:
    written, needed = crash.places.get("written"), crash.places.get("needed")
    if "carried" in crash.places:
        return (
            f"`{crash.facts.get('carried')}` {HOLDS_GRAPH}, so "
            f"`{expression_of(crash)}` goes back into it, and needs weights there that have been updated since"
        )
    if written is None:
        return f"`{expression_of(crash)}` needs a value that was changed in place after it was computed"
    if crash.facts.get("phase") == "update":
        return (
            f"`{_text(written)}` changes the weights between the forward pass and `{expression_of(crash)}`, "
            f"which still needs the old ones{_for_what(needed)}"
        )
    name = crash.facts.get("variable")
    what = f"`{name}`" if isinstance(name, str) else "a value"
    return f"`{_text(written)}` writes over {what}, whose old value the gradient still needs{_for_what(needed)}"


def _text(span: SourceSpan) -> str:
    return short(span.expression or f"line {span.line}")


def _for_what(needed: SourceSpan | None) -> str:
    return f" for `{_text(needed)}`{at(needed)}" if needed is not None else ""


def _evidence(crash: Crash) -> Iterator[Evidence]:
    needed, written = crash.places.get("needed"), crash.places.get("written")
    node = crash.facts.get("node")
    if needed is not None:
        keeper = f" ({node})" if isinstance(node, str) else ""
        yield Evidence(
            f"first `{_text(needed)}` keeps the value for its gradient{keeper}", location=needed
        )
    if written is not None:
        yield Evidence(f"then `{_text(written)}` changes it in place", location=written)
    shape, times = crash.facts.get("shape"), crash.facts.get("times_written")
    if isinstance(shape, list) and isinstance(times, float):
        how_often = "once" if times == 1 else f"{times:g} times"
        yield Evidence(
            f"the value has shape {sizes(shape)} and was changed {how_often} since it was kept"
        )


def _fixes(crash: Crash) -> Iterator[Fix]:
    if "carried" in crash.places:
        name = crash.facts.get("attribute") or crash.facts.get("carried")
        yield idea(
            f"cut the graph where the next iteration takes it over: `{name}.detach()`; then "
            "`retain_graph=True` is not needed either"
        )
        return
    if crash.facts.get("phase") == "update":
        yield idea(
            "run every backward pass before the first optimizer step, or compute the forward pass anew after it"
        )
        return
    name = crash.facts.get("variable")
    written = crash.places.get("written")
    if (
        isinstance(name, str)
        and written is not None
        and written.expression
        and "+=" in written.expression
    ):
        left, _, right = written.expression.partition("+=")
        yield idea(f"make a new tensor: `{left.strip()} = {left.strip()} + {right.strip()}`")
    elif isinstance(name, str) and name.isidentifier():
        yield idea(f"change a copy: `{name} = {name}.clone()` before this line")
    yield idea(
        "use the operation without the underscore or `inplace=True`; for parts of a tensor, `torch.where`"
    )


def _on_the_spot(trace: Trace, crash: Crash, detector: str) -> Finding:
    """Report an in-place change that torch refuses at once."""
    text = expression_of(crash)
    if says(crash, LEAF):
        message = f"`{text}` changes a weight in place while gradients are recorded"
        fixes = [
            idea("put the update under `with torch.no_grad():`"),
            idea("let a `torch.optim` optimizer do it"),
        ]
    else:
        message = f"`{text}` changes a part of a tensor in place that shares its memory with others"
        fixes = [idea("make a new tensor instead of changing this one, or `clone()` it first")]
    return finding_of(
        trace,
        crash,
        detector=detector,
        message=message,
        evidence=operand_evidence(crash),
        fixes=fixes,
    )
