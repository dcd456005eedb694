from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from torchwhy.detect.base import Detector
from torchwhy.detect.registry import all_detectors
from torchwhy.detect.views.nonfinite.birth_facts import common_evidence
from torchwhy.detect.views.nonfinite.origins import expression_of, where_it_went, word
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Alarm, Birth, MicroscopeLeft, ProbeFailed, RunStarted
from torchwhy.record.trace import Trace

FAMILIES = (".numerics.", ".machines.")
USUAL_REASON = "the first step is over"  # the microscope steps back then in every run
RECENT_LOSSES = 8  # enough to see whether the loss grew before it broke


class UnexplainedNonfinite(Detector):
    """A NaN or infinity was seen, and none of the known causes explains it."""

    name = "unexplained-nonfinite"
    needs = frozenset({"birth"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        alarm = next(iter(trace.alarms), None)
        birth = next((birth for birth in trace.births if _spoils_training(birth)), None)
        if (alarm is None and birth is None) or self._others_explain(trace):
            return
        if birth is not None and (alarm is None or not _written_behind_our_back(birth)):
            yield self._unknown_operation(trace, birth)
        elif alarm is not None:
            yield self._unseen(trace, alarm, birth)

    def _others_explain(self, trace: Trace) -> bool:
        others = (detector for name, detector in all_detectors().items() if name != self.name)
        return any(_explains_nonfinite(other, trace) for other in others)

    def _unknown_operation(self, trace: Trace, birth: Birth) -> Finding:
        value = word(birth.value)
        made = "brought in" if birth.kind == "source" else "made"
        message = (
            f"{expression_of(birth, birth.op)} {made} {value}, which went into {where_it_went(birth)}; "
            "no cause that torchwhy knows explains it"
        )
        name = birth.node or birth.op
        evidence = [
            Evidence(
                f"first seen in {name}, during {birth.phase}", value=birth.value, step=birth.step
            )
        ]
        return self._finding(
            trace,
            step=birth.step,
            message=message,
            evidence=evidence + common_evidence(trace, birth) + _what_was_tried(trace, birth.step),
            birth=birth,
        )

    def _unseen(self, trace: Trace, alarm: Alarm, birth: Birth | None) -> Finding:
        names = f" ({', '.join(alarm.names[:3])})" if alarm.names else ""
        message = (
            f"the {_what_was_bad(alarm)}{names} was not finite at step {alarm.step}, and no torch operation that was "
            "watched made it so"
        )
        evidence = _what_was_tried(trace, alarm.step)
        if birth is not None and birth.location is not None:
            fact = "this is the last torch operation that wrote there, and what it wrote was finite"
            evidence.insert(0, Evidence(fact, step=birth.step, location=birth.location))
        return self._finding(
            trace, step=alarm.step, message=message, evidence=evidence, alarm=alarm
        )

    def _finding(
        self,
        trace: Trace,
        *,
        step: int,
        message: str,
        evidence: list[Evidence],
        birth: Birth | None = None,
        alarm: Alarm | None = None,
    ) -> Finding:
        place = (
            birth.location if birth is not None else alarm.location if alarm is not None else None
        )
        title = (
            "look for what writes into tensors without torch: NumPy views, extensions, `.data_ptr()`, other threads; "
            "please report the program if it is none of these"
        )
        return Finding(
            detector=self.name,
            severity="error",
            message=message,
            step=step,
            rank=trace.rank,
            location=place,
            evidence=tuple(evidence),
            births=() if birth is None else (birth.id,),
            fixes=(Fix(title, safety="show-only"),),
        )


def _explains_nonfinite(detector: type[Detector], trace: Trace) -> bool:
    """Tell whether a detector has an error to report that is about values, not about a crash or the data's shape."""
    about_values = any(family in detector.__module__ for family in FAMILIES)
    # A detector that fails is named by whoever runs them all; here it merely has nothing to say.
    with suppress(Exception):
        return any(
            finding.severity == "error" and (about_values or finding.births)
            for finding in detector().scan(trace)
        )
    return False


def _what_was_bad(alarm: Alarm) -> str:
    return "loss read in evaluation" if alarm.what == "evaluation" else alarm.what


def _spoils_training(birth: Birth) -> bool:
    return any(
        target == "loss" or target.startswith(("gradient", "parameter", "buffer"))
        for target in birth.reaches
    )


def _written_behind_our_back(birth: Birth) -> bool:
    """Tell whether the value turned up in memory that a torch operation had left finite."""
    return birth.kind == "source" and birth.origin in ("operation", "unknown")


def _what_was_tried(trace: Trace, step: int) -> list[Evidence]:
    """Return the loss before it, how the step was looked at again, and what could not be watched."""
    losses = tuple(trace.losses()[-RECENT_LOSSES:])
    facts = []
    if losses:
        facts.append(Evidence(f"the last {len(losses)} losses", step=step, series=losses))
    replay = trace.replay_of(step)
    if replay is None:
        facts.append(Evidence("the step could not be repeated", step=step))
    else:
        again = {
            True: "it failed again",
            False: "it was finite",
            None: "there was nothing to compare with",
        }
        detail = f"; {replay.detail}" if replay.detail else ""
        facts.append(
            Evidence(
                f"looked at once more ({replay.how}): {again[replay.reproduced]}{detail}", step=step
            )
        )
    for source in (trace, trace.rerun):
        facts += _what_could_not_be_watched(source) if source else []
    return facts


def _what_could_not_be_watched(trace: Trace) -> list[Evidence]:
    left = [
        Evidence(f"the microscope stepped back: {event.reason}", step=event.step)
        for event in trace.of(MicroscopeLeft)
        if event.reason != USUAL_REASON
    ]
    failed = [
        Evidence(f"{event.probe} could not watch: {event.reason}")
        for event in trace.of(ProbeFailed)
    ]
    missing = [
        Evidence(f"{', '.join(one.left_out)} left out: {one.lost}")
        for started in trace.of(RunStarted)
        for one in started.missing
        if one.left_out
    ]
    return left + failed + missing
