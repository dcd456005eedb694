from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.standing_questions import TRAINING_MODE
from torchwhy.detect.fixes.training import loops
from torchwhy.detect.views.parameters.trained_parameters import first_of
from torchwhy.detect.views.training.model_modes import (
    active_layers,
    is_evaluation_before,
    is_left_now_and_then,
    is_swapped,
    left_by_evaluation,
    modes_of,
    training_modes,
)
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix, Severity, SourceSpan
from torchwhy.record.learning import ForwardModes
from torchwhy.record.trace import Trace
from torchwhy.source.analyses.training_statements import trains_on_condition
from torchwhy.source.calls import called, calls_in
from torchwhy.source.edits import Source
from torchwhy.source.scopes import function_at

ENOUGH_STEPS = (
    3  # An attack or a saliency map after training makes no optimizer steps in eval mode.
)


class TrainsInEvalMode(Diagnosis):
    """A model trains in eval mode, because nothing switched it back."""

    path: str
    layers: list[str]
    since: int
    backwards: int
    steps: int
    first_step: int
    trained_at: SourceSpan | None
    left_by: Literal["eval()", "train(False)"]
    message = (
        "since step {since} `{path}` has trained in eval mode: "
        "the program did not switch it back after {left_by}"
    )
    advice = "call model.train() after each evaluation, or at the start of each epoch"

    @property
    def otherwise(self) -> str:
        """Return in which mode the layers are elsewhere."""
        return f"and {self.were} in train mode before"

    @property
    def are(self) -> str:
        """Return the verb for one or for several layers."""
        return "is" if len(self.layers) == 1 else "are"

    @property
    def were(self) -> str:
        """Return the verb in the past tense."""
        return "was" if len(self.layers) == 1 else "were"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"{self.backwards} backward passes over {self.steps} steps came from forward passes in eval mode",
            value=float(self.backwards),
            step=self.first_step,
            location=self.trained_at,
        )
        yield Evidence(f"{first_of(self.layers)} {self.are} in eval mode there, {self.otherwise}")


class PartlyInEvalMode(TrainsInEvalMode):
    """An evaluation within an epoch leaves the model in eval mode until the next epoch begins."""

    message = (
        "`{path}` trains in eval mode from each evaluation on, until the program switches it back later: "
        "{steps} steps, the first is step {since}"
    )
    advice = "call model.train() right after each evaluation"

    @property
    def otherwise(self) -> str:
        return "and in train mode in the other steps of the same loop"


class NeverInTrainMode(TrainsInEvalMode):
    """The function that evaluates a model switched it to eval mode before any training."""

    @property
    def otherwise(self) -> str:
        return f"and {self.were} never in train mode"


class ModesSwapped(TrainsInEvalMode):
    """A model trains in eval mode and is evaluated in train mode."""

    message = "since step {since} `{path}` has trained in eval mode: the modes are swapped"

    @property
    def otherwise(self) -> str:
        return f"and {self.are} in train mode where the model is evaluated"


class TrainingInEvalMode(Detector):
    """The model was not switched back after an evaluation, and training continues in eval mode."""

    name = "training-in-eval-mode"
    question = TRAINING_MODE

    def scan(self, trace: Trace) -> Iterator[Finding]:
        reported: set[str] = set()
        for mode in trace.of(ForwardModes):
            layers = active_layers(mode, "eval")
            if mode.training or not mode.grad or not layers or mode.path in reported:
                continue
            judged = _judge(trace, mode)
            if judged is None:
                continue
            reported.add(mode.path)
            severity, kind = judged
            switch = _switch(mode)
            is_train = switch is not None and ".train" in (switch.expression or "")
            diagnosis = kind(
                path=mode.path,
                layers=layers,
                since=0 if kind is NeverInTrainMode else mode.first_step,
                backwards=mode.backwards,
                steps=mode.steps,
                first_step=mode.first_step,
                trained_at=mode.location,
                left_by="train(False)" if is_train else "eval()",
            )
            yield self.found(
                trace,
                diagnosis,
                severity=severity,
                step=diagnosis.since,
                location=switch or mode.location,
            )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from loops.train_before_steps(finding.location, source)


def _judge(trace: Trace, mode: ForwardModes) -> tuple[Severity, type[TrainsInEvalMode]] | None:
    """Judge a place where a model runs in eval mode with its graph."""
    before = training_modes(trace, mode.path)
    if mode.backwards < ENOUGH_STEPS or mode.steps < ENOUGH_STEPS or _is_set_here(trace, mode):
        return None
    if before:
        if any(
            other.last_step > mode.first_step for other in before
        ):  # The program switched it back.
            return ("warning", PartlyInEvalMode) if is_left_now_and_then(trace, mode) else None
        evaluated = [
            other for other in modes_of(trace, mode.path) if is_evaluation_before(other, mode)
        ]
        if evaluated and all(other.switched_at != mode.switched_at for other in evaluated):
            return None  # The call of `eval()` was not made for an evaluation.
        is_sure = bool(evaluated) and not _is_chosen(trace, mode)
        return "warning" if is_sure else "note", TrainsInEvalMode
    if is_swapped(trace, mode):
        return "warning", ModesSwapped
    return ("warning", NeverInTrainMode) if left_by_evaluation(trace, mode) else None


def _is_set_here(trace: Trace, mode: ForwardModes) -> bool:
    """Tell whether the function that trains calls the one that switched the mode: it sets the mode itself."""
    switched, trained = mode.switched_at, mode.location
    source = trace.files.get(trained.file) if trained is not None else None
    if source is None or switched is None or trained is None or switched.function is None:
        return False
    # An evaluation that is called within the loop switches the model, too, and runs it.
    evaluates = any(
        one.location is not None and one.location.function == switched.function
        for one in modes_of(trace, mode.path)
    )
    calls = calls_in(function_at(source.tree, trained.line))
    is_called = any(called(call) == switched.function for call in calls)
    return is_called and not evaluates and switched.function != trained.function


def _is_chosen(trace: Trace, mode: ForwardModes) -> bool:
    """Tell whether the loop that trains calls `train()` in some turns only, as to fix the statistics later."""
    place = mode.location
    source = trace.files.get(place.file) if place is not None else None
    return source is not None and place is not None and trains_on_condition(source, place.line)


def _switch(mode: ForwardModes) -> SourceSpan | None:
    """Return the call of `eval()` that left a model in eval mode."""
    return mode.switched_at if mode.switched == "eval" else None
