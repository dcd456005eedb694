from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Alarm, Replayed
from torchwhy.record.trace import Trace

WAYS = {
    "in-place": "repeated in place",
    "rerun": "run again from the start with the recorded seeds",
}


class IrreproducibleStep(Detector):
    """A step gave a NaN or infinity, and the same step, repeated, did not."""

    name = "irreproducible-step"
    needs = frozenset({"replay"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for alarm in trace.alarms[:1]:
            replay = trace.replay_of(alarm.step)
            seen = any(birth.step == alarm.step for birth in trace.births)
            if replay is not None and replay.reproduced is False and not seen:
                yield self._finding(trace, alarm, replay=replay)

    def _finding(self, trace: Trace, alarm: Alarm, *, replay: Replayed) -> Finding:
        message, title = (
            _compiled(alarm) if replay.eager_of_compiled else _not_repeatable(alarm, replay)
        )
        tried = f"the step was {WAYS.get(replay.how, 'looked at')}: finite this time"
        losses = ", ".join(map(str, alarm.losses))
        evidence = [
            Evidence(f"{alarm.what} not finite the first time; losses: {losses}", step=alarm.step),
            Evidence(f"{tried}{'; ' + replay.detail if replay.detail else ''}", step=replay.step),
        ]
        return Finding(
            detector=self.name,
            severity="error",
            message=message,
            step=alarm.step,
            rank=trace.rank,
            location=alarm.location,
            evidence=tuple(evidence),
            fixes=(Fix(title, safety="show-only"),),
        )


def _compiled(alarm: Alarm) -> tuple[str, str]:
    message = (
        f"step {alarm.step} is not finite in compiled code and finite when the same step runs eagerly: "
        "the compiled code computes something else"
    )
    title = "run this part without `torch.compile`, or in float32; other backends of it tell which kernel is to blame"
    return message, title


def _not_repeatable(alarm: Alarm, replay: Replayed) -> tuple[str, str]:
    way = WAYS.get(replay.how, "repeated")
    message = (
        f"step {alarm.step} was not finite, and finite when it was {way}: it depends on something that is "
        "not in the seeds, the batch or the weights"
    )
    title = (
        "seed every source of randomness and look for files, caches, clocks and threads the step depends on; "
        "if it still comes and goes, test the memory and the device of this machine"
    )
    return message, title
