from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.questions.data.data_values import QUESTION
from torchwhy.detect.views.inputs.loaders_seen import made_at, name_of, training
from torchwhy.detect.views.inputs.row_repeats import no_coincidence
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding
from torchwhy.record.inputs.data_events import RowsRepeated
from torchwhy.record.trace import Trace

SHARE = 0.05  # Of the rows: real data sets hold a few rows twice.
FEWEST = 8
EVENER = 1.5  # Copies that make the classes so many times more even were made for that.


class CopiedRows(Diagnosis):
    """Some rows of the training data occur several times, and others once."""

    dataset: str
    copies: int
    rows: int
    most: int
    example: list[int]
    nearest: int
    elements: int
    message = "{copies} of the {rows} rows of `{dataset}` are exact copies of other rows"
    advice = "remove the copies before the data is split, unless they are meant to count more often"

    def evidence(self) -> Iterator[Evidence]:
        first, second = self.example
        yield Evidence(f"rows {first} and {second}, for instance, are equal in every value")
        yield Evidence(
            f"such a row differs in at least {self.nearest} of its {self.elements} values from every row that is no "
            "copy of it: the rows are not alike by chance",
            value=float(self.nearest),
        )


class Duplicates(Detector):
    """A part of the training rows occurs several times."""

    name = "duplicates"
    question = QUESTION

    def scan(self, trace: Trace) -> Iterator[Finding]:
        loaders = {one.number: one for one in training(trace)}
        for one in trace.of(RowsRepeated):
            loader = loaders.get(one.loader)
            if loader is None or not _is_partial(one) or not no_coincidence(one):
                continue
            diagnosis = CopiedRows(
                dataset=name_of(loader),
                copies=one.copies,
                rows=one.rows,
                most=one.most,
                example=one.example,
                nearest=one.nearest,
                elements=one.elements,
            )
            yield self.found(
                trace, diagnosis, severity="note", step=0, location=made_at(trace, loader)
            )
            return


def _is_partial(one: RowsRepeated) -> bool:
    """Tell whether a part of the rows is repeated.

    All rows equally often make a longer epoch; copies that even out the classes were made for that.
    """
    if one.copies < max(FEWEST, SHARE * one.rows) or one.fewest == one.most:
        return False
    return not one.balance or one.balance[1] < EVENER * one.balance[0]
