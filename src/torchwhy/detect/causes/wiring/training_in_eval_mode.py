from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.training import loops
from torchwhy.detect.views.parameters.trained_parameters import (
    active_layers,
    modes_of,
    training_modes,
)
from torchwhy.finding import Evidence, Finding, Fix, Severity, SourceSpan
from torchwhy.record.learning import ForwardModes, ParameterCensus
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

ENOUGH_STEPS = (
    3  # optimizer steps in eval mode; an attack or a saliency map after training makes none
)
SHOWN = 3


class TrainingInEvalMode(Detector):
    """After an evaluation the model was not switched back, and training goes on in eval mode."""

    name = "training-in-eval-mode"
    needs = frozenset({"modes"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        told: set[str] = set()
        for mode in trace.of(ForwardModes):
            layers = active_layers(mode, "eval")
            if mode.training or not mode.grad or not layers or mode.path in told:
                continue
            before = training_modes(trace, mode.path)
            came_back = any(other.last_step > mode.first_step for other in before)
            if (
                before
                and not came_back
                and mode.backwards >= ENOUGH_STEPS
                and mode.steps >= ENOUGH_STEPS
            ):
                told.add(mode.path)
                evaluated = any(_is_evaluation(other, mode) for other in modes_of(trace, mode.path))
                yield self._finding(trace, mode, layers, "warning" if evaluated else "note")
            elif not before and mode.steps >= ENOUGH_STEPS and _is_swapped(trace, mode):
                told.add(mode.path)
                yield self._finding(trace, mode, layers, "warning", swapped=True)
            elif not before and mode.steps >= ENOUGH_STEPS and _left_by_evaluation(trace, mode):
                told.add(mode.path)
                yield self._finding(trace, mode, layers, "warning", from_the_start=True)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from loops.train_before_steps(finding.location, source)

    def _finding(
        self,
        trace: Trace,
        mode: ForwardModes,
        layers: list[str],
        severity: Severity,
        *,
        swapped: bool = False,
        from_the_start: bool = False,
    ) -> Finding:
        switch = _switch(mode)
        is_train = switch is not None and ".train" in (switch.expression or "")
        why = f"nobody switched it back after {'train(False)' if is_train else 'eval()'}"
        state = "and were in train mode before"
        if swapped:
            why = "the modes are swapped"
            state = "and are in train mode where the model is evaluated"
        elif from_the_start:
            state = "and never were in train mode"
        shown = ", ".join(layers[:SHOWN]) + (
            f" and {len(layers) - SHOWN} more" if len(layers) > SHOWN else ""
        )
        since = 0 if from_the_start else mode.first_step
        return Finding(
            detector=self.name,
            severity=severity,
            message=f"since step {since} `{mode.path}` trains in eval mode: {why}",
            step=since,
            rank=trace.rank,
            location=switch or mode.location,
            evidence=(
                Evidence(
                    f"{mode.backwards} backward passes over {mode.steps} steps came from forwards in eval mode",
                    value=float(mode.backwards),
                    step=mode.first_step,
                    location=mode.location,
                ),
                Evidence(f"{shown} are in eval mode there, {state}"),
            ),
            fixes=(
                Fix(
                    "call model.train() after each evaluation, or at the start of each epoch",
                    safety="show-only",
                ),
            ),
        )


def _switch(mode: ForwardModes) -> SourceSpan | None:
    """Return the call of `eval()` that a model was left in."""
    return mode.switched_at if mode.switched == "eval" else None


def _is_swapped(trace: Trace, mode: ForwardModes) -> bool:
    """Tell whether a model that trains in eval mode, and only so, is evaluated in train mode after train()."""
    evaluated = [
        other
        for other in modes_of(trace, mode.path)
        if other.training and not other.grad and not other.backwards and other.switched == "train"
    ]
    return mode.switched == "eval" and mode.backwards >= ENOUGH_STEPS and bool(evaluated)


def _is_evaluation(other: ForwardModes, mode: ForwardModes) -> bool:
    """Tell whether a place evaluated the model in eval mode before training went on so."""
    return not other.training and not other.backwards and other.first_step <= mode.first_step


def _left_by_evaluation(trace: Trace, mode: ForwardModes) -> bool:
    """Tell whether the function that evaluates a model, and not the one that trains it, switched it to eval mode.

    Who trains in eval mode by intention, on loaded weights with frozen statistics, says so where the training is.
    """
    switched, trained = mode.switched_at, mode.location
    if mode.switched != "eval" or switched is None or trained is None:
        return False
    if switched.function is None or switched.function == trained.function:
        return False
    is_evaluated = any(
        not other.training
        and not other.grad
        and not other.backwards
        and other.location is not None
        and (other.location.file, other.location.function) == (switched.file, switched.function)
        for other in modes_of(trace, mode.path)
    )
    return is_evaluated and mode.backwards >= ENOUGH_STEPS and _is_trained(trace, mode.path)


def _is_trained(trace: Trace, path: str) -> bool:
    """Tell whether an optimizer holds parameters of a model: gradients may only pass through a frozen one."""
    return any(
        one.in_optimizer and one.module is not None and f"{one.module}.".startswith(f"{path}.")
        for census in trace.of(ParameterCensus)
        for one in census.parameters
    )
