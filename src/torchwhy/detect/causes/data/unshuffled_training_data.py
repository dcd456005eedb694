from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.questions.data.drawn_data import QUESTION
from torchwhy.detect.fixes.training.loaders import shuffled
from torchwhy.detect.views.inputs.loaders_seen import made_at, name_of, training
from torchwhy.detect.views.rehearsed.table_draws import TableDraws, table_draws
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.inputs.data_events import LabelOrder, LoaderSeen
from torchwhy.record.learning import GraphOperation
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

FEWEST_BATCHES = 4  # With fewer, an epoch is hardly more than a single step.
RUNS = 2  # Per class: sorted rows have one, and a few may come from two sorted files.
FEWER = 5.0  # Than runs in a random order: neighbours that are alike by chance do not make so few.
SEQUENTIAL = "SequentialSampler"
CLASS_LOSS = "nll_loss"  # the operation behind cross entropy, too


class SortedByLabel(Diagnosis):
    """The rows come sorted by label, in the same order in every epoch."""

    dataset: str
    classes: int
    runs: int
    expected: float
    rows: int
    single: int
    batches: int
    message = "`{dataset}` is sorted by label and not shuffled: {single} of {batches} batches hold a single class"
    advice = "pass shuffle=True to the DataLoader of the training data"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"{self.rows} labels of {self.classes} classes come in {self.runs} runs; in random order there would be "
            f"about {self.expected:.0f}",
            value=float(self.runs),
        )


class WalkedInOrder(SortedByLabel):
    """A loop without a loader walks through a table that is sorted by label."""

    advice = (
        "draw the rows in a random order, a new one in each epoch: `order = torch.randperm(len({dataset}))`, then "
        "`{dataset}[order[i : i + size]]`"
    )


class UnshuffledTrainingData(Detector):
    """Training data come sorted by label, so that whole batches hold a single class."""

    name = "unshuffled-training-data"
    question = QUESTION

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for loader in training(trace):
            if not _learns_classes(trace) or not _steps_within_epochs(trace, loader):
                continue
            diagnosis = _judged(loader)
            if diagnosis is not None:
                place = made_at(trace, loader)
                yield self.found(trace, diagnosis, severity="warning", step=0, location=place)
        drawn = table_draws(trace)
        walked = _walked(drawn) if drawn is not None and _learns_classes(trace) else None
        if drawn is not None and walked is not None:
            place = drawn.places.get("input")
            yield self.found(trace, walked, severity="warning", step=0, location=place)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        if not isinstance(finding.diagnosis, WalkedInOrder):
            yield from shuffled(finding.location, source)


def _judged(loader: LoaderSeen) -> SortedByLabel | None:
    labels, sampler = loader.labels, loader.sampler
    if labels is None or sampler is None or sampler.kind != SEQUENTIAL:
        return None
    if labels.batches < FEWEST_BATCHES or labels.runs > RUNS * labels.classes:
        return None
    expected, single = _expected_runs(labels), labels.batches - labels.mixed
    if expected < FEWER * labels.runs or 2 * single < labels.batches:
        return None
    return SortedByLabel(
        dataset=name_of(loader),
        classes=labels.classes,
        runs=labels.runs,
        expected=expected,
        rows=labels.rows,
        single=single,
        batches=labels.batches,
    )


def _walked(drawn: TableDraws) -> WalkedInOrder | None:
    if drawn.labels is None or not drawn.facts["in order"]:
        return None
    classes, runs, batches = (drawn.number(one) for one in ("classes", "runs", "batches"))
    expected, single = decode(drawn.facts["expected runs"]), batches - drawn.number("mixed")
    if batches < FEWEST_BATCHES or runs > RUNS * classes:
        return None
    if expected < FEWER * runs or 2 * single < batches:
        return None
    return WalkedInOrder(
        dataset=drawn.table,
        classes=classes,
        runs=runs,
        expected=expected,
        rows=drawn.number("rows"),
        single=single,
        batches=batches,
    )


def _learns_classes(trace: Trace) -> bool:
    """Tell whether a loss takes classes as whole numbers; others, as the ids of users, may be sorted on purpose."""
    return any(CLASS_LOSS in one.op for one in trace.of(GraphOperation))


def _expected_runs(labels: LabelOrder) -> float:
    """Return the mean number of runs of these labels in random order."""
    counted = sum(labels.counts.values())
    alike = sum((count / counted) ** 2 for count in labels.counts.values())
    return 1 + (labels.rows - 1) * (1 - alike)


def _steps_within_epochs(trace: Trace, loader: LoaderSeen) -> bool:
    """Tell whether optimizers step several times in an epoch; with one step the order makes no difference."""
    steps = max((one.step for one in trace.steps), default=0) + 1
    return steps > 2 * max(1, loader.passes)
