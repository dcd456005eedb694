from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.training import loops
from torchwhy.detect.views.parameters.trained_parameters import made, where
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Weights
from torchwhy.record.learning import CallSeen, ParameterCensus, StepCalls
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

ENOUGH_STEPS = 2  # a single one may be a first step that was thrown away on purpose
ENOUGH_ACCUMULATED = 3  # a GradScaler that looks for its scale skips a step or two at the start


class ZeroGradAfterBackward(Detector):
    """The gradients are cleared after the backward pass that made them, and before the step that should use them."""

    name = "zero-grad-after-backward"
    needs = frozenset({"calls"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        empty = {
            (sample.step, sample.optimizer)
            for sample in trace.of(Weights)
            if not any(decode(size) for size in sample.gradient_rms)
        }
        owner = {step.step: step for step in trace.steps}
        guilty: dict[int, list[tuple[int, CallSeen]]] = {}
        for calls in trace.of(StepCalls):
            step = owner.get(calls.step)
            between = _cleared_between(calls.calls)
            if (
                step is not None
                and step.losses
                and between is not None
                and (step.step, step.optimizer) in empty
            ):
                guilty.setdefault(step.optimizer, []).append((step.step, between))
        for optimizer, found in guilty.items():
            if len(found) >= ENOUGH_STEPS:
                yield self._finding(trace, optimizer, found)
        yield from self._not_accumulated(trace)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        if finding.severity == "warning":
            yield from loops.clear_behind_step(finding.location, source)
        else:
            yield from loops.move_before(finding.location, source, "backward")

    def _not_accumulated(self, trace: Trace) -> Iterator[Finding]:
        """Yield where several backward passes lead to one step, and only the last of them counts."""
        owner = {step.step: step.optimizer for step in trace.steps}
        unread = {
            census.optimizer
            for census in trace.of(ParameterCensus)
            if census.reads_gradients is False
        }
        found: dict[int, list[tuple[int, int, CallSeen | None]]] = {}
        for calls in trace.of(StepCalls):
            optimizer = owner.get(calls.step)
            if optimizer in unread:
                passes, cleared = _cleared_each_time(calls.calls, optimizer)
                found.setdefault(optimizer, []).append((calls.step, passes, cleared))
        for optimizer, steps in found.items():
            thrown = [(step, passes, call) for step, passes, call in steps if call is not None]
            # The first may follow a backward pass that was only tried out.
            if len(thrown) >= ENOUGH_ACCUMULATED and all(call for _, _, call in steps[1:]):
                yield self._about_accumulation(trace, optimizer, thrown[-1])

    def _about_accumulation(
        self, trace: Trace, optimizer: int, last: tuple[int, int, CallSeen | None]
    ) -> Finding:
        step, passes, call = last
        maker = made(trace, optimizer)
        kind = f"{maker.kind}{where(maker.location)}" if maker is not None else "the optimizer"
        return Finding(
            detector=self.name,
            severity="warning",
            message=(
                f"each step follows {passes} backward passes, but zero_grad() comes before each of them: "
                "only the gradients of the last one are used"
            ),
            step=0,
            rank=trace.rank,
            location=call.location if call is not None else None,
            evidence=(
                Evidence(
                    f"the order of calls up to step {step} of {kind}: "
                    f"{passes} times zero_grad, backward, and then one step",
                    value=float(passes),
                    step=step,
                ),
                Evidence("nothing in the program looks at a gradient before it is cleared"),
            ),
            fixes=(
                Fix(
                    "clear the gradients once per step: zero_grad() right behind optimizer.step()",
                    safety="show-only",
                ),
            ),
        )

    def _finding(self, trace: Trace, optimizer: int, found: list[tuple[int, CallSeen]]) -> Finding:
        step, call = found[0]
        maker = made(trace, optimizer)
        kind = f"{maker.kind}{where(maker.location)}" if maker is not None else "the optimizer"
        return Finding(
            detector=self.name,
            severity="error",
            message="the gradients are cleared after backward and before step, so the step has nothing to do",
            step=step,
            rank=trace.rank,
            location=call.location,
            evidence=(
                Evidence(
                    f"the order of calls is backward, zero_grad, step in {len(found)} of the first steps",
                    step=step,
                ),
                Evidence(
                    f"every gradient of {kind} is 0 or missing at these steps", value=0.0, step=step
                ),
            ),
            fixes=(
                Fix(
                    "move zero_grad() before loss.backward(), or behind optimizer.step()",
                    safety="show-only",
                ),
            ),
        )


def _cleared_between(calls: list[CallSeen]) -> CallSeen | None:
    """Return the last `zero_grad` if it stands between the last `backward` and the step."""
    names = [call.name for call in calls]
    if "backward" not in names or "zero_grad" not in names or names[-1] != "step":
        return None
    last = len(names) - 1 - names[::-1].index("zero_grad")
    backward = len(names) - 1 - names[::-1].index("backward")
    return calls[last] if last > backward else None


def _cleared_each_time(calls: list[CallSeen], optimizer: int) -> tuple[int, CallSeen | None]:
    """Return the number of backward passes before a step, and the `zero_grad` that stands before each of them.

    None unless there are several passes, all of one line, and every one but the last was cleared by one line.
    """
    relevant = [call for call in calls if call.name in ("zero_grad", "backward")]
    backwards = [call for call in relevant if call.name == "backward"]
    clears = [
        after
        for before, after in pairwise(relevant)
        if before.name == "backward" and after.name == "zero_grad"
    ]
    ends_well = bool(relevant) and relevant[-1].name == "backward"
    is_one_line = len({_line(call) for call in backwards}) == 1 == len({_line(c) for c in clears})
    if len(backwards) < 2 or not ends_well or not is_one_line:
        return len(backwards), None
    is_all = len(clears) == len(backwards) - 1
    is_own = all(call.optimizer in (None, -1, optimizer) for call in clears)
    # What a library clears for the user is not for us to judge.
    is_plain = "zero_grad" in (clears[0].location.expression or "") if clears[0].location else False
    return len(backwards), clears[0] if is_all and is_own and is_plain else None


def _line(call: CallSeen) -> tuple[str, int] | None:
    return (call.location.file, call.location.line) if call.location is not None else None
