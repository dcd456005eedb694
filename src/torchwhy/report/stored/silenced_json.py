"""Places and silenced findings as report.json has them, and how a report tells what was silenced."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from torchwhy.finding import Silenced, SourceSpan

MOST_NAMED = 5


def span_to_json(span: SourceSpan | None) -> dict[str, Any] | None:
    """Return a place as report.json has it."""
    if span is None:
        return None
    facts = asdict(span)
    facts["end_line"] = span.end_line if span.end_line is not None else span.line
    return facts


def span_from_json(facts: Mapping[str, Any] | None) -> SourceSpan | None:
    """Return the place that `span_to_json` wrote."""
    return None if facts is None else SourceSpan(**facts)


def silenced_to_json(one: Silenced) -> dict[str, Any]:
    """Return a silenced finding as report.json has it."""
    return {
        "detector": one.detector,
        "severity": one.severity,
        "location": span_to_json(one.location),
        "by": one.by,
    }


def silenced_from_json(facts: Mapping[str, Any]) -> Silenced:
    """Return the silenced finding that `silenced_to_json` wrote."""
    place = span_from_json(facts["location"])
    return Silenced(facts["detector"], facts["severity"], place, by=facts["by"])


def silenced_note(silenced: Sequence[Silenced]) -> Iterator[str]:
    """Yield how many findings were silenced, and which; nothing if none were."""
    if not silenced:
        return
    counted = "1 finding is" if len(silenced) == 1 else f"{len(silenced)} findings are"
    named = [_named(one) for one in silenced[:MOST_NAMED]]
    more = len(silenced) - MOST_NAMED
    named += [f"{more} more"] if more > 0 else []
    yield f"{counted} silenced: {', '.join(named)}."


def _named(one: Silenced) -> str:
    place = "" if one.location is None else f" at {one.location}"
    return f"{one.detector}{place}{' (by a comment there)' if one.by == 'comment' else ''}"
