"""How one confined process is to run, as the supervisor tells it to the process in a file."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from torchwhy.plain_data import dataclass

GUARD_FILE = "guard.json"  # In the run directory: what a guarded Python process may write.
REFUSED_FILE = "refused.txt"  # Beside it: the paths that a process was not allowed to write.


@dataclass(frozen=True)
class Plan:
    """One way to confine a process.

    `layers` puts a writable layer over every file system and discards it, `mounts` makes them read-only,
    `landlock` asks the kernel to refuse writes, `hook` asks Python. All but `layers` run in a copy of the directory.
    `replaced` are files that the confined program finds with another content, each with the file that holds it.
    """

    way: str
    directory: str
    writable: tuple[str, ...]
    layer_folders: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    replaced: tuple[tuple[str, str], ...] = ()

    def write(self, path: Path) -> None:
        """Store the plan."""
        path.write_text(json.dumps(asdict(self)), encoding="utf8")


def read_plan(path: str) -> Plan:
    """Return a stored plan."""
    facts = json.loads(Path(path).read_bytes())
    return Plan(
        way=facts["way"],
        directory=facts["directory"],
        writable=tuple(facts["writable"]),
        layer_folders=tuple(facts["layer_folders"]),
        hidden=tuple(facts["hidden"]),
        replaced=tuple((path, content) for path, content in facts["replaced"]),
    )
