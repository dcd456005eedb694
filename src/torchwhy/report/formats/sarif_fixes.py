"""A hunk of a diff as replacements of SARIF: regions that lie inside the file, and the text to put there."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Any

from torchwhy.plain_data import dataclass
from torchwhy.source.unified_diff import Hunk


@dataclass(frozen=True)
class Replacement:
    """Put `text` in place of a stretch of characters; lines and columns count from 1, the end is exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int
    text: str

    def to_json(self) -> dict[str, Any]:
        """Return the replacement as it stands in a SARIF log."""
        region = {
            "startLine": self.line,
            "startColumn": self.column,
            "endLine": self.end_line,
            "endColumn": self.end_column,
        }
        inserted = {"insertedContent": {"text": self.text}} if self.text else {}
        return {"deletedRegion": region, **inserted}


def replacements_of(hunk: Hunk) -> Iterator[Replacement]:
    """Yield one replacement for each stretch of lines that a hunk changes."""
    matcher = SequenceMatcher(None, hunk.before, hunk.after, autojunk=False)
    for tag, start, end, new_start, new_end in matcher.get_opcodes():
        if tag == "equal":
            continue
        new = hunk.after[new_start:new_end]
        yield (
            _replaced(hunk, start, end, new)
            if start < end and new
            else _moved(hunk, start, end, new)
        )


def _replaced(hunk: Hunk, start: int, end: int, new: tuple[str, ...]) -> Replacement:
    last = hunk.line + end - 1
    return Replacement(hunk.line + start, 1, last, len(hunk.before[end - 1]) + 1, "\n".join(new))


def _moved(hunk: Hunk, start: int, end: int, new: tuple[str, ...]) -> Replacement:
    """Return lines put in or taken out: with the end of the line before them, or else up to the line after them."""
    if start > 0:
        before = hunk.before[start - 1]
        last = hunk.before[end - 1]
        return Replacement(
            hunk.line + start - 1,
            len(before) + 1,
            hunk.line + end - 1,
            len(last) + 1,
            "".join(f"\n{line}" for line in new),
        )
    return Replacement(hunk.line, 1, hunk.line + end, 1, "".join(f"{line}\n" for line in new))
