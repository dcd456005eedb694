"""The folders of one job on several machines, as the user names them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from torchwhy.commands.history.recorded_runs import find_run
from torchwhy.errors import TraceError
from torchwhy.observe.run_directories import RUNS_FOLDER
from torchwhy.plain_data import dataclass

MOST_NODES = 4096


@dataclass(frozen=True)
class NodeFolders:
    """The folders that are there, and a sentence for each that is not."""

    found: list[Path]
    problems: list[str]


def node_folders(names: Sequence[str]) -> NodeFolders | None:
    """Return the folders of the machines of one job; None if one run is meant.

    A name that is no run, but a folder of runs, means all of these. The links among them are not followed.
    """
    inner = {name: _inside(name) for name in names}
    if len(names) < 2 and not any(inner.values()):
        return None
    found: dict[Path, None] = {}
    problems: list[str] = []
    for name in names:
        try:
            found.update(dict.fromkeys(inner[name] or [find_run(name)]))
        except TraceError as problem:
            problems.append(f"{name} is left out: {problem.message}")
    if not found:
        raise TraceError(problems[0], slug="unknown-run")
    return NodeFolders(list(found)[:MOST_NODES], problems)


def _inside(name: str) -> list[Path]:
    """Return the runs in a folder that is no run itself."""
    if not name or "\0" in name or os.path.lexists(Path(name) / "run.json"):
        return []
    if Path(name).absolute().parts[-2:] == RUNS_FOLDER.parts:
        return []  # The runs of one directory are independent of each other.
    inner = (path.parent for path in Path(name).glob("*/run.json"))
    return sorted(folder for folder in inner if not folder.is_symlink())
