"""The page as data: everything that the HTML shows, ready to be printed, and the charts as numbers.

Text is as the program or the run says it; the renderer makes it safe.
"""

from __future__ import annotations

from typing import Literal

from torchwhy.finding import Severity
from torchwhy.plain_data import dataclass
from torchwhy.report.kept_step import Passage


@dataclass(frozen=True)
class Series:
    """One curve; a value that is not finite is None and leaves a gap."""

    name: str
    x: tuple[float, ...]
    y: tuple[float | None, ...]


@dataclass(frozen=True)
class LineChart:
    """Curves over the steps; `failed_at` is marked. `is_stacked` shows shares of a whole, one above the other."""

    id: str
    title: str
    y_title: str
    series: tuple[Series, ...]
    x_title: str = "step"
    is_log: bool = False
    failed_at: int | None = None
    is_stacked: bool = False
    note: str = ""


@dataclass(frozen=True)
class HeatMap:
    """Rows × steps; None was not measured, infinity was measured and is not finite."""

    id: str
    title: str
    unit: str
    rows: tuple[str, ...]
    columns: tuple[int, ...]
    values: tuple[tuple[float | None, ...], ...]
    is_log: bool = False
    note: str = ""


Chart = LineChart | HeatMap


@dataclass(frozen=True)
class Histogram:
    """The finite values of one operand in equal bins from `low` to `high`; `marks` are its values where it went bad."""

    title: str
    low: float
    high: float
    counts: tuple[int, ...]
    marks: tuple[float, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class CodeLine:
    """One line of a listing; `start` to `end` is marked. `station` is its number on the path, 0 if it has none.

    `labels` stand under the line: the values of the operands, or what happened here. A line without a number is a gap.
    """

    number: int | None
    text: str
    start: int = 0
    end: int = 0
    station: int = 0
    labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Listing:
    """Lines of one file."""

    file: str
    lines: tuple[CodeLine, ...]


Role = Literal["cause", "birth", "consequence", "symptom"]


@dataclass(frozen=True)
class Station:
    """One place on the way from the cause to what the user sees."""

    number: int
    role: Role
    place: str
    words: str


@dataclass(frozen=True)
class FixShown:
    """A change with its diff, what became of it, and the losses without and with it."""

    title: str
    verdict: str
    is_good: bool
    diff: tuple[tuple[str, str], ...]  # (kind, line): added, removed, place, context
    summary: str
    chart: LineChart | None = None


@dataclass(frozen=True)
class FindingShown:
    """One finding as the page tells it; `facts` are labelled lines such as ("since", "step 118")."""

    id: str
    detector: str
    severity: Severity
    certainty: str
    message: str
    place: str | None
    facts: tuple[tuple[str, str], ...] = ()
    evidence: tuple[str, ...] = ()
    led_to: tuple[tuple[int, str], ...] = ()  # (depth, message)
    fixes: tuple[FixShown, ...] = ()


@dataclass(frozen=True)
class Values:
    """The values of one tensor of a sample, as far as they were kept; `kind` is how they are drawn.

    `pixels` has rows of (red, green, blue), `numbers` the values in order; None in them is not finite.
    """

    kind: Literal["image", "curve", "numbers"]
    note: str
    numbers: tuple[float | None, ...] = ()
    pixels: tuple[tuple[tuple[int, int, int], ...], ...] = ()


@dataclass(frozen=True)
class SamplePair:
    """One tensor of the batch: the bad sample beside a good one."""

    field: str
    bad_title: str
    good_title: str
    bad: Values
    good: Values


@dataclass(frozen=True)
class Table:
    """A table with a heading per column."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


@dataclass(frozen=True)
class CheckShown:
    """A question that the run was asked, and its answer."""

    answer: Literal["yes", "no", "could-not-ask"]
    question: str
    words: str


@dataclass(frozen=True)
class Lane:
    """One rank: the steps it made, and the moments of its failures as (step, words)."""

    rank: int
    steps: int
    moments: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True)
class Page:
    """All of the page. What the run has no data for is empty, and its section is left out."""

    title: str
    headline: str
    outcome: Literal["healthy", "suspect", "failed"]
    command: str
    steps: int
    root: FindingShown | None = None
    listings: tuple[Listing, ...] = ()
    stations: tuple[Station, ...] = ()
    others: tuple[FindingShown, ...] = ()
    curves: tuple[LineChart, ...] = ()
    heat_maps: tuple[HeatMap, ...] = ()
    histograms: tuple[Histogram, ...] = ()
    samples: tuple[SamplePair, ...] = ()
    memory: LineChart | None = None
    tables: tuple[Table, ...] = ()
    lanes: tuple[Lane, ...] = ()
    checks: tuple[CheckShown, ...] = ()
    keepsakes: tuple[Passage, ...] = ()
    notes: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()

    @property
    def charts(self) -> tuple[Chart, ...]:
        """Return the charts that a drawing library can make, in the order of the page."""
        fixes = (
            *(self.root.fixes if self.root else ()),
            *(f for o in self.others for f in o.fixes),
        )
        trials = tuple(fix.chart for fix in fixes if fix.chart is not None)
        memory = () if self.memory is None else (self.memory,)
        return (*trials, *self.curves, *self.heat_maps, *memory)
