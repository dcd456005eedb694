from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.questions.data.data_values import QUESTION
from torchwhy.detect.views.inputs.loaders_seen import made_at, name_of, training
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding
from torchwhy.record.inputs.data_events import FieldSeen, LoaderSeen
from torchwhy.record.learning import ModelOutput
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace

FEWEST_ROWS = 50  # A column of a rare event may have one value in fewer rows.
MOST_SHOWN = 4
ON_PURPOSE = (0.0, 1.0)  # Padding, a category that is absent here, a column for the bias.
ROUNDING = 1e-9  # Relative deviation of a column whose values are all the same, in float64.


class ColumnsConstant(Diagnosis):
    """Some columns of a table hold one value in all rows, while the others vary."""

    dataset: str
    field: str
    columns: list[int]
    values: list[float]
    total: int
    rows: int
    message = (
        "{which} of {field} of `{dataset}` {verb} the same value in all {rows} rows that were "
        "looked at: {shown}"
    )
    advice = "read the column again from its source; if it is constant there, too, leave it out"

    @property
    def which(self) -> str:
        """Return the columns in words."""
        numbers = ", ".join(map(str, self.columns[:MOST_SHOWN]))
        more = " and others" if len(self.columns) > MOST_SHOWN else ""
        return f"column{'s' if len(self.columns) > 1 else ''} {numbers}{more} (of {self.total})"

    @property
    def verb(self) -> str:
        """Return `has` or `each have`."""
        return "each have" if len(self.columns) > 1 else "has"

    @property
    def shown(self) -> str:
        """Return the values of these columns."""
        return ", ".join(f"{value:.4g}" for value in self.values[:MOST_SHOWN])


INPUT_AND_TARGET = 2


class RowsEqual(Diagnosis):
    """All rows of a field are the same, while another field varies from row to row."""

    dataset: str
    field: str
    other: str
    rows: int
    total: int
    message = (
        "{field} of `{dataset}` is the same in all {rows} rows that were looked at, while {other} differs: "
        "the data set returns one sample for every index"
    )
    advice = "check __getitem__: it must use its index for the inputs, too"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(f"each of the {self.total} numbers of a row has one value in all rows")


class ConstantFeature(Detector):
    """A column of the inputs has one and the same value in every row."""

    name = "constant-feature"
    question = QUESTION

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for loader in training(trace):
            equal = _rows_equal(loader)
            if equal is not None and not _gets_other_rows(trace):
                yield self.found(
                    trace, equal, severity="error", step=0, location=made_at(trace, loader)
                )
                return
            for field in loader.fields:
                diagnosis = _judged(loader, field)
                if diagnosis is not None:
                    yield self.found(
                        trace, diagnosis, severity="note", step=0, location=made_at(trace, loader)
                    )
                    return


def _gets_other_rows(trace: Trace) -> bool:
    """Tell whether the rows that the model is trained on differ, so that the program computes them of a batch."""
    return any(one.grad and decode(one.input_spread) > 0 for one in trace.of(ModelOutput))


def _rows_equal(loader: LoaderSeen) -> RowsEqual | None:
    """Return the field whose rows are all equal: measured numbers, beside the only other field, which varies.

    With a third field, such as the function beside its grid, the first one may be the same for all; so may a grid
    beside as many values, such as the times of a series.
    """
    if len(loader.fields) != INPUT_AND_TARGET:
        return None
    varying = [
        one for one in loader.fields if one.rows >= FEWEST_ROWS and decode(one.deviation) > 0
    ]
    for field in varying:
        spreads = [decode(one) for one in field.column_deviations]
        means = [decode(one) for one in field.column_means]
        is_equal = len(spreads) > 1 and all(
            spread <= ROUNDING * abs(mean) for spread, mean in zip(spreads, means, strict=True)
        )
        others = [one for one in varying if any(decode(d) > 0 for d in one.column_deviations)]
        is_grid = any(one.columns == field.columns for one in others)
        if (
            is_equal
            and others
            and not is_grid
            and not field.whole
            and field.path == loader.fields[0].path
        ):
            return RowsEqual(
                dataset=name_of(loader),
                field=field.path,
                other=others[0].path,
                rows=field.rows,
                total=len(spreads),
            )
    return None


def _judged(loader: LoaderSeen, field: FieldSeen) -> ColumnsConstant | None:
    """Return the columns, if fewer than half of a table of measured numbers are constant, none of them 0 or 1."""
    if field.whole or field.rows < FEWEST_ROWS or len(field.column_means) < 2:
        return None
    means = [decode(one) for one in field.column_means]
    spreads = [decode(one) for one in field.column_deviations]
    constant = [n for n, one in enumerate(spreads) if one <= ROUNDING * abs(means[n])]
    found = [n for n in constant if round(means[n], 9) not in ON_PURPOSE]
    if not found or 2 * len(constant) >= len(means):
        return None
    return ColumnsConstant(
        dataset=name_of(loader),
        field=field.path,
        columns=found,
        values=[means[n] for n in found],
        total=len(means),
        rows=field.rows,
    )
