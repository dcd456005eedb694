from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from torchwhy.detect.base import Detector
from torchwhy.detect.causes.data.missing_set_epoch import SAMPLER
from torchwhy.detect.views.inputs.loaders_seen import made_at, name_of, training
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding
from torchwhy.record.inputs.data_events import LoaderSeen
from torchwhy.record.trace import Trace
from torchwhy.source.analyses.constructors import only_call


class PartsLeftOut(Diagnosis):
    """No rank draws some of the parts into which a DistributedSampler divides the rows."""

    dataset: str
    rows: int
    left_out: int
    parts: int
    drawn: list[int]
    ranks: int
    message = (
        "every epoch leaves out {left_out} of the {rows} rows of `{dataset}`: no rank draws them"
    )

    advice = (
        "let the sampler take both numbers from the process group, `DistributedSampler(dataset)`, or give it the "
        "number of ranks that share the rows, and to each of them another rank"
    )

    def evidence(self) -> Iterator[Evidence]:
        drawn = ", ".join(map(str, self.drawn))
        yield Evidence(
            f"the samplers divide the rows into {self.parts} parts (num_replicas={self.parts}); the {self.ranks} ranks "
            f"draw only part {drawn}"
        )


class RowsOnNoRank(Detector):
    """No rank draws some of the rows."""

    name = "rows-on-no-rank"

    def scan(self, trace: Trace) -> Iterator[Finding]:  # noqa: ARG002 - one rank alone does not show it
        yield from ()

    def compare(self, traces: Sequence[Trace]) -> Iterator[Finding]:
        first = traces[0]
        if {trace.rank for trace in traces} != set(range(first.world_size)):
            return  # The ranks that are not here may draw the rest.
        groups: dict[tuple[int, int, int], list[tuple[Trace, LoaderSeen]]] = defaultdict(list)
        for trace in traces:
            for loader in training(trace):
                sampler = loader.sampler
                if sampler is None or sampler.kind != SAMPLER or not sampler.is_torch:
                    continue
                if sampler.parts is not None and loader.rows:
                    groups[loader.number, loader.rows, sampler.parts].append((trace, loader))
        for (_, rows, parts), same in groups.items():
            samplers = [one.sampler for _, one in same if one.sampler is not None]
            drawn = {one.part for one in samplers if one.part is not None}
            share = next(iter(samplers), None)
            if len(drawn) >= parts or share is None or share.draws is None:
                continue
            if len({trace.rank for trace, _ in same}) < first.world_size:
                continue  # A rank that was killed early has not told what it draws.
            trace, loader = same[0]
            diagnosis = PartsLeftOut(
                dataset=name_of(loader),
                rows=rows,
                left_out=max(0, rows - len(drawn) * share.draws),
                parts=parts,
                drawn=sorted(drawn),
                ranks=len(same),
            )
            if diagnosis.left_out:
                place = only_call(trace.files.values(), SAMPLER) or made_at(trace, loader)
                yield self.found(trace, diagnosis, severity="warning", step=0, location=place)
