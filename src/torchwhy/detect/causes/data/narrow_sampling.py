from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.questions.data.drawn_data import QUESTION
from torchwhy.detect.views.inputs.loaders_seen import made_at, name_of, training
from torchwhy.detect.views.rehearsed.table_draws import TableDraws, table_draws, unread_offset
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, SourceSpan
from torchwhy.record.inputs.data_events import LoaderSeen
from torchwhy.record.trace import Trace
from torchwhy.source.analyses.constructors import only_call

FEWEST_ROWS = 20  # A dataset of fewer rows is drawn again and again anyway.
TIMES = 10  # An epoch draws each of its rows so often, and so many times more rows are never drawn.
FEWEST_EPOCHS = 3  # Two epochs may draw the same rows by chance if they draw most of them.
FEWEST_DRAWS = 10
FEWEST_BATCHES = (
    2  # that the rows of a table fill: a small part of the data that is meant fills more
)
WEIGHTED, RANDOM = "WeightedRandomSampler", "RandomSampler"


class WeightsTooFew(Diagnosis):
    """A sampler has fewer weights than the dataset has rows, so that the other rows are never drawn."""

    dataset: str
    rows: int
    weights: int
    message = (
        "the sampler has {weights} weights, one for each of the first {weights} rows: the other {others} of the {rows} "
        "rows of `{dataset}` are never drawn"
    )
    advice = "give the sampler one weight per row, such as class_weights[labels], not one per class"

    @property
    def others(self) -> int:
        """Return the number of rows without a weight."""
        return self.rows - self.weights


class FewRowsDrawn(Diagnosis):
    """An epoch draws the same few rows again and again."""

    dataset: str
    rows: int
    distinct: int
    draws: int
    epochs: int
    message = (
        "training draws only {distinct} of the {rows} rows of `{dataset}`, about {times} times each"
    )
    advice = "let the sampler draw from all rows: check the indices or weights that it is made from"

    @property
    def times(self) -> int:
        """Return how often an average row was drawn."""
        return round(self.draws / max(1, self.distinct))

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"{self.draws} draws in {self.epochs} epochs gave {self.distinct} different rows",
            value=float(self.distinct),
        )


class SameRowsEveryEpoch(Diagnosis):
    """A random sampler that draws a part of the rows draws the same part in every epoch."""

    dataset: str
    rows: int
    distinct: int
    epochs: int
    message = (
        "each of {epochs} epochs draws the same {distinct} of the {rows} rows of `{dataset}`, although the sampler is "
        "random: the others are never drawn"
    )
    advice = "do not set the seed of the sampler's generator anew in every epoch"


class FewRowsOfTable(Diagnosis):
    """The loop draws the same few rows of a table in ever other batches."""

    table: str
    rows: int
    distinct: int
    draws: int
    batch: int
    message = (
        "the batches hold only {distinct} of the {rows} rows of `{table}`: {draws} draws in batches of {batch} gave no "
        "other row"
    )
    advice = "draw from all rows: `torch.randint(0, len({table}), …)`"


class SameSliceEveryStep(Diagnosis):
    """The loop counts through the rows, and every batch is the same."""

    table: str
    rows: int
    distinct: int
    steps: int
    variable: str
    message = (
        "all {steps} captured batches are the same {distinct} of the {rows} rows of `{table}`: the loop counts "
        "`{variable}` through the rows, and never reads it"
    )
    advice = "take the rows from `{variable}` on: `{table}[{variable} : {variable} + {distinct}]`"


class NarrowSampling(Detector):
    """The sampler draws few of the rows, again and again, and most of them never."""

    name = "narrow-sampling"
    question = QUESTION

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for loader in training(trace):
            diagnosis = _judged(loader)
            if diagnosis is not None:
                yield self.found(
                    trace,
                    diagnosis,
                    severity="warning",
                    step=0,
                    location=_place(trace, loader, diagnosis),
                )
        drawn = table_draws(trace)
        found = None if drawn is None else _of_table(trace, drawn)
        if found is not None:
            diagnosis, place = found
            yield self.found(trace, diagnosis, severity="warning", step=0, location=place)


def _judged(loader: LoaderSeen) -> Diagnosis | None:
    sampler, rows = loader.sampler, loader.rows or 0
    if sampler is None or rows < FEWEST_ROWS or not loader.epochs:
        return None
    if sampler.weights is not None and sampler.weights < rows:
        return WeightsTooFew(dataset=name_of(loader), rows=rows, weights=sampler.weights)
    epoch = loader.epochs[0]
    if epoch.draws >= TIMES * epoch.distinct and rows >= TIMES * loader.distinct:
        return FewRowsDrawn(
            dataset=name_of(loader),
            rows=rows,
            distinct=loader.distinct,
            draws=sum(one.draws for one in loader.epochs),
            epochs=len(loader.epochs),
        )
    return _same_rows(loader, rows)


def _of_table(trace: Trace, drawn: TableDraws) -> tuple[Diagnosis, SourceSpan | None] | None:
    """Return the diagnosis of a loop without a loader, and its place."""
    rows, distinct = drawn.number("rows"), drawn.number("distinct")
    if rows < TIMES * distinct or not drawn.is_left_alone:
        return None
    if drawn.facts["same rows"]:
        counted = unread_offset(trace, drawn.places.get("loss"))
        if counted is None:
            return None  # One batch again and again may be meant: it is learned by heart.
        place, variable = counted
        steps = drawn.number("steps")
        return (
            SameSliceEveryStep(
                table=drawn.table, rows=rows, distinct=distinct, steps=steps, variable=variable
            ),
            place,
        )
    draws, batch = drawn.number("draws"), drawn.number("batch")
    is_over = distinct == drawn.number("distinct in first half") and draws >= TIMES * distinct
    if not is_over or distinct > FEWEST_BATCHES * batch:
        return None
    return (
        FewRowsOfTable(table=drawn.table, rows=rows, distinct=distinct, draws=draws, batch=batch),
        drawn.places.get("input"),
    )


def _same_rows(loader: LoaderSeen, rows: int) -> Diagnosis | None:
    """Return the diagnosis if a random sampler draws one and the same part in every epoch."""
    sampler, epochs = loader.sampler, loader.epochs
    if sampler is None or sampler.kind != RANDOM or not sampler.is_torch:
        return None
    if len(epochs) < FEWEST_EPOCHS or min(one.distinct for one in epochs) < FEWEST_DRAWS:
        return None
    is_whole = all(one.draws == sampler.draws for one in epochs)
    if not is_whole or any(one.distinct != loader.distinct for one in epochs):
        return None
    if 2 * loader.distinct > rows:
        return None
    return SameRowsEveryEpoch(
        dataset=name_of(loader), rows=rows, distinct=loader.distinct, epochs=len(epochs)
    )


def _place(trace: Trace, loader: LoaderSeen, diagnosis: Diagnosis) -> SourceSpan | None:
    """Return where the sampler is made, or else the loader."""
    kind = loader.sampler.kind if loader.sampler is not None else ""
    made = only_call(trace.files.values(), kind) if isinstance(diagnosis, WeightsTooFew) else None
    return made or made_at(trace, loader)
