from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.models import modules
from torchwhy.detect.views.parameters.trained_parameters import where
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.trace import Trace
from torchwhy.record.wiring import AliasLoaded
from torchwhy.source.edits import Source


class SharedStateDictAlias(Detector):
    """Weights that were kept to be restored later are the living weights themselves."""

    name = "shared-state-dict-alias"
    symptom = "evaluation"
    needs = frozenset({"alias-loaded"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for event in trace.of(AliasLoaded)[:1]:
            passed = event.step - event.taken_step
            yield Finding(
                detector=self.name,
                severity="error",
                message=(
                    f"`{event.name}` is no copy of the weights: it changed with the model "
                    f"in the {passed} steps until it was loaded back"
                ),
                step=event.taken_step,
                rank=trace.rank,
                location=event.taken_at or event.location,
                evidence=(
                    Evidence(
                        f"when it was loaded{where(event.location)}, {event.tensors} of its "
                        "tensors were the memory of the model itself",
                        value=float(event.tensors),
                        step=event.step,
                        location=event.location,
                    ),
                ),
                fixes=(Fix("keep a copy: copy.deepcopy(model.state_dict())", safety="show-only"),),
            )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from modules.copied_weights(finding.location, source)
