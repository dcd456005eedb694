from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.standing_questions import EVALUATION_MODE
from torchwhy.detect.fixes.sizes import statements
from torchwhy.detect.fixes.training import loops
from torchwhy.detect.views.nonfinite.judging import short
from torchwhy.detect.views.parameters.trained_parameters import first_of, is_interleaved
from torchwhy.detect.views.training.model_modes import (
    active_layers,
    is_teacher,
    only_evaluates,
    place_of_evaluation,
    training_modes,
)
from torchwhy.detect.views.training.source_statements import uncalled
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix, SourceSpan
from torchwhy.record.learning import DropoutInEvaluation, ForwardModes
from torchwhy.record.trace import Trace
from torchwhy.source.calls import Call, keyword, word_of
from torchwhy.source.edits import Source
from torchwhy.source.readings import is_unread
from torchwhy.source.values import Expression, expression_of, is_true

ATTENTION = "scaled_dot_product_attention"


class EvaluatedInTrainMode(Diagnosis):
    """A model is evaluated while its dropout and batch normalisation are in train mode.

    `uncalled` is the statement that names `eval` without calling it, `switched` the last call of `train` or `eval`.
    """

    path: str
    layers: list[str]
    forwards: int
    gradients: bool
    first_step: int
    uncalled: str | None
    switched: str | None
    switched_at: SourceSpan | None
    advice = "call model.eval() before evaluation and model.train() after it"

    @property
    def sentence(self) -> str:
        behave = "behaves" if len(self.layers) == 1 else "behave"
        still = f"{first_of(self.layers)} still {behave} as in training"
        if self.uncalled is not None:
            return f"`{self.uncalled}` is missing its parentheses, so `{self.path}` is evaluated in train mode: {still}"
        return f"`{self.path}` is evaluated here in train mode: {still}"

    def evidence(self) -> Iterator[Evidence]:
        gradients = "with gradients" if self.gradients else "without gradients"
        yield Evidence(
            f"{self.forwards} forward passes in train mode, {gradients}, led to no "
            "backward pass; the last ran after the last step",
            value=float(self.forwards),
            step=self.first_step,
        )
        # The program named `eval` without calling it, or undid it without a call of train().
        if self.switched == "eval":
            return
        if self.switched_at is None:
            yield Evidence("the program did not call eval() on the model before")
        else:
            claim = f"the last mode switch before was {self.switched}(), {self.switched_at}"
            yield Evidence(claim, location=self.switched_at)


class DroppedInEvaluation(Diagnosis):
    """A function drops values although its module is in eval mode."""

    call: str
    function: str
    path: str
    seen_at: int
    forwards: int
    evaluated_at: SourceSpan | None
    message = "`{call}` drops values although `{path}` is in eval mode: the function does not read the mode"
    advice = "pass the mode: {switch}"

    @property
    def switch(self) -> str:
        """Return the argument that passes the mode to the function."""
        if self.function == ATTENTION:
            return "dropout_p=p if self.training else 0.0"
        return "training=self.training"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"at step {self.seen_at} it dropped values in a forward pass of `{self.path}` with training=False",
            step=self.seen_at,
            location=self.evaluated_at,
        )
        yield Evidence(
            f"{self.forwards} forward passes in eval mode computed with random zeros",
            value=float(self.forwards),
            location=self.evaluated_at,
        )


class TeacherInTrainMode(Diagnosis):
    """A trained model that gives targets to another one still runs in train mode."""

    path: str
    layers: list[str]
    forwards: int
    steps: int
    trained_until: int
    message = (
        "`{path}` is no longer trained but still runs in train mode, without gradients, at {steps} steps: "
        "{shown} {behave} as in training, so what it returns is noisy"
    )
    advice = "call {path}.eval() once its training is over"

    @property
    def shown(self) -> str:
        """Return the first of the layers."""
        return first_of(self.layers)

    @property
    def behave(self) -> str:
        """Return the verb for one or for several layers."""
        return "behaves" if len(self.layers) == 1 else "behave"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"its last backward pass was before step {self.trained_until}; since then it ran {self.forwards} times "
            "in train mode and fed no backward pass",
            value=float(self.forwards),
        )


class EvaluationInTrainMode(Detector):
    """A model is evaluated while its dropout and batch normalisation are still in train mode."""

    name = "evaluation-in-train-mode"
    question = EVALUATION_MODE
    symptom = "evaluation"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for mode in trace.of(ForwardModes):
            layers = active_layers(mode, "train")
            is_evaluated = only_evaluates(mode) and not _is_unread(trace, mode)
            if training_modes(trace, mode.path) and layers and is_evaluated:
                yield self._evaluated(trace, mode, layers)
        yield from self._functions(trace)
        yield from self._teachers(trace)

    def _teachers(self, trace: Trace) -> Iterator[Finding]:
        """Yield a finding for each model that gives targets to the one that is trained now."""
        for mode in trace.of(ForwardModes):
            layers = active_layers(mode, "train")
            if not layers or not is_teacher(trace, mode):
                continue
            diagnosis = TeacherInTrainMode(
                path=mode.path,
                layers=layers,
                forwards=mode.count,
                steps=mode.steps,
                trained_until=mode.first_step,
            )
            yield self.found(
                trace, diagnosis, severity="warning", step=mode.first_step, location=mode.location
            )

    def _functions(self, trace: Trace) -> Iterator[Finding]:
        """Yield a finding for each function that drops values although its model is in eval mode."""
        reported = set()
        for seen in trace.of(DropoutInEvaluation):
            modes = [m for m in trace.of(ForwardModes) if m.path == seen.path and not m.training]
            evaluations = [mode for mode in modes if not mode.backwards and not mode.discarded]
            if seen.location in reported or not evaluations or not training_modes(trace, seen.path):
                continue
            reported.add(seen.location)
            yield self._dropped(trace, seen, evaluations)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        match finding.diagnosis:
            case DroppedInEvaluation():
                yield from loops.dropout_with_mode(finding.location, source)
            case EvaluatedInTrainMode(path=path):
                yield from statements.called(finding.location, source)
                yield from loops.evaluate_in_eval_mode(finding.location, source, path=path)

    def _evaluated(self, trace: Trace, mode: ForwardModes, layers: list[str]) -> Finding:
        # A train() call that training itself uses was not written for this forward pass.
        shared = any(
            mode.switched_at is not None and other.switched_at == mode.switched_at
            for other in training_modes(trace, mode.path)
        )
        switched = mode.freshly and mode.switched == "train" and not shared
        is_meant = mode.repeats > 0 or switched or is_interleaved(trace)
        named = uncalled(trace, "eval") if mode.switched == "eval" else None
        diagnosis = EvaluatedInTrainMode(
            path=mode.path,
            layers=layers,
            forwards=mode.count,
            gradients=mode.grad,
            first_step=mode.first_step,
            uncalled=named.expression if named is not None else None,
            switched=mode.switched,
            switched_at=mode.switched_at,
        )
        return self.found(
            trace,
            diagnosis,
            severity="note" if is_meant else "warning",
            step=mode.first_step,
            location=named or place_of_evaluation(trace, mode),
        )

    def _dropped(
        self, trace: Trace, seen: DropoutInEvaluation, evaluations: list[ForwardModes]
    ) -> Finding:
        text = (seen.location.expression or "") if seen.location is not None else "dropout"
        call = expression_of(text)
        is_meant = any(mode.repeats for mode in evaluations) or _always_drops(call)
        diagnosis = DroppedInEvaluation(
            call=short(text),
            function=word_of(call) or "dropout",
            path=seen.path,
            seen_at=seen.step,
            forwards=sum(mode.count for mode in evaluations),
            evaluated_at=evaluations[0].location,
        )
        return self.found(
            trace,
            diagnosis,
            severity="note" if is_meant else "warning",
            step=seen.step,
            location=seen.location,
        )


def _is_unread(trace: Trace, mode: ForwardModes) -> bool:
    """Tell whether nothing reads the result: the forward pass moves the running statistics."""
    source = trace.files.get(mode.location.file) if mode.location is not None else None
    return source is not None and mode.location is not None and is_unread(source, mode.location)


def _always_drops(call: Expression | None) -> bool:
    """Tell whether a call passes `training=True`."""
    given = keyword(call, "training") if isinstance(call, Call) else None
    return given is not None and is_true(given)
