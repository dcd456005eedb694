"""Does the sampler draw all rows, in a fit order?"""

from __future__ import annotations

from torchwhy.detect.checks.asked_question import ask
from torchwhy.detect.checks.questions.data.evaluation_data import PROBES
from torchwhy.detect.checks.recorded_facts import Need
from torchwhy.detect.views.inputs.loaders_seen import training
from torchwhy.detect.views.rehearsed.table_draws import table_draws
from torchwhy.diagnosis import Diagnosis
from torchwhy.record.inputs.data_events import SAMPLER_QUESTION
from torchwhy.record.trace import Trace

DRAWN = Need(
    lambda trace: any(one.epochs for one in training(trace)) or table_draws(trace) is not None,
    "no loader that draws rows by index was seen in training, and no table that batches are taken from",
    probes=PROBES,
)


class RowsDrawn(Diagnosis):
    """How many rows of a dataset were drawn in the epochs that were counted, and how often each class."""

    rows: int
    distinct: int
    epochs: int
    smallest_class: int
    largest_class: int
    message = "{distinct} of {rows} rows drawn in {shown}{balance}"

    @property
    def shown(self) -> str:
        """Return the number of epochs in words."""
        return f"{self.epochs} epoch" + ("s" if self.epochs != 1 else "")

    @property
    def balance(self) -> str:
        """Return how many rows the classes have, if there are some."""
        if not self.largest_class:
            return ""
        return f"; {self.smallest_class} to {self.largest_class} rows per class"


class TableRowsDrawn(Diagnosis):
    """How many rows of a table the captured batches of a loop without a loader hold."""

    table: str
    rows: int
    distinct: int
    steps: int
    message = "{distinct} of {rows} rows of `{table}` drawn in {steps} captured batches"


def _measured(trace: Trace) -> Diagnosis | None:
    drawn = table_draws(trace)
    if drawn is not None:
        return TableRowsDrawn(
            table=drawn.table,
            rows=drawn.number("rows"),
            distinct=drawn.number("distinct"),
            steps=drawn.number("steps"),
        )
    loader = next(one for one in training(trace) if one.epochs)
    counts = list(loader.labels.counts.values()) if loader.labels is not None else []
    return RowsDrawn(
        rows=loader.rows or 0,
        distinct=loader.distinct,
        epochs=len(loader.epochs),
        smallest_class=min(counts, default=0),
        largest_class=max(counts, default=0),
    )


QUESTION = ask(
    SAMPLER_QUESTION,
    "Does the sampler draw all rows, in a mixed order?",
    DRAWN,
    by=_measured,
    in_rehearsal=True,
)
