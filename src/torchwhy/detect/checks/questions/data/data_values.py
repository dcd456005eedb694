"""What is the data like? Facts about the values, most of which harm nothing: they are listed and not judged."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.checks.asked_question import ask
from torchwhy.detect.checks.questions.data.evaluation_data import PROBES
from torchwhy.detect.checks.recorded_facts import Need
from torchwhy.detect.views.inputs.loaders_seen import training
from torchwhy.diagnosis import Diagnosis
from torchwhy.record.inputs.data_events import VALUES_QUESTION, FieldSeen, LabelOrder
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace

FAR = 10.0  # Standard deviations from the mean of its column; of a normal variable none is as far away.
UNEVEN = 10.0  # The largest class over the smallest.

VALUES = Need(
    lambda trace: any(one.fields for one in training(trace)),
    "no batch of a loader was seen in training",
    probes=PROBES,
)


class DataSeen(Diagnosis):
    """The range of each field, and what is unusual in it."""

    fields: list[str]
    message = "{shown}"

    @property
    def shown(self) -> str:
        """Return the fields one after another."""
        return "; ".join(self.fields)


def _measured(trace: Trace) -> Diagnosis | None:
    loader = next(one for one in training(trace) if one.fields)
    labels = loader.labels
    shown = [
        _described(field) for field in loader.fields if labels is None or field.path != labels.path
    ]
    if labels is not None:
        shown.append(_classes(labels))
    return DataSeen(fields=shown)


def _described(field: FieldSeen) -> str:
    """Return a field in words: `batch[0] float32 from -3.1 to 4.2, 2 of 8 columns constant`."""
    low, high = decode(field.minimum), decode(field.maximum)
    return ", ".join([f"{field.path} {field.dtype} from {low:.3g} to {high:.3g}", *_unusual(field)])


def _unusual(field: FieldSeen) -> Iterator[str]:
    if field.constant_columns and field.columns > 1:
        yield f"{field.constant_columns} of {field.columns} columns constant"
    farthest = decode(field.farthest)
    if not field.whole and farthest >= FAR:
        yield f"a value {farthest:.3g} standard deviations from its mean"


def _classes(labels: LabelOrder) -> str:
    counts = list(labels.counts.values())
    text = f"{labels.path} {labels.classes} classes"
    if max(counts) >= UNEVEN * min(counts):
        return f"{text}, {min(counts)} to {max(counts)} rows each"
    return text


QUESTION = ask(
    VALUES_QUESTION,
    "What is the data like?",
    VALUES,
    by=_measured,
    in_rehearsal=True,
)
