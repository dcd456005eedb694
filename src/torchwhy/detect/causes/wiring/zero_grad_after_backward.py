from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.standing_questions import UPDATES
from torchwhy.detect.fixes.training import loops
from torchwhy.detect.views.parameters.trained_parameters import kind_of, place_of, where
from torchwhy.detect.views.training.source_statements import reads_gradients
from torchwhy.detect.views.training.step_calls import cleared_between, cleared_each_time
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Weights
from torchwhy.record.learning import CallSeen, ParameterCensus, StepCalls
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

ENOUGH_STEPS = 2  # A single one may be a first step that the program discards on purpose.
ENOUGH_ACCUMULATED = 3  # A GradScaler that searches for its scale skips a step or two at the start.


class ClearedBeforeStep(Diagnosis):
    """The gradients are cleared between the backward pass that made them and the step."""

    optimizer: str
    times: int
    seen_at: int
    message = "zero_grad() clears the gradients after backward and before step, so the step has none to use"
    advice = "move zero_grad() before loss.backward() or after optimizer.step()"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"the order of calls is backward, zero_grad, step in {self.times} of the first steps",
            step=self.seen_at,
        )
        yield Evidence(
            f"every gradient of {self.optimizer} is 0 or missing at these steps",
            value=0.0,
            step=self.seen_at,
        )


class OnlyLastPassCounts(Diagnosis):
    """Several backward passes lead to one step, and the gradients are cleared before each of them."""

    optimizer: str
    passes: int
    seen_at: int
    message = (
        "each step follows {passes} backward passes, but zero_grad() runs before each of them: "
        "the step uses only the gradients of the last one"
    )
    advice = "clear the gradients once per step: zero_grad() right after optimizer.step()"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"the order of calls up to step {self.seen_at} of {self.optimizer}: "
            f"{self.passes} times zero_grad, backward, and then one step",
            value=float(self.passes),
            step=self.seen_at,
        )
        yield Evidence("nothing in the program reads a gradient before it is cleared")


class ZeroGradAfterBackward(Detector):
    """The gradients are cleared after the backward pass that made them and before the step that should use them."""

    name = "zero-grad-after-backward"
    question = UPDATES
    settled = (ClearedBeforeStep,)

    def scan(self, trace: Trace) -> Iterator[Finding]:
        yield from self._cleared_before_step(trace)
        yield from self._not_accumulated(trace)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        match finding.diagnosis:
            case OnlyLastPassCounts():
                yield from loops.clear_after_step(finding.location, source)
            case ClearedBeforeStep():
                yield from loops.move_before(finding.location, source, "backward")

    def _cleared_before_step(self, trace: Trace) -> Iterator[Finding]:
        """Yield the clearing between a backward pass and its step, for each optimizer."""
        empty = {
            (sample.step, sample.optimizer)
            for sample in trace.of(Weights)
            if not any(decode(size) for size in sample.gradient_rms)
        }
        owner = {step.step: step for step in trace.steps}
        guilty: dict[int, list[tuple[int, CallSeen]]] = {}
        for calls in trace.of(StepCalls):
            step = owner.get(calls.step)
            between = cleared_between(calls.calls)
            if (
                step is not None
                and step.losses
                and between is not None
                and (step.step, step.optimizer) in empty
            ):
                guilty.setdefault(step.optimizer, []).append((step.step, between))
        for optimizer, found in guilty.items():
            if len(found) >= ENOUGH_STEPS:
                first, call = found[0]
                diagnosis = ClearedBeforeStep(
                    optimizer=_named(trace, optimizer), times=len(found), seen_at=first
                )
                yield self.found(
                    trace, diagnosis, severity="error", step=first, location=call.location
                )

    def _not_accumulated(self, trace: Trace) -> Iterator[Finding]:
        """Yield the clearing before each of several backward passes of one step, for each optimizer."""
        owner = {step.step: step.optimizer for step in trace.steps}
        unread = {
            census.optimizer
            for census in trace.of(ParameterCensus)
            if census.backwards > 1 and reads_gradients(trace) is False
        }
        found: dict[int, list[tuple[int, int, CallSeen | None]]] = {}
        for calls in trace.of(StepCalls):
            optimizer = owner.get(calls.step)
            if optimizer in unread:
                passes, cleared = cleared_each_time(calls.calls, optimizer)
                found.setdefault(optimizer, []).append((calls.step, passes, cleared))
        for optimizer, steps in found.items():
            lossy = [(step, passes, call) for step, passes, call in steps if call is not None]
            # The first step may follow a backward pass that was only a trial.
            if len(lossy) >= ENOUGH_ACCUMULATED and all(call for _, _, call in steps[1:]):
                last, passes, call = lossy[-1]
                diagnosis = OnlyLastPassCounts(
                    optimizer=_named(trace, optimizer), passes=passes, seen_at=last
                )
                yield self.found(
                    trace, diagnosis, severity="warning", step=lossy[0][0], location=call.location
                )


def _named(trace: Trace, optimizer: int) -> str:
    return f"{kind_of(trace, optimizer)}{where(place_of(trace, optimizer))}"
