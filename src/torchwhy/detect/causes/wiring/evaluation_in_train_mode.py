from __future__ import annotations

import ast
from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.sizes import statements
from torchwhy.detect.fixes.training import loops
from torchwhy.detect.views.nonfinite.judging import short
from torchwhy.detect.views.parameters.trained_parameters import (
    active_layers,
    is_interleaved,
    place_of_evaluation,
    training_modes,
    uncalled,
)
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.learning import DropoutInEvaluation, ForwardModes
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

SHOWN = 3
SWITCH_POSITION = 2  # of `training` among the arguments of F.dropout


class EvaluationInTrainMode(Detector):
    """A model is evaluated while its dropout and batch normalisation are still in train mode."""

    name = "evaluation-in-train-mode"
    needs = frozenset({"modes"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for mode in trace.of(ForwardModes):
            trains = training_modes(trace, mode.path)
            layers = active_layers(mode, "train")
            if trains and layers and _is_evaluation(mode):
                yield self._finding(trace, mode, layers)
        yield from self._functions(trace)

    def _functions(self, trace: Trace) -> Iterator[Finding]:
        """Yield the places where a function drops values though its model is in eval mode."""
        told = set()
        for seen in trace.of(DropoutInEvaluation):
            modes = [m for m in trace.of(ForwardModes) if m.path == seen.path and not m.training]
            evaluations = [mode for mode in modes if not mode.backwards and not mode.discarded]
            if seen.location in told or not evaluations or not training_modes(trace, seen.path):
                continue
            told.add(seen.location)
            yield self._dropped(trace, seen, evaluations)

    def _dropped(
        self, trace: Trace, seen: DropoutInEvaluation, evaluations: list[ForwardModes]
    ) -> Finding:
        call = short(seen.location.expression or "") if seen.location is not None else "dropout"
        repeats = sum(mode.repeats for mode in evaluations)
        meant = repeats > 0 or "training=True" in call.replace(" ", "")
        count = sum(mode.count for mode in evaluations)
        attends = "scaled_dot_product_attention" in call
        switch = "dropout_p=p if self.training else 0.0" if attends else "training=self.training"
        return Finding(
            detector=self.name,
            severity="note" if meant else "warning",
            message=(
                f"`{call}` drops values in evaluation, too: a function does not know that `{seen.path}` is in eval mode"
            ),
            step=seen.step,
            rank=trace.rank,
            location=seen.location,
            evidence=(
                Evidence(
                    f"at step {seen.step} it dropped values in a forward of `{seen.path}` with training=False",
                    step=seen.step,
                    location=evaluations[0].location,
                ),
                Evidence(
                    f"{count} forward passes in eval mode gave results with random zeros in them",
                    value=float(count),
                    location=evaluations[0].location,
                ),
            ),
            fixes=(Fix(f"tell it the mode: {switch}", safety="show-only"),),
        )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        node = source.at(finding.location)
        if isinstance(node, ast.Call) and "dropout" in source.of(node.func):
            yield from _told_the_mode(source, node)
            return
        yield from statements.called(finding, source)
        yield from loops.evaluate_in_eval_mode(finding, source)

    def _finding(self, trace: Trace, mode: ForwardModes, layers: list[str]) -> Finding:
        # A train() call that training itself goes through was not made for the sake of this forward.
        shared = any(
            mode.switched_at is not None and other.switched_at == mode.switched_at
            for other in training_modes(trace, mode.path)
        )
        switched = mode.freshly and mode.switched == "train" and not shared
        meant = mode.repeats > 0 or switched
        shown = ", ".join(layers[:SHOWN]) + (
            f" and {len(layers) - SHOWN} more" if len(layers) > SHOWN else ""
        )
        named = uncalled(trace, "eval") if mode.switched == "eval" else None
        gradients = "with gradients" if mode.grad else "without gradients"
        return Finding(
            detector=self.name,
            severity="note" if meant or is_interleaved(trace) else "warning",
            message=(
                f"`{named.expression}` lacks its brackets, so `{mode.path}` is evaluated in train mode: {shown} still "
                "act as in training"
                if named is not None
                else f"`{mode.path}` is evaluated here in train mode: {shown} still act as in training"
            ),
            step=mode.first_step,
            rank=trace.rank,
            location=named or place_of_evaluation(trace, mode),
            evidence=(
                Evidence(
                    f"{mode.count} forward passes in train mode, {gradients}, fed no "
                    "backward pass, the last after the last step",
                    value=float(mode.count),
                    step=mode.first_step,
                ),
                *_last_switch(mode),
            ),
            fixes=(
                Fix(
                    "call model.eval() before evaluation and model.train() after it",
                    safety="show-only",
                ),
            ),
        )


def _told_the_mode(source: Source, call: ast.Call) -> Iterator[Fix]:
    """Yield `training=self.training` for a call of F.dropout in a method, which has a `self` to ask."""
    method = source.scope_of(call)
    first = method.args.args[:1] if isinstance(method, ast.FunctionDef) else []
    told = any(keyword.arg == "training" for keyword in call.keywords)
    if not first or first[0].arg != "self" or told or len(call.args) > SWITCH_POSITION:
        return
    text = source.of(call)
    changed = f"{text[:-1].rstrip().rstrip(',')}, training=self.training)"
    yield from source.fix("tell dropout the mode of its module", source.replace(call, changed))


def _is_evaluation(mode: ForwardModes) -> bool:
    """Tell whether a place only looks at the result: it feeds nothing, and comes after the last step, too."""
    return (
        mode.training
        and not mode.backwards
        and not mode.discarded
        and mode.last_step >= mode.step > 0
    )


def _last_switch(mode: ForwardModes) -> list[Evidence]:
    if mode.switched == "eval":
        return []  # it was looked up and not called, or undone by hand
    if mode.switched_at is None:
        return [Evidence("eval() was not called on the model before")]
    return [
        Evidence(
            f"the last switch before was {mode.switched}(), {mode.switched_at}",
            location=mode.switched_at,
        )
    ]
