from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.training import initial
from torchwhy.detect.views.training.looks import first_census, still_symmetric, weight_names
from torchwhy.detect.views.training.overshoot import loss_curve
from torchwhy.detect.views.training.training import Training, trainings
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.learning import ParameterSeen
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source


class ConstantInitialisation(Detector):
    """The weights of a hidden layer all start at the same value, so all its units compute and learn the same."""

    name = "constant-initialisation"
    needs = frozenset({"census", "symmetry"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        if trace.alarms:
            return
        for training in trainings(trace):
            equal = still_symmetric(trace, training)
            hidden = [name for name in equal if name in weight_names(training)[:-1]]
            if hidden and training.moved() > 0:
                seen = first_census(trace, training)
                yield self._finding(
                    trace, training, [seen[name] for name in hidden if name in seen], hidden
                )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from initial.better(finding, source)

    def _finding(
        self, trace: Trace, training: Training, seen: list[ParameterSeen], names: list[str]
    ) -> Finding:
        first = next((p for p in seen if p.made_at is not None), None)
        rows = f" ({first.shape[0]} rows)" if first is not None else ""
        kind = "all 0" if first is not None and first.rms == 0 else "equal"
        still = "" if training.never_learnt else ", and still are after all updates"
        return Finding(
            detector=self.name,
            severity="error" if training.never_learnt or training.rests else "warning",
            message=(
                f"{names[0]}{rows} started with rows that are {kind}{still}: all units of the layer compute the same "
                "and get the same gradient, so they can never become different"
            ),
            step=0,
            rank=trace.rank,
            location=first.made_at if first is not None else training.made.location,
            evidence=(
                *(
                    Evidence(f"rows of {name} are equal, bit for bit, before and after the updates")
                    for name in names[:4]
                ),
                loss_curve(training),
            ),
            fixes=(
                Fix(
                    title="draw the weights at random (nn.init.kaiming_uniform_, xavier_uniform_); "
                    "only biases may start at 0",
                    safety="show-only",
                ),
            ),
        )
