"""What loaders handed out: the rows that they drew, the values in them, and rows that two loaders share.

A loader is named by its `number`. `trains` and `evaluates` say what its batches were for: whether an optimizer stepped
between two of them.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from torchwhy.finding import SourceSpan
from torchwhy.record.event import Event
from torchwhy.record.numbers import Real

# The questions of `torchwhy check` about the data, by which causes find the answers of experiments.
EVALUATION_QUESTION = "evaluation-data"
SAMPLER_QUESTION = "sampler"
VALUES_QUESTION = "data-values"
WORKERS_QUESTION = "worker-randomness"


class FieldSeen(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One tensor of the batches, over some rows of the dataset: `batch[0]`, `batch['image']`.

    `shape` is that of one row. `means` and `deviations` are those of a few groups of rows, `quantiles` nine of all
    values. `whole` means that all values are whole numbers. `constant_columns` counts columns with one value in all
    rows; `farthest` is the largest distance from the mean, in standard deviations of its column. A table of a few
    columns has the mean and standard deviation of each.
    """

    path: str
    dtype: str
    shape: list[int]
    rows: int
    mean: Real
    deviation: Real
    minimum: Real
    maximum: Real
    means: list[Real] = []
    deviations: list[Real] = []
    quantiles: list[Real] = []
    whole: bool = False
    columns: int = 0
    constant_columns: int = 0
    farthest: Real = 0.0
    column_means: list[Real] = []
    column_deviations: list[Real] = []


class LabelOrder(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The labels in the order in which a loader handed them out for the first time.

    `counts` holds the rows of the most frequent classes, `runs` the number of stretches of equal labels. `mixed` counts
    the batches of `batches` that hold more than one label.
    """

    path: str
    rows: int
    classes: int
    counts: dict[str, int]
    runs: int
    batches: int
    mixed: int


class SamplerSeen(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A loader's sampler: its class, and the settings of those that torch ships."""

    kind: str
    is_torch: bool
    replacement: bool = False
    draws: int | None = None  # per epoch, if it says so
    weights: int | None = None
    batch_size: int | None = None
    drop_last: bool = False
    shuffles: bool | None = None  # what a DistributedSampler was told
    parts: int | None = None  # into which a DistributedSampler divides the rows, one for each rank
    part: int | None = None  # the one it draws


class EpochDrawn(msgspec.Struct, frozen=True):
    """One pass over a loader: how many rows it drew, how many different ones, and whether in ascending order.

    Passes of a DistributedSampler that drew the same rows in the same order have the same `order`. `trains` is whether
    it fed training.
    """

    draws: int
    distinct: int
    ascending: bool
    order: str = ""
    trains: bool = False


class PositionSeen(Event, frozen=True, tag="position"):
    """The epoch and the batch of a step that failed, as the program's own loops count them.

    `first_batch` is the first batch of a step that has several; `batch` is then the last one.
    """

    step: int
    epoch: int
    batch: int
    first_batch: int | None = None


class LoaderSeen(Event, frozen=True, tag="loader"):
    """One loader in the whole run; written when the program ends.

    `rows` is the length of its dataset, None for a stream. `after` are the loaders that had trained last when it
    was used for evaluation. `epochs` are its first passes and `passes` counts all.
    `distinct` counts the different rows of these epochs; `largest_share` is the share of the row drawn most often.
    `name` is the variable that holds the dataset, `variables` those that hold the loader. `places` are the statement
    that draws its batches and the calls that led there, innermost first. In a run with several ranks, `contents` are
    digests of its first batches.
    """

    number: int
    dataset: str
    name: str | None = None
    variables: list[str] = []
    rows: int | None = None
    workers: int = 0
    trains: bool = False
    evaluates: bool = False
    after: list[int] = []
    passes: int = 0
    sampler: SamplerSeen | None = None
    epochs: list[EpochDrawn] = []
    distinct: int = 0
    largest_share: float = 0.0
    fields: list[FieldSeen] = []
    labels: LabelOrder | None = None
    places: list[SourceSpan] = []
    contents: list[str] = []


class RowsShared(Event, frozen=True, tag="rows-shared"):
    """Rows that were drawn for training by one loader and for evaluation by another.

    `shared` counts the `evaluated` rows that are among the `trained` ones, by index in a dataset that both draw from,
    or by content. `one_dataset` means that both have the very same dataset and differ in their samplers. `repeated`
    counts the training rows whose content occurs in another training row, too.
    """

    training: int
    evaluation: int
    by: Literal["index", "content"]
    evaluated: int
    trained: int
    shared: int
    repeated: int = 0
    one_dataset: bool = False


class RowChanged(Event, frozen=True, tag="row-changed"):
    """A row of a loader that had other values when it was read again.

    `step` counts the optimizer steps before. `kept` names the fields that were the same both times and differ between
    rows, so that both readings are of one and the same sample.
    """

    step: int
    loader: int
    index: int
    changed: list[str]
    kept: list[str] = []
    location: SourceSpan | None = None


class WorkersCompared(Event, frozen=True, tag="workers-compared"):
    """Two workers of a loader read the same row twice each, as an experiment.

    `is_random` is whether one worker read other values the second time, `is_repeated` whether both read the same ones.
    """

    step: int
    loader: int
    row: int
    is_random: bool
    is_repeated: bool
    location: SourceSpan | None = None


class RowsRepeated(Event, frozen=True, tag="rows-repeated"):
    """Rows of a dataset that trains whose content, element for element, occurs in an earlier row, too.

    `copies` counts them among `rows`; `fewest` and `most` are how often inputs occur. `nearest` is in how many of its
    `elements` a repeated row differs from the row that is most like it and no copy: where values are few, rows
    coincide by chance, and nearly coincide more often still. `balance` is the size of the largest class over that of
    the smallest, with the copies and without them. `contradicting` counts the rows whose inputs are those of another
    row with another label, `recurring` all rows whose inputs occur several times. `example` and `contradiction` are
    the indices of two such rows.
    """

    loader: int
    rows: int
    elements: int
    copies: int
    fewest: int
    most: int
    nearest: int
    example: list[int] = []
    balance: list[float] = []
    contradicting: int = 0
    recurring: int = 0
    contradiction: list[int] = []
    labels: list[int] = []


class RowsOrdered(Event, frozen=True, tag="rows-ordered"):
    """Before the first step the program drew an order of some number of rows, or put rows in one (`is_applied`).

    Equal orders have the same `order`.
    """

    rows: int
    order: str
    is_applied: bool
    location: SourceSpan | None = None
