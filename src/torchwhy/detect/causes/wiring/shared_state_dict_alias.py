from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.standing_questions import KEPT_WEIGHTS
from torchwhy.detect.fixes.models import modules
from torchwhy.detect.views.parameters.trained_parameters import where
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix, SourceSpan
from torchwhy.record.trace import Trace
from torchwhy.record.wiring import AliasLoaded
from torchwhy.source.edits import Source


class LiveWeightsKept(Diagnosis):
    """A variable that should keep older weights refers to the memory of the live model."""

    variable: str
    taken_at: int
    loaded_at: int
    tensors: int
    loading: SourceSpan | None
    message = (
        "`{variable}` is not a copy of the weights: it changed with the model "
        "in the {steps} steps before it was loaded back"
    )
    advice = "keep a copy: copy.deepcopy(model.state_dict())"

    @property
    def steps(self) -> int:
        """Return the number of steps in between."""
        return self.loaded_at - self.taken_at

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"when it was loaded{where(self.loading)}, {self.tensors} of its "
            "tensors were in the memory of the model itself",
            value=float(self.tensors),
            step=self.loaded_at,
            location=self.loading,
        )


class SharedStateDictAlias(Detector):
    """The weights that the program saved to restore later are the live weights themselves."""

    name = "shared-state-dict-alias"
    question = KEPT_WEIGHTS
    symptom = "evaluation"
    settled = (LiveWeightsKept,)

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for event in trace.of(AliasLoaded)[:1]:
            diagnosis = LiveWeightsKept(
                variable=event.name,
                taken_at=event.taken_step,
                loaded_at=event.step,
                tensors=event.tensors,
                loading=event.location,
            )
            yield self.found(
                trace,
                diagnosis,
                severity="error",
                step=event.taken_step,
                location=event.taken_at or event.location,
            )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from modules.copied_weights(finding.location, source)
