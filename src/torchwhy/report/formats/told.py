"""What the formats share: which findings to tell, the place of a finding, and where its file lies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path

from torchwhy.finding import Finding, Fix, SourceSpan
from torchwhy.plain_data import dataclass
from torchwhy.printable import one_line
from torchwhy.report.model import Report
from torchwhy.report.wording import OFFERED

LONGEST = 2000  # characters of one sentence; tensors and messages of a program can be longer


@dataclass(frozen=True)
class Setting:
    """Where the run took place, and what the report itself does not hold.

    `directory` is the one that file names of the report are relative to, `root` the one that names in the output are
    relative to: the checkout, which may be a folder above. `summaries` has one sentence for each cause by its name.
    """

    directory: Path
    root: Path
    version: str = ""
    summaries: Mapping[str, str] = field(default_factory=dict)

    def path_of(self, file: str) -> Path:
        """Return the path of a file from the root; an absolute one if it lies outside."""
        path = self.directory / file
        for base in (self.root, self.root.resolve()):
            if path.is_relative_to(base):
                return path.relative_to(base)
        return path

    def source_of(self, file: str) -> Path | None:
        """Return where to read a file of the program; None if it lies outside the root, by `..` or through a link."""
        try:
            path = (self.directory / file).resolve()
            return path if path.is_relative_to(self.root.resolve()) else None
        except (OSError, RuntimeError, ValueError):  # a loop of links, a name that no file has
            return None


def told_findings(report: Report) -> list[Finding]:
    """Return the findings without those that another one explains, root cause first."""
    told: list[Finding] = []
    explained: set[str] = set()
    for finding in report.findings:
        if report.id_of(finding) in explained:
            continue
        told.append(finding)
        explained |= {report.id_of(one) for one in consequences(finding)}
    return told


def consequences(finding: Finding) -> Iterator[Finding]:
    """Yield what a finding explains, each followed by what it explains in turn."""
    for one in finding.explains:
        yield one
        yield from consequences(one)


def offered_fixes(finding: Finding) -> list[Fix]:
    """Return the changes and pieces of advice that no trial has refuted."""
    return [fix for fix in finding.fixes if fix.trial.verdict in OFFERED]


def sentence(text: str) -> str:
    """Return a text of the report or the program as one printable line of bounded length."""
    line = one_line(text)
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


def last_line(span: SourceSpan) -> int:
    """Return the last line of a span, which a damaged report may put before the first."""
    return max(span.line, span.end_line or span.line)
