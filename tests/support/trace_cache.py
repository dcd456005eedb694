"""Keeps what programs recorded, so that all that thinks about a trace is tested without running a program.

A recorded program is found again by its own text and by all that may change what is recorded: the code left of
the record, the versions of torch and Python, and whether the accelerator is there.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
from collections.abc import Iterable
from dataclasses import asdict
from functools import lru_cache
from importlib import metadata
from pathlib import Path

from tests.support.children import ROOT, SOURCE, Ended

VARIABLE = "TORCHWHY_TRACE_CACHE"  # several clones of the project may share one cache
LEFT_OF_THE_RECORD = ("observe", "replay", "record", "source")
ENDED = "ended.json"


def default_folder() -> Path:
    """Return the folder for what this code records."""
    root = Path(os.environ.get(VARIABLE) or ROOT / ".cache" / "traces")
    return root / code_digest()


@lru_cache(maxsize=1)
def code_digest() -> str:
    """Return a digest of everything besides the program that shapes a trace."""
    package = SOURCE / "torchwhy"
    files = [
        path
        for stage in LEFT_OF_THE_RECORD
        for path in sorted((package / stage).rglob("*"))
        if path.suffix in {".py", ".c", ".h"}
    ]
    built = sorted(path.name for path in package.rglob("*.so"))
    versions = [metadata.version("torch"), platform.python_version(), *built]
    parts = [part for path in files for part in (path.name.encode(), path.read_bytes())]
    return digest([*parts, *(version.encode() for version in versions)])


def digest(parts: Iterable[bytes]) -> str:
    """Return a short digest of these parts in this order."""
    whole = hashlib.sha256()
    for part in parts:
        whole.update(len(part).to_bytes(8, "little"))
        whole.update(part)
    return whole.hexdigest()[:20]


class TraceCache:
    """Recorded programs in one folder, each under the digest of its files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def find(self, texts: Iterable[tuple[str, str]]) -> tuple[Path, Ended] | None:
        """Return the folder in which these files were run, and how the program ended."""
        entry = self._entry(texts)
        try:
            return entry, Ended(**json.loads((entry / ENDED).read_bytes()))
        except (OSError, ValueError, TypeError):
            return None

    def keep(self, texts: Iterable[tuple[str, str]], folder: Path, ended: Ended) -> None:
        """Keep a copy of the folder of a program that has been run."""
        entry = self._entry(texts)
        new = entry.with_name(f"{entry.name}.{os.getpid()}")
        shutil.copytree(folder, new, symlinks=True, ignore=shutil.ignore_patterns("trials"))
        for path in (*new.rglob("*.json"), *new.rglob("*.jsonl")):
            path.write_bytes(path.read_bytes().replace(bytes(folder), bytes(entry)))
        (new / ENDED).write_text(json.dumps(asdict(ended)))
        if entry.exists():
            shutil.rmtree(entry, ignore_errors=True)
        new.rename(entry)

    def _entry(self, texts: Iterable[tuple[str, str]]) -> Path:
        return self.folder / digest(part.encode() for pair in sorted(texts) for part in pair)
