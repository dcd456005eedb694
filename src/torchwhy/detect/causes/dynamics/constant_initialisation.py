from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.standing_questions import LAYERS
from torchwhy.detect.fixes.training import initial
from torchwhy.detect.views.training.network_facts import first_census, still_symmetric, weight_names
from torchwhy.detect.views.training.overshoot import loss_curve
from torchwhy.detect.views.training.training import Training, trainings
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.learning import ParameterSeen
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source


class EqualRows(Diagnosis):
    """The rows of a hidden layer's weight start equal, bit for bit, and stay equal through all updates."""

    names: list[str]
    rows: int | None
    all_zero: bool
    learnt_nothing: bool
    message = (
        "{first}{size} started with rows that are {how}{still}: all units of the layer compute the same value "
        "and get the same gradient, so they can never differ"
    )
    advice = "initialise the weights at random (nn.init.kaiming_uniform_, xavier_uniform_); only biases may start at 0"

    @property
    def first(self) -> str:
        """Return the name of the first such weight."""
        return self.names[0]

    @property
    def size(self) -> str:
        """Return ` (64 rows)`, or nothing if the number is unknown."""
        return f" ({self.rows} rows)" if self.rows is not None else ""

    @property
    def how(self) -> str:
        """Return `all 0` or `equal`."""
        return "all 0" if self.all_zero else "equal"

    @property
    def still(self) -> str:
        """Return that the rows are still equal, if the loss did fall."""
        return "" if self.learnt_nothing else ", and still are after all updates"

    def evidence(self) -> Iterator[Evidence]:
        for name in self.names[:4]:
            yield Evidence(f"rows of {name} are equal, bit for bit, before and after the updates")


class ConstantInitialisation(Detector):
    """The weights of a hidden layer all start at the same value, so all its units compute and learn the same thing."""

    name = "constant-initialisation"
    question = LAYERS

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
        yield from initial.better(finding.location, source)

    def _finding(
        self, trace: Trace, training: Training, seen: list[ParameterSeen], names: list[str]
    ) -> Finding:
        first = next((p for p in seen if p.made_at is not None), None)
        diagnosis = EqualRows(
            names=names,
            rows=first.shape[0] if first is not None else None,
            all_zero=first is not None and first.rms == 0,
            learnt_nothing=training.never_learnt,
        )
        return self.found(
            trace,
            diagnosis,
            severity="error" if training.never_learnt or training.plateaued else "warning",
            step=training.first_step,
            location=first.made_at if first is not None else training.made.location,
            evidence=[loss_curve(training)],
        )
