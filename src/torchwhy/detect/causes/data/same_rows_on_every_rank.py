from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from torchwhy.detect.base import Detector
from torchwhy.detect.views.inputs.loaders_seen import made_at, name_of, training
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding
from torchwhy.record.inputs.data_events import LoaderSeen
from torchwhy.record.ranks.rank_events import GradientsShared
from torchwhy.record.trace import Trace

FEWEST_BATCHES = 2  # With one batch, a program may mean to train on this batch alone.
FEWEST_LOSSES = 2
WITH_SAMPLER = (
    "give the loader `sampler=DistributedSampler(dataset)` instead of `shuffle=True`, and call "
    "`sampler.set_epoch(epoch)` before every epoch"
)
OF_STREAM = "let each rank read its own part of the stream, by `dist.get_rank()` and `dist.get_world_size()`"


class SameRows(Diagnosis):
    """Ranks that average their gradients train on the same batches."""

    dataset: str
    ranks: list[int]
    wrapper: str
    sampler: str | None
    batches: int
    losses: int
    message = "{who} draw the same batches of `{dataset}`: together they learn no more in a step than one of them"

    @property
    def who(self) -> str:
        """Return the ranks in words."""
        if len(self.ranks) == 2:
            return f"ranks {self.ranks[0]} and {self.ranks[1]}"
        return f"{len(self.ranks)} ranks (from {self.ranks[0]} to {self.ranks[-1]})"

    @property
    def remedies(self) -> tuple[str, ...]:
        if self.sampler is None:
            return (OF_STREAM,)
        return (WITH_SAMPLER,)

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(f"the first {self.batches} batches have the same content on these ranks")
        yield Evidence(
            f"their losses are equal to the last bit in all {self.losses} steps that were compared"
        )
        yield Evidence(f"{self.wrapper} averages their gradients, which are then the same, too")


class SameRowsOnEveryRank(Detector):
    """Ranks that average their gradients draw the same rows."""

    name = "same-rows-on-every-rank"

    def scan(self, trace: Trace) -> Iterator[Finding]:  # noqa: ARG002 - one rank alone does not show it
        yield from ()

    def compare(self, traces: Sequence[Trace]) -> Iterator[Finding]:
        by_content: dict[tuple[str, ...], list[tuple[Trace, LoaderSeen]]] = defaultdict(list)
        for trace in traces:
            for loader in training(trace):
                if len(set(loader.contents)) >= FEWEST_BATCHES:
                    by_content[tuple(loader.contents)].append((trace, loader))
        for contents, drawn in by_content.items():
            first, loader = drawn[0]
            for group in first.of(GradientsShared):
                members = [one for one, _ in drawn if one.rank in group.ranks]
                alike = [one for one in members if one is first or _equal_losses(first, one)]
                if len(alike) < 2 or len(alike) < len(members):
                    continue
                diagnosis = SameRows(
                    dataset=name_of(loader),
                    ranks=sorted(one.rank for one in alike),
                    wrapper=group.wrapper,
                    sampler=loader.sampler.kind
                    if loader.rows is not None and loader.sampler
                    else None,
                    batches=len(contents),
                    losses=min(_equal_losses(first, one) for one in alike[1:]),
                )
                yield self.found(
                    first, diagnosis, severity="warning", step=0, location=made_at(first, loader)
                )
                break


def _equal_losses(first: Trace, other: Trace) -> int:
    """Return in how many steps both ranks have a loss; 0 if one of them differs, or if they are too few.

    Ranks that cut their own part out of a common batch have losses of their own.
    """
    known = {step.step: step.losses for step in first.steps if step.losses}
    both = [
        (known[step.step], step.losses)
        for step in other.steps
        if step.losses and step.step in known
    ]
    is_equal = len(both) >= FEWEST_LOSSES and all(one == another for one, another in both)
    return len(both) if is_equal else 0
