from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding
from torchwhy.record.events import Alarm, Replayed
from torchwhy.record.trace import Trace

NAMES_SHOWN = 3
WAYS = {
    "in-place": "repeated in place",
    "rerun": "run again from the start with the recorded seeds",
}


class NotRepeatable(Diagnosis):
    """A step was not finite at first, but finite when it was repeated."""

    step: int
    how: str
    message = (
        "step {step} was not finite at first, but finite when it was {way}: it depends on something "
        "besides the seeds, the batch and the weights"
    )
    advice = (
        "seed every source of randomness and look for files, caches, clocks and threads that the step depends on; "
        "if the failure is still intermittent, test the memory and the device of this machine"
    )

    @property
    def way(self) -> str:
        """Return how it was repeated."""
        return WAYS.get(self.how, "repeated")


class InputsDiffer(Diagnosis):
    """A step was finite in a second run, in which other data went into it."""

    step: int
    names: list[str]
    message = (
        "step {step} was not finite at first, but finite in a second run with the recorded seeds, because {which} "
        "had other values there: the data depend on something besides the seeds"
    )
    advice = (
        "find what {which} comes from and make it the same in every run: files and caches that an earlier run left, "
        "clocks, the network, the order of a directory or a set, generators without a seed"
    )

    @property
    def which(self) -> str:
        """Return the variables that differ."""
        shown = ", ".join(f"`{name}`" for name in self.names[:NAMES_SHOWN])
        more = len(self.names) - NAMES_SHOWN
        return f"{shown} and {more} more" if more > 0 else shown


class CompiledDiffers(Diagnosis):
    """A step is not finite in compiled code, but finite in eager code."""

    step: int
    message = (
        "step {step} is not finite in compiled code, but finite when the same step runs eagerly: "
        "the compiled code computes something else"
    )
    advice = "run this part without `torch.compile`, or in float32; other backends of it show which kernel is wrong"


class IrreproducibleStep(Detector):
    """A step produced NaN or infinity, and the same step, repeated, did not."""

    name = "irreproducible-step"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for alarm in trace.alarms[:1]:
            replay = trace.replay_of(alarm.step)
            seen = any(birth.step == alarm.step for birth in trace.births)
            if replay is not None and _is_faithful(replay) and not seen:
                yield self._finding(trace, alarm, replay=replay)

    def _finding(self, trace: Trace, alarm: Alarm, *, replay: Replayed) -> Finding:
        diagnosis: Diagnosis = NotRepeatable(step=alarm.step, how=replay.how)
        if replay.eager_of_compiled:
            diagnosis = CompiledDiffers(step=alarm.step)
        elif replay.moved:
            diagnosis = InputsDiffer(step=alarm.step, names=replay.moved)
        return self.found(
            trace,
            diagnosis,
            severity="error",
            step=alarm.step,
            location=alarm.location,
            evidence=_both_times(alarm, replay),
        )


def _is_faithful(replay: Replayed) -> bool:
    """Tell whether the step was repeated with the weights it had, in place also with its data, and was finite."""
    return replay.reproduced is False and bool(replay.faithful)


def _both_times(alarm: Alarm, replay: Replayed) -> Iterator[Evidence]:
    losses = ", ".join(map(str, alarm.losses))
    words = f"{alarm.what} not finite at first; losses: {losses}"
    yield Evidence(words, step=alarm.step)
    tried = f"the step was {WAYS.get(replay.how, 'repeated')}: finite this time"
    yield Evidence(f"{tried}; {replay.detail}" if replay.detail else tried, step=replay.step)
