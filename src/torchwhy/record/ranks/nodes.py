"""The folders of one job, one for each machine → its ranks; a folder that is missing or damaged costs one sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from pathlib import Path

from torchwhy.errors import TraceError
from torchwhy.plain_data import dataclass
from torchwhy.record.ranks.outline import Outline, read_outline
from torchwhy.record.run_file import Run, read_run, trace_files
from torchwhy.record.run_folder import LARGEST_TRACE
from torchwhy.record.trace import Trace, read_rank

MOST_BYTES_IN_OUTLINE = 32 * LARGEST_TRACE  # One trace at a time is in memory.


@dataclass(frozen=True)
class Node:
    """The folder of one launcher, and its run.json."""

    folder: Path
    run: Run


@dataclass
class Ranks:
    """The ranks of a job: those whose traces were read whole (`judged`), and all, `everyone`, at least in outline.

    `problems` are sentences about what is missing.
    """

    nodes: Sequence[Node]
    judged: list[Trace] = field(default_factory=list)
    everyone: list[Trace] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    folders: dict[int, Path] = field(default_factory=dict)  # by rank

    def of(self, node: Node) -> list[Trace]:
        """Return the ranks of a node whose traces were read whole."""
        return [trace for trace in self.judged if self.folders.get(trace.rank) == node.folder]


def read_nodes(folders: Sequence[Path]) -> tuple[list[Node], list[str]]:
    """Return the nodes whose run.json can be read, and a sentence for each other; raise if none can."""
    nodes, problems = [], []
    for folder in folders:
        try:
            nodes.append(Node(folder, read_run(folder)))
        except TraceError as problem:
            problems.append(f"{folder} is left out: {problem.message}")
    if not nodes:
        raise TraceError(problems[0] if problems else "no folder was given.", slug="unknown-run")
    return nodes, problems


def read_outlines(ranks: Ranks) -> list[Outline]:
    """Return the outline of every rank, in the order of the ranks; note what cannot be read or does not belong."""
    found: list[Outline] = []
    twice: dict[tuple[Path, Path], list[int]] = {}
    for node in ranks.nodes:
        for outline in _outlines_in(node, ranks.problems):
            rank = outline.trace.rank
            # A rank that was started again in the same folder has a second file.
            known = ranks.folders.setdefault(rank, node.folder)
            if known != node.folder:
                twice.setdefault((known, node.folder), []).append(rank)
            else:
                found.append(outline)
    for (first, second), numbers in twice.items():
        verb = "is" if len(numbers) == 1 else "are"
        ranks.problems.append(
            f"{named(numbers)} {verb} in {first} and in {second}; what the second holds of them is left out. Are both "
            "of one job?"
        )
    if len(ranks.nodes) > 1 or ranks.problems:
        ranks.problems += _absent([outline.trace for outline in found])
    return sorted(found, key=lambda outline: outline.trace.rank)


def _outlines_in(node: Node, problems: list[str]) -> Iterator[Outline]:
    try:
        paths = trace_files(node.folder, MOST_BYTES_IN_OUTLINE)
    except (OSError, TraceError) as problem:
        problems.append(f"{node.folder} is left out: {problem}")
        return
    if not paths:
        problems.append(f"{node.folder} holds no trace: nothing was watched there.")
    for path in sorted(paths, key=lambda one: (len(one.name), one.name)):
        try:
            yield read_outline(path, exit_code=node.run.exit_code)
        except TraceError as problem:
            problems.append(f"a rank is left out: {problem.message}")


def read_whole(outline: Outline, ranks: Ranks) -> Trace | None:
    """Return the whole trace of a rank, None if it is damaged, which is noted."""
    rerun = outline.path.parent / "rerun"
    of_rerun = rerun if rerun.is_dir() and not rerun.is_symlink() else None
    try:
        return read_rank(outline.path, exit_code=outline.trace.exit_code, rerun=of_rerun)
    except TraceError as problem:
        ranks.problems.append(f"a rank is left out: {problem.message}")
        return None


def _absent(traces: Sequence[Trace]) -> Iterator[str]:
    """Yield which ranks left no trace, and whether the folders are of jobs of different sizes."""
    sizes = sorted({trace.world_size for trace in traces})
    if len(sizes) > 1:
        told = ", ".join(map(str, sizes))
        yield f"the folders are of jobs of different sizes ({told} ranks), so they may not belong together."
        return
    absent = sorted(set(range(*sizes[:1])) - {trace.rank for trace in traces}) if sizes else []
    if absent:
        verb = "has" if len(absent) == 1 else "have"
        yield f"{named(absent)} of {sizes[0]} {verb} no trace in these folders."


def named(ranks: Sequence[int]) -> str:
    """Return `rank 3` or `ranks 0–7, 12`."""
    spans: list[list[int]] = []
    for rank in sorted(ranks):
        if spans and rank == spans[-1][1] + 1:
            spans[-1][1] = rank
        else:
            spans.append([rank, rank])
    told = ", ".join(str(a) if a == b else f"{a}–{b}" for a, b in spans[:8])
    return f"rank{'s' if len(ranks) > 1 else ''} {told}{', …' if len(spans) > 8 else ''}"
