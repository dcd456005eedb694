from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from torchwhy.detect.base import Detector
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding
from torchwhy.record.ranks.nodes import named
from torchwhy.record.trace import Trace
from torchwhy.record.wiring import FileSaved

DEVICES = "/dev/"


class SameFile(Diagnosis):
    """Several ranks of one machine save to the same file after the same step."""

    file: str
    ranks: list[int]
    times: int
    message = "{who} save to the same file, `{file}`"
    advice = "save on one rank only: `if dist.get_rank() == 0: torch.save(…)`, then `dist.barrier()` if others read it"

    @property
    def who(self) -> str:
        """Return the ranks in words."""
        return named(self.ranks)

    def evidence(self) -> Iterator[Evidence]:
        times = "once" if self.times == 1 else f"{self.times} times"
        yield Evidence(f"each of them saved to that path after the same step, {times}")


class SavedByEveryRank(Detector):
    """Several ranks save to the same file."""

    name = "saved-by-every-rank"

    def scan(self, trace: Trace) -> Iterator[Finding]:  # noqa: ARG002 - one rank alone does not show it
        yield from ()

    def compare(self, traces: Sequence[Trace]) -> Iterator[Finding]:
        savers: dict[tuple[str, str, int], dict[int, tuple[Trace, FileSaved]]] = defaultdict(dict)
        for trace in traces:
            for saved in trace.of(FileSaved):
                if not saved.path.startswith(DEVICES):
                    key = (trace.host, saved.path, saved.step)
                    savers[key].setdefault(trace.rank, (trace, saved))
        by_line: dict[object, list[dict[int, tuple[Trace, FileSaved]]]] = defaultdict(list)
        for ranks in savers.values():
            if len(ranks) > 1:
                by_line[next(iter(ranks.values()))[1].location].append(ranks)
        for same in by_line.values():
            trace, saved = next(iter(same[0].values()))
            diagnosis = SameFile(file=Path(saved.path).name, ranks=sorted(same[0]), times=len(same))
            yield self.found(
                trace, diagnosis, severity="warning", step=saved.step, location=saved.location
            )
