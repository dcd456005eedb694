from __future__ import annotations

import ast
from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.models import graphs
from torchwhy.detect.fixes.sizes import statements
from torchwhy.detect.views.crash.crash_facts import (
    crashes,
    expression_of,
    finding_of,
    idea,
    operand_evidence,
    says,
)
from torchwhy.detect.views.nonfinite.judging import short
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Crash
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

NONE = r"element \d+ of tensors does not require grad and does not have a grad_fn"
UNUSED = r"differentiated Tensors? .*appears? to not have been used in the graph"
UNWANTED = r"differentiated Tensors? .*does not require grad"
INFERENCE = r"Inference tensors cannot be saved for backward"
ADVICE = {
    "no_grad": "move the forward pass and the loss out of it",
    "frozen": "leave at least one parameter trainable, or do not train this model",
    "switched-off": "switch recording on again: `torch.set_grad_enabled(True)`",
    "argmax": "compute the loss from the scores themselves, not from the chosen class",
    "comparison": "use a differentiable loss; accuracy can be measured beside it, not trained",
    "item": "keep the tensor, and use `.item()` only for what is shown",
    "detach": "detach only what must not get a gradient",
}


class NoGraph(Detector):
    """`backward()` was called on a value that no gradient can flow through."""

    name = "no-graph"
    needs = frozenset({"crash"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            if says(crash, NONE):
                yield finding_of(
                    trace,
                    crash,
                    detector=self.name,
                    message=_message(crash),
                    evidence=list(_evidence(crash)),
                    location=crash.places.get("cut"),
                    fixes=[_advice(crash)],
                )
            elif says(crash, UNUSED) or says(crash, UNWANTED) or says(crash, INFERENCE):
                yield _told_by_torch(trace, crash, self.name)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from graphs.kept(finding.location, source)
        yield from statements.with_graph(finding, source)
        yield from graphs.differentiable(finding, source)


def _told_by_torch(trace: Trace, crash: Crash, detector: str) -> Finding:
    """Report the cases in which torch itself says which tensor has no graph."""
    if says(crash, UNUSED):
        message = f"`{expression_of(crash)}` asks for the gradient of a tensor that did not go into the result"
        fix = idea(
            "differentiate by a tensor that the result was computed from, or pass `allow_unused=True`"
        )
    elif says(crash, UNWANTED):
        by = _differentiated_by(crash)
        message = (
            f"`{expression_of(crash)}` differentiates by {by}, which does not require a gradient"
        )
        fix = idea(f"before {by} goes into the model, let it require one: `.requires_grad_()`")
    else:
        message = f"`{expression_of(crash)}` trains on a tensor that was made under `torch.inference_mode()`"
        fix = idea(
            "make it under `torch.no_grad()`, or `clone()` it outside before it is used for training"
        )
    evidence = operand_evidence(crash)
    return finding_of(
        trace, crash, detector=detector, message=message, evidence=evidence, fixes=[fix]
    )


def _differentiated_by(crash: Crash) -> str:
    """Return the inputs of a call of `torch.autograd.grad` in the program's words."""
    try:
        call = ast.parse(expression_of(crash).strip(), mode="eval").body
    except SyntaxError:
        return "a tensor"
    given = [word.value for word in getattr(call, "keywords", []) if word.arg == "inputs"]
    inputs = given or getattr(call, "args", [])[1:2]
    return f"`{ast.unparse(inputs[0])}`" if inputs else "a tensor"


def _message(crash: Crash) -> str:
    loss = crash.facts.get("loss")
    loss = f"`{loss}`" if isinstance(loss, str) else "the loss"
    cut, why = crash.places.get("cut"), crash.facts.get("why")
    if cut is None or not isinstance(why, str):
        return f"{loss} has no graph: nothing that `{expression_of(crash)}` could give a gradient went into it"
    if crash.facts.get("kind") in ("frozen", "switched-off", "no_grad"):
        return f"{loss} has no graph: {why}"
    return f"{loss} has no graph, because it was cut at `{short(cut.expression or '')}`: {why}"


def _evidence(crash: Crash) -> Iterator[Evidence]:
    for frame in crash.frames[-1:]:
        flows = [tensor.name for tensor in frame.tensors if tensor.graph is not None]
        ends = [
            tensor.name
            for tensor in frame.tensors
            if tensor.graph is None and tensor.dtype.startswith("float")
        ]
        if flows:
            yield Evidence(
                f"with a graph: {', '.join(flows[:6])}; without: {', '.join(ends[:6]) or 'none'}"
            )


def _advice(crash: Crash) -> Fix:
    kind = crash.facts.get("kind")
    if isinstance(kind, str):
        return idea(
            ADVICE.get(kind, "compute the loss with tensors from the model's output to the end")
        )
    return idea(
        "make the loss depend on the model's output, and keep it a tensor from there to `backward()`"
    )
