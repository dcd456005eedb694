from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.standing_questions import UPDATES
from torchwhy.detect.fixes.sizes import statements
from torchwhy.detect.views.parameters.trained_parameters import (
    ENOUGH_UPDATES,
    kind_of,
    place_of,
    steps_of,
)
from torchwhy.detect.views.training.source_statements import uncalled
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix, SourceSpan
from torchwhy.record.events import OptimizerMade, RunEnded, Weights
from torchwhy.record.learning import ForwardModes, ParameterCensus, StepCalls
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source


class StepsWithoutBackward(Diagnosis):
    """An optimizer steps and no backward pass runs; `uncalled` names `backward` without calling it."""

    optimizer: str
    steps: int
    first_step: int
    uncalled: str | None
    message = (
        "{optimizer} made {steps} steps, but no backward pass ran{since}: "
        "the steps have no gradients to use"
    )
    advice = "call loss.backward() before optimizer.step()"

    @property
    def since(self) -> str:
        """Return the optimizer's first step, if it is not the program's."""
        return f" since its first, step {self.first_step}" if self.first_step else ""

    def evidence(self) -> Iterator[Evidence]:
        if self.uncalled is not None:
            yield Evidence(f"`{self.uncalled}` names the method without calling it")
        yield Evidence(
            "none of its parameters ever had a gradient, and all have their initial values",
            value=0.0,
        )


class MissingBackward(Detector):
    """The optimizer makes steps, but `backward()` is never called."""

    name = "missing-backward"
    question = UPDATES

    def scan(self, trace: Trace) -> Iterator[Finding]:
        # When optimizers share a backward pass, only the first one's step records the loss; on some devices none does.
        ran = [step.step for step in trace.steps if step.losses]
        ran += [
            event.step
            for event in trace.of(StepCalls)
            if any(call.name == "backward" for call in event.calls)
        ]
        last = max(ran, default=-1)
        named = uncalled(trace, "backward")
        for event in trace.of(OptimizerMade):
            steps = steps_of(trace, event.index)
            if len(steps) < ENOUGH_UPDATES or not last < steps[0].step:
                continue
            if not _nothing_moved(trace, event.index):
                continue
            if named is not None or _is_at_work(trace, event.index):
                diagnosis = StepsWithoutBackward(
                    optimizer=kind_of(trace, event.index),
                    steps=len(steps),
                    first_step=steps[0].step,
                    uncalled=named.expression if named is not None else None,
                )
                yield self.found(
                    trace,
                    diagnosis,
                    severity="error",
                    step=steps[0].step,
                    location=named or _place_of_step(trace, event.index),
                )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from statements.called(finding.location, source)


def _is_at_work(trace: Trace, optimizer: int) -> bool:
    """Tell whether the program computes with an optimizer's parameters from step to step.

    An optimizer that only carries a schedule, to plot it or for updates by other means, needs no backward pass.
    """
    own = [
        one
        for observation in (trace, *trace.later_observations)
        for census in observation.of(ParameterCensus)
        for one in census.parameters
        if census.optimizer == optimizer and one.in_optimizer
    ]
    used = [one for one in own if one.used and one.requires_grad]
    if own and not used:
        return False
    # Parameters outside modules show in no forward pass of a module, and a killed program has not recorded any.
    if any(one.owner is None for one in used) or not trace.of(RunEnded):
        return True
    return any(_forwards_since(trace, optimizer))


def _forwards_since(trace: Trace, optimizer: int) -> Iterator[ForwardModes]:
    """Yield the places where a model ran with its graph between an optimizer's steps."""
    first = steps_of(trace, optimizer)[0].step
    for mode in trace.of(ForwardModes):
        if mode.grad and mode.steps >= ENOUGH_UPDATES - 1 and mode.last_step > first:
            yield mode


def _nothing_moved(trace: Trace, optimizer: int) -> bool:
    """Tell whether no record of an optimizer's weights shows a gradient or a change."""
    samples = [one for one in trace.of(Weights) if one.optimizer == optimizer]
    return (
        len(samples) > 1
        and all(not decode(size) for one in samples for size in one.gradient_rms)
        and all(one.weight_rms == samples[0].weight_rms for one in samples)
    )


def _place_of_step(trace: Trace, optimizer: int) -> SourceSpan | None:
    own = {step.step for step in steps_of(trace, optimizer)}
    calls = [call for event in trace.of(StepCalls) if event.step in own for call in event.calls]
    steps = [
        call.location
        for call in calls
        if call.name == "step" and call.optimizer in (None, optimizer)
    ]
    # Calls are not recorded for the steps of a later observation.
    forwards = [one.location for one in _forwards_since(trace, optimizer) if not one.backwards]
    return next(iter([*steps, *forwards]), place_of(trace, optimizer))
