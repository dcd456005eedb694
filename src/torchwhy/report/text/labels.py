"""The values of operands, written under the source where the marked expression has them."""

from __future__ import annotations

from collections.abc import Sequence

from torchwhy.finding import Evidence, Finding, SourceSpan
from torchwhy.plain_data import dataclass
from torchwhy.report.excerpt import Line


@dataclass(frozen=True)
class PlacedLabel:
    """What stands under a column of a line of source, and the evidence that it tells."""

    line: int
    column: int
    words: str
    evidence: Evidence


def placed_labels(root: Finding, lines: Sequence[Line]) -> list[PlacedLabel]:
    """Return the labels whose operand stands in the marked part of the source, each operand once."""
    if not _shows_where_it_is(root):
        return []
    placed: dict[tuple[int, int], PlacedLabel] = {}
    for evidence in root.evidence:
        label = None if evidence.label is None else _placed(root, evidence, lines)
        if label is not None:
            placed.setdefault((label.line, label.column), label)
    return list(placed.values())


def _shows_where_it_is(root: Finding) -> bool:
    """Tell whether the place to change is also the expression that has the operands."""
    at, shows = root.location, root.symptom_at
    return at is not None and (shows is None or (shows.file, shows.line) == (at.file, at.line))


def _placed(root: Finding, evidence: Evidence, lines: Sequence[Line]) -> PlacedLabel | None:
    assert evidence.label is not None
    for line in lines:
        column = column_of(evidence.label.operand, line)
        if column is not None:
            words = evidence.label.reading + _made_at(root, evidence.location)
            return PlacedLabel(line.number, column, words, evidence)
    return None


def _made_at(root: Finding, made: SourceSpan | None) -> str:
    """Return ` (line 14)`, where an operand was made, unless it was made in the marked line."""
    here = root.location
    if made is None or here is None or (made.file, made.line) == (here.file, here.line):
        return ""
    return f" (line {made.line})" if made.file == here.file else f" ({made.file}:{made.line})"


def column_of(name: str, line: Line) -> int | None:
    """Return where a name stands in the marked columns, best by itself: `x` rather in `x + 1` than in `x.norm()`.

    Blanks and the kind of quotes do not matter. None if it stands nowhere but as a part of another name.
    """
    text = line.text
    columns = [place for place in range(line.start, line.end) if not text[place].isspace()]
    inside = _plain("".join(text[place] for place in columns))
    wanted = _plain("".join(name.split()))
    found = []
    start = inside.find(wanted) if wanted else -1
    while start >= 0:
        first, last = columns[start], columns[start + len(wanted) - 1]
        before, after = text[max(first - 1, 0) : first], text[last + 1 : last + 2]
        if not (_is_word(before) or before == "." or _is_word(after) or after == "("):
            found.append((after in (".", "["), first))
        start = inside.find(wanted, start + 1)
    return min(found)[1] if found else None


def _plain(text: str) -> str:
    return text.replace("'", '"')


def _is_word(sign: str) -> bool:
    return sign.isalnum() or sign == "_"
