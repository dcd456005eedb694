from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.sizes import statements
from torchwhy.detect.fixes.training import loops
from torchwhy.detect.views.parameters.trained_parameters import uncalled
from torchwhy.finding import Evidence, Finding, Fix, SourceSpan
from torchwhy.record.learning import ManualUpdate, StaleGradients
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

ENOUGH_TIMES = (
    3  # one leftover may be a restart or a warm-up pass; three in a run are the loop itself
)
BY_HAND = -1


class MissingZeroGrad(Detector):
    """A step uses gradients that an earlier step has used already, because nobody cleared them in between."""

    name = "missing-zero-grad"
    needs = frozenset({"stale-gradients"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        events: dict[int, list[StaleGradients]] = {}
        for event in trace.of(StaleGradients):
            events.setdefault(event.optimizer, []).append(event)
        for found in events.values():
            last = found[-1]
            # A loop that clears now and then is reported only if most of its steps run on leftovers.
            rare = last.cleared_ever and last.times < last.step / 2
            if last.times >= ENOUGH_TIMES and not rare:
                yield self._finding(trace, found)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from statements.called(finding.location, source)
        yield from loops.clear_gradients(finding.location, source)

    def _finding(self, trace: Trace, events: list[StaleGradients]) -> Finding:
        first, last = events[0], events[-1]
        location = first.stepped_at or first.location
        if first.optimizer == BY_HAND:
            update = next(iter(trace.of(ManualUpdate)), None)
            location = update.location if update is not None else first.location
        call = location.expression if location is not None and location.expression else "the update"
        named = uncalled(trace, "zero_grad") if not last.cleared_ever else None
        never = (
            "nobody ever clears them"
            if not last.cleared_ever
            else "they are cleared only now and then"
        )
        return Finding(
            detector=self.name,
            severity="error",
            message=(
                f"`{call}` ran on gradients left over from step {first.used_at_step} "
                f"(0 clears since then); {never}"
            ),
            step=first.step,
            rank=trace.rank,
            location=named or location,
            evidence=(
                *_without_brackets(named),
                Evidence(
                    f"until step {last.step}, {last.times} backward passes added to "
                    "gradients that a step had used already",
                    value=float(last.times),
                    step=last.step,
                    location=last.location or first.location,
                ),
            ),
            fixes=(
                Fix(
                    "clear the gradients once per step: optimizer.zero_grad() before loss.backward()",
                    safety="show-only",
                ),
            ),
        )


def _without_brackets(named: SourceSpan | None) -> list[Evidence]:
    if named is None:
        return []
    return [Evidence(f"`{named.expression}` names the method and does not call it")]
