"""What is known of one loader: its passes, the rows they drew, and samples of its batches."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Any

import torch
from torch.utils import data as torch_data

from torchwhy.observe.probes.loaders import data_survey as survey
from torchwhy.observe.probes.loaders.drawn_rows import as_rows, base_of, digest_of, epoch_of
from torchwhy.observe.program.frames import Site, span_of
from torchwhy.observe.torch_features.loader_parts import fetches_by_itself
from torchwhy.plain_data import dataclass
from torchwhy.record.inputs.data_events import FieldSeen, LabelOrder, LoaderSeen, SamplerSeen

MOST_SURVEYED = 8  # batches of a loader whose values are kept
MOST_LABELS = 512  # of one batch
MOST_FIELDS = 8  # of a batch
MOST_PLACES = 4
MOST_COMPARED = 4  # batches whose content is compared between ranks
COMPARED_ROWS = 16  # of such a batch


@dataclass(eq=False)
class LoaderPass:
    """One pass over a loader. It trains if an optimizer steps between its batches.

    `after` is the loader that had trained last when it began.
    """

    without_grad: bool
    first_step: int
    last_step: int
    after: int | None = None
    noted: list[Any] = field(default_factory=list)

    @property
    def trains(self) -> bool:
        """Tell whether an optimizer stepped during it; batches drawn under `no_grad` feed no step."""
        return not self.without_grad and self.last_step > self.first_step


@dataclass(eq=False)
class SeenLoader:
    """One loader; `own_rows` are the rows of `base` that it has if its dataset is a subset of it."""

    number: int
    dataset: weakref.ref[Any] | None
    kind: str
    rows: int | None
    workers: int
    sampler: SamplerSeen | None
    base: int | None = None
    own_rows: torch.Tensor | None = None
    worker_start: Any = None  # the program's `worker_init_fn`, in a rehearsal
    kept: Any = None  # its dataset, in a rehearsal
    name: str | None = None
    variables: list[str] = field(default_factory=list)
    sites: tuple[Site, ...] = ()
    by_torch: bool = False
    passes: int = 0
    trained_passes: int = 0
    trains: bool = False
    evaluates: bool = False
    after: set[int] = field(default_factory=set)  # loaders that had trained last when it evaluated
    drawn: list[torch.Tensor] = field(default_factory=list)
    drawn_to_train: list[bool] = field(default_factory=list)  # for each of `drawn`
    contents: list[str] = field(default_factory=list)
    digests: torch.Tensor | None = None
    fields: list[FieldSeen] = field(default_factory=list)
    label_column: tuple[str, torch.Tensor] | None = None
    _groups: dict[str, list[torch.Tensor]] = field(default_factory=dict)
    _kinds: dict[str, tuple[torch.dtype, list[int]]] = field(default_factory=dict)
    _labels: dict[str, list[torch.Tensor]] = field(default_factory=dict)
    surveyed: int = 0

    def settle(self, one: LoaderPass) -> None:
        """Take over what a finished pass showed."""
        self.trains |= one.trains
        self.trained_passes += one.trains
        self.evaluates |= not one.trains
        if not one.trains and one.after is not None:
            self.after.add(one.after)
        rows = as_rows(one.noted) if one.noted else None
        one.noted = []
        if rows is not None and len(rows):
            self.drawn.append(rows)
            self.drawn_to_train.append(one.trains)

    def note_content(self, leaves: Sequence[tuple[str, torch.Tensor]]) -> None:
        """Keep a digest of a batch, which is the same on every rank for the same values."""
        found = [
            survey.digests_of(
                survey.sampled(leaf.detach(), rows=COMPARED_ROWS), columns=survey.MOST_COLUMNS
            )
            for _, leaf in leaves[:MOST_FIELDS]
            if survey.is_measurable(leaf)
        ]
        if found:
            self.contents.append(digest_of(torch.cat(found)))

    def survey_tensors(self, dataset: Any) -> None:
        """Measure a dataset that consists of tensors, which runs no code of the program."""
        while type(dataset) is torch_data.Subset:
            dataset = dataset.dataset
        leaves = [(f"batch[{k}]", leaf) for k, leaf in enumerate(dataset.tensors)]
        leaves = [(path, leaf.detach()) for path, leaf in leaves if survey.is_measurable(leaf)]
        own = self.own_rows
        for path, leaf in leaves[:MOST_FIELDS]:
            rows = survey.sampled(leaf if own is None else leaf[own[: 8 * survey.MOST_ROWS]])
            self.fields.append(
                survey.field_of(path, [rows], dtype=leaf.dtype, shape=leaf.shape[1:])
            )
        labels = [(path, leaf) for path, leaf in leaves if survey.may_be_labels(leaf)]
        if len(labels) == 1 and len(labels[0][1]) <= 2**18:
            path, leaf = labels[0]
            self.label_column = path, (leaf if own is None else leaf[own]).reshape(-1).clone()
        largest = max((leaf for _, leaf in leaves), key=lambda leaf: leaf[0].numel(), default=None)
        if largest is not None and len(largest) <= survey.MOST_DIGESTED:
            digests = survey.digests_of(largest)
            self.digests = digests if own is None else digests[own]

    def survey_batch(self, leaves: Sequence[tuple[str, torch.Tensor]]) -> None:
        """Keep a sample of a batch, and its labels."""
        self.surveyed += 1
        size = len(leaves[0][1]) if leaves and leaves[0][1].dim() else 0
        for path, leaf in leaves[:MOST_FIELDS]:
            if not survey.is_measurable(leaf) or len(leaf) != size:
                continue
            if survey.may_be_labels(leaf):
                labels = leaf.detach().reshape(-1)[:MOST_LABELS].clone()
                self._labels.setdefault(path, []).append(labels)
            if self.surveyed <= MOST_SURVEYED:
                self._kinds.setdefault(path, (leaf.dtype, list(leaf.shape[1:])))
                rows = survey.sampled(leaf.detach(), rows=survey.MOST_ROWS // MOST_SURVEYED)
                self._groups.setdefault(path, []).append(rows)

    def described(self) -> LoaderSeen:
        """Return the event that tells all of it."""
        epochs = [
            epoch_of(rows, trains=trains, ordered=bool(self.sampler and self.sampler.shuffles))
            for rows, trains in zip(self.drawn, self.drawn_to_train, strict=True)
        ]
        distinct, share = 0, 0.0
        if self.drawn:
            _, counts = survey.counted(torch.cat(self.drawn))
            distinct, share = len(counts), float(counts.max() / counts.sum())
        return LoaderSeen(
            number=self.number,
            dataset=self.kind,
            name=self.name,
            variables=self.variables,
            rows=self.rows,
            workers=self.workers,
            trains=self.trains,
            evaluates=self.evaluates,
            after=sorted(self.after),
            passes=self.passes,
            sampler=self.sampler,
            epochs=epochs,
            distinct=distinct,
            largest_share=share,
            fields=self.fields or list(self._measured()),
            labels=self._order(),
            places=[span_of(site) for site in self.sites],
            contents=self.contents,
        )

    def rows_of_base(self) -> torch.Tensor | None:
        """Return the different rows of the base dataset that were drawn."""
        drawn = self.drawn_rows()
        if drawn is None or self.base is None:
            return None
        return drawn if self.own_rows is None else torch.unique(self.own_rows[drawn])

    def has_rows_twice(self) -> bool:
        """Tell whether its dataset is a subset that names a row several times, as a bootstrap sample does."""
        own = self.own_rows
        return own is not None and len(torch.unique(own)) < len(own)

    def drawn_rows(self) -> torch.Tensor | None:
        """Return the different rows of its own dataset that were drawn; None if they do not fit it."""
        if not self.drawn or not self.rows:
            return None
        rows, _ = survey.counted(torch.cat(self.drawn))
        return rows if int(rows[0]) >= 0 and int(rows[-1]) < self.rows else None

    def drawn_digests(self) -> torch.Tensor | None:
        """Return the digests of the rows that were drawn."""
        rows = self.drawn_rows()
        if rows is None or self.digests is None or int(rows[-1]) >= len(self.digests):
            return None
        return self.digests[rows]

    def _measured(self) -> Iterator[FieldSeen]:
        for path, groups in self._groups.items():
            dtype, shape = self._kinds[path]
            if len({one.shape[1] for one in groups}) == 1:
                yield survey.field_of(path, groups, dtype=dtype, shape=shape)

    def _order(self) -> LabelOrder | None:
        """Return the order of the labels; None if no single field holds them."""
        if self.label_column is not None and self.drawn:
            path, column = self.label_column
            rows, size = self.drawn[0], (self.sampler and self.sampler.batch_size) or 1
            if int(rows.min()) < 0 or int(rows.max()) >= len(column):
                return None
            labels = column[rows]
            batches, mixed = survey.mixed_batches(labels, size)
            return survey.order_of(path, labels, batches=batches, mixed=mixed)
        orders = [
            order
            for path, batches in self._labels.items()
            if (order := _order_of_batches(path, batches)) is not None
        ]
        return orders[0] if len(orders) == 1 else None


def _order_of_batches(path: str, batches: list[torch.Tensor]) -> LabelOrder | None:
    mixed = sum(bool((one != one[0]).any()) for one in batches)
    return survey.order_of(path, torch.cat(batches), batches=len(batches), mixed=mixed)


def new_loader(number: int, iterator: Any, dataset: Any, **known: Any) -> SeenLoader:
    """Return what an iterator tells of its loader."""
    try:
        reference = weakref.ref(dataset)
    except TypeError:
        reference = None
    is_stream = isinstance(dataset, torch_data.IterableDataset)
    rows = len(dataset) if not is_stream and hasattr(dataset, "__len__") else None
    _, own_rows = base_of(dataset)
    return SeenLoader(
        number,
        reference,
        kind=type(dataset).__name__,
        rows=rows,
        own_rows=own_rows,
        by_torch=fetches_by_itself(iterator),
        **known,
    )
