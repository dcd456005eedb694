"""What the program states on purpose, and whether a fix undoes it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from torchwhy.source.analyses.training_statements import freezing
from torchwhy.source.edits import Source
from torchwhy.verify.diffs import edited_texts, read


def thawed(diff: str, directory: Path) -> str | None:
    """Return a statement that freezes parameters and that a diff takes out; None if it leaves them all."""
    for path, text in edited_texts(diff, directory).items() if diff else ():
        missing = _freezing(path, read(path)) - _freezing(path, text)
        for statement in missing:
            return statement
    return None


def _freezing(path: Path, text: str) -> Counter[str]:
    places = freezing([Source(path.name, text)])
    return Counter(" ".join((place.expression or "").split()) for place in places)
