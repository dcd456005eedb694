from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.views.nonfinite.birth_facts import finding_from
from torchwhy.detect.views.nonfinite.origins import (
    Spoiled,
    is_about_weights,
    sources,
    where_it_went,
    word,
)
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding
from torchwhy.record.events import Birth
from torchwhy.record.numbers import Real
from torchwhy.record.trace import Trace


class BadWeight(Diagnosis):
    """A parameter or buffer was not finite before the step began."""

    name: str
    value: Real
    went_into: Spoiled
    step: int
    message = "{name} already contained {what} when step {step} began; it reached {went_into}"
    advice = "load a checkpoint from before {name} became non-finite, or reset it; check it with `torch.isfinite`"

    @property
    def what(self) -> str:
        return word(self.value)

    def evidence(self) -> Iterator[Evidence]:
        claim = f"no update of this run wrote {self.what} into {self.name}"
        yield Evidence(claim, value=self.value, step=self.step)


class BadOptimizerState(BadWeight):
    """The state of the optimizer was not finite before the step began."""

    advice = (
        "load an optimizer state from before it became non-finite, or start with a fresh optimizer"
    )


class NonfiniteWeights(Detector):
    """A parameter or buffer already contained a NaN or an infinity before the step began."""

    name = "nonfinite-weights"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for birth in sources(trace, "parameter", "buffer", "array", "unknown"):
            if is_about_weights(trace, birth) and not _written_by_this_run(trace, birth):
                kind = BadOptimizerState if _is_state(birth) else BadWeight
                diagnosis = kind(
                    name=_name(trace, birth),
                    value=birth.value,
                    went_into=where_it_went(birth),
                    step=birth.step,
                )
                yield finding_from(trace, birth, detector=self.name, diagnosis=diagnosis)


def _name(trace: Trace, birth: Birth) -> str:
    """Return the weight by its own name, or by the name that the alarm gives."""
    if _is_state(birth):
        return "the optimizer's state"
    kind = "buffer" if birth.origin == "buffer" else "parameter"
    found = [name for alarm in trace.alarms[:1] for name in alarm.names]
    own = birth.origin_name if birth.origin in ("parameter", "buffer") else None
    name = own or (found[0] if found else None)
    return f"{kind} `{name}`" if name else f"a {kind}"


def _is_state(birth: Birth) -> bool:
    """Tell whether an update read the value from the optimizer's state: it is neither a weight nor a gradient."""
    return birth.phase == "update" and birth.origin in ("array", "unknown")


def _written_by_this_run(trace: Trace, birth: Birth) -> bool:
    return bool(birth.parents) or any(
        earlier.phase == "update" and (earlier.step, earlier.order) < (birth.step, birth.order)
        for earlier in trace.births
    )
