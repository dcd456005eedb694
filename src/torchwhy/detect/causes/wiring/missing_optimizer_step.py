from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.training import loops
from torchwhy.detect.views.parameters.trained_parameters import made, program_died, steps_of, where
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import MicroscopeLeft
from torchwhy.record.trace import Trace
from torchwhy.record.wiring import IdleOptimizer
from torchwhy.source.edits import Source

ENOUGH_BACKWARDS = 3  # a shorter program is a trial of a single batch
ENOUGH_BESIDE_OTHERS = 12  # while another optimizer steps: its turn may come later, after a warm-up

ENOUGH_UNDER_SCALER = 24  # halvings that bring the largest usual scale, 65536, below 0.01


class MissingOptimizerStep(Detector):
    """Backward passes are run for the parameters of an optimizer that never makes a step."""

    name = "missing-optimizer-step"
    needs = frozenset({"idle-optimizer"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        compiled = any("compiles" in left.reason for left in trace.of(MicroscopeLeft))
        if program_died(trace) or compiled:
            return
        last = {event.optimizer: event for event in trace.of(IdleOptimizer)}
        others_step = any(step.optimizer >= 0 for step in trace.steps)
        enough = ENOUGH_BESIDE_OTHERS if others_step else ENOUGH_BACKWARDS
        for index, event in last.items():
            if steps_of(trace, index) or event.backwards < enough:
                continue
            if event.gradients and not event.changed and not _is_held_back(trace, event):
                yield self._finding(trace, event)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from loops.add_step(finding.location, source)

    def _finding(self, trace: Trace, event: IdleOptimizer) -> Finding:
        maker = made(trace, event.optimizer)
        kind = maker.kind if maker is not None else "the optimizer"
        place = maker.location if maker is not None else None
        return Finding(
            detector=self.name,
            severity="error",
            message=(
                f"backward ran at least {event.backwards} times, but {kind}{where(place)} "
                "never made a step: none of its weights has changed"
            ),
            step=0,
            rank=trace.rank,
            location=event.location,
            evidence=(
                Evidence(f"steps of {kind} in the whole run: 0", value=0.0, location=place),
                Evidence(
                    "its parameters have gradients, and their values are those they began with"
                ),
            ),
            fixes=(Fix("call optimizer.step() after loss.backward()", safety="show-only"),),
        )


def _is_held_back(trace: Trace, event: IdleOptimizer) -> bool:
    """Tell whether a GradScaler may be what keeps an optimizer from stepping: no other steps all the while.

    A scaler that finds infinities halves its scale each time, so it lets none wait as long as this.
    """
    if not event.scaled:
        return False
    others = sum(step.step <= event.step and step.optimizer >= 0 for step in trace.steps)
    return event.backwards < ENOUGH_UNDER_SCALER or 2 * others < event.backwards
