"""The report as workflow commands of GitHub Actions, which show each finding beside its line in a pull request."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.finding import Finding
from torchwhy.report.formats.told import (
    Setting,
    last_line,
    offered_fixes,
    sentence,
    told_findings,
)
from torchwhy.report.headlines import headline
from torchwhy.report.model import Report
from torchwhy.report.plain_report import nothing_found
from torchwhy.report.wording import claim_of, since

COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}
EVIDENCE_TOLD = 3


def github_annotations(report: Report, setting: Setting) -> str:
    """Return one line for each finding and each note."""
    lines = [_annotation(report, finding, setting) for finding in told_findings(report)]
    lines += [_command("notice", {"title": "torchwhy"}, sentence(one)) for one in report.all_notes]
    if report.root_cause is None:
        lines.append(f"torchwhy: {sentence(nothing_found(report))}.")
    return "".join(f"{line}\n" for line in lines)


def _annotation(report: Report, finding: Finding, setting: Setting) -> str:
    title = f"torchwhy: {finding.detector}"
    if finding == report.root_cause:
        title = f"torchwhy: {headline(finding)} ({finding.detector})"
    place, is_inside = _place(finding, setting)
    words = list(_lines(finding, names_place=not is_inside))
    return _command(COMMANDS[finding.severity], {**place, "title": sentence(title)}, *words)


def _place(finding: Finding, setting: Setting) -> tuple[dict[str, str], bool]:
    """Return file, lines and columns, and whether the file is part of the checkout."""
    span = finding.location
    if span is None or span.line < 1:
        return {}, False
    path = setting.path_of(span.file)
    if path.is_absolute():
        return {}, False
    place = {"file": path.as_posix(), "line": str(span.line), "endLine": str(last_line(span))}
    # GitHub takes columns for a stretch of one line only.
    if span.column is not None and span.end_column is not None and last_line(span) == span.line:
        place |= {"col": str(span.column + 1), "endColumn": str(span.end_column + 1)}
    return place, True


def _lines(finding: Finding, *, names_place: bool) -> Iterator[str]:
    yield sentence(finding.message)
    when = since(finding)
    if names_place and finding.location is not None:
        yield sentence(f"at {finding.location}")
    if when:
        yield sentence(f"since {when}")
    yield from (f"- {sentence(claim_of(finding, one))}" for one in finding.evidence[:EVIDENCE_TOLD])
    yield from (f"fix: {sentence(fix.title)}" for fix in offered_fixes(finding)[:1])


def _command(name: str, properties: dict[str, str], *lines: str) -> str:
    """Return `::error file=a.py,line=3::message`, escaped as GitHub's own toolkit does."""
    listed = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{name} {listed}::{_data(chr(10).join(lines))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
