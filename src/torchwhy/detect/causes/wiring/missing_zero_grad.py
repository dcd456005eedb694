from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.standing_questions import UPDATES
from torchwhy.detect.fixes.sizes import statements
from torchwhy.detect.fixes.training import loops
from torchwhy.detect.views.training.source_statements import clears_gradients, uncalled
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix, SourceSpan
from torchwhy.record.learning import ManualUpdate, StaleGradients
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

ENOUGH_TIMES = (
    3  # One leftover may come from a restart or a warm-up pass, three come from the loop.
)
SETTLED_TIMES = (
    16  # No warm-up is that long, and the first 24 steps, which are watched closely, show as many.
)
MANUAL_UPDATES = (
    -1
)  # The index of an optimizer that updates in the program's own code are recorded with.


class LeftoverGradients(Diagnosis):
    """Steps use gradients that an earlier step has used; `uncalled` names `zero_grad` without calling it."""

    update: str
    used_at: int
    cleared_ever: bool
    clears_somewhere: bool
    uncalled: str | None
    times: int
    last_step: int
    added_at: SourceSpan | None
    message = (
        "`{update}` ran on gradients left over from step {used_at} (0 clears since then); {habit}"
    )
    advice = "clear the gradients once per step: optimizer.zero_grad() before loss.backward()"

    @property
    def habit(self) -> str:
        """Return how often the program clears them, as far as it was watched."""
        if self.cleared_ever:
            return "the program clears them only now and then"
        if self.clears_somewhere:
            return f"nothing cleared them up to step {self.last_step}"
        return "the program never clears them"

    def evidence(self) -> Iterator[Evidence]:
        if self.uncalled is not None:
            yield Evidence(f"`{self.uncalled}` names the method without calling it")
        yield Evidence(
            f"until step {self.last_step}, {self.times} backward passes added to "
            "gradients that a step had already used",
            value=float(self.times),
            step=self.last_step,
            location=self.added_at,
        )


class MissingZeroGrad(Detector):
    """A step uses gradients that an earlier step has already used, because nothing cleared them in between."""

    name = "missing-zero-grad"
    question = UPDATES
    settled = (LeftoverGradients,)

    def scan(self, trace: Trace) -> Iterator[Finding]:
        events: dict[int, list[StaleGradients]] = {}
        for event in trace.of(StaleGradients):
            events.setdefault(event.optimizer, []).append(event)
        for found in events.values():
            last = found[-1]
            # A loop that clears now and then is reported only if most of its steps use leftover gradients.
            rare = last.cleared_ever and last.times < last.step / 2
            if last.times >= ENOUGH_TIMES and not rare:
                yield self._leftover(trace, found[0], last)

    def is_settled(self, diagnosis: Diagnosis) -> bool:
        match diagnosis:
            case LeftoverGradients(cleared_ever=False, times=times):
                return times >= SETTLED_TIMES
        return False

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from statements.called(finding.location, source)
        yield from loops.clear_gradients(finding.location, source)

    def _leftover(self, trace: Trace, first: StaleGradients, last: StaleGradients) -> Finding:
        location = first.stepped_at or first.location
        if first.optimizer == MANUAL_UPDATES:
            update = next(iter(trace.of(ManualUpdate)), None)
            location = update.location if update is not None else first.location
        named = uncalled(trace, "zero_grad") if not last.cleared_ever else None
        diagnosis = LeftoverGradients(
            update=(location.expression if location is not None else None) or "the update",
            used_at=first.used_at_step,
            cleared_ever=last.cleared_ever,
            clears_somewhere=clears_gradients(trace),
            uncalled=named.expression if named is not None else None,
            times=last.times,
            last_step=last.step,
            added_at=last.location or first.location,
        )
        return self.found(
            trace, diagnosis, severity="error", step=first.step, location=named or location
        )
