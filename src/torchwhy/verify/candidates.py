"""The changes to try for a finding: the diffs it has, and those its detector proposes for the source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from torchwhy.detect.registry import all_detectors
from torchwhy.detect.views.nonfinite.judging import BirthDiagnosis
from torchwhy.finding import Finding, Fix, Trial
from torchwhy.source.edits import Source
from torchwhy.source.files import text_of_cell
from torchwhy.source.unified_diff import changed_files
from torchwhy.verify.diffs import EditError, read

MOST_CANDIDATES = 8
INSTALLED = {"site-packages", "dist-packages"}


def candidates(
    root: Finding,
    directory: Path,
    texts: Mapping[Path, str] | None = None,
    *,
    command: tuple[str, ...] = (),
) -> list[Fix]:
    """Return the changes to try: those of the cause, then those of its consequences, and those that hide it last.

    `texts` are files as an earlier change left them, `command` is the one that ran the program.
    """
    chosen: dict[str, Fix] = {}
    for finding in (root, *_below(root)):
        proposed = proposals(finding, directory, texts or {}, command=command)
        for fix in (*_ready(finding), *proposed):
            chosen.setdefault(effect_of(fix), fix)
    return sorted(chosen.values(), key=lambda fix: fix.hides)[:MOST_CANDIDATES]


def effect_of(fix: Fix) -> str:
    """Return the effect of a fix without the context and headings of its diff, to recognise equal changes."""
    changed = [*fix.environment, *fix.command]
    for name, hunks in changed_files(fix.diff).items():
        for hunk in hunks:
            before, after = list(hunk.before), list(hunk.after)
            line = hunk.line
            while before and after and before[0] == after[0]:
                before, after, line = before[1:], after[1:], line + 1
            while before and after and before[-1] == after[-1]:
                before, after = before[:-1], after[:-1]
            changed.append(f"{name}:{line}\n" + "\n".join(after))
    return "\n".join(changed)


def _below(finding: Finding) -> Iterator[Finding]:
    """Yield the consequences of a finding; a change for a note can silence an error and cannot cure it."""
    for consequence in finding.explains:
        if consequence.severity != "note":
            yield consequence
        yield from _below(consequence)


def _ready(finding: Finding) -> Iterator[Fix]:
    """Yield the finding's own diffs as untried; a trial on the operands alone is no proof."""
    for fix in finding.fixes:
        if fix.can_be_tried and fix.safety != "show-only":
            yield replace(fix, trial=Trial())


def proposals(
    finding: Finding,
    directory: Path,
    texts: Mapping[Path, str],
    *,
    command: tuple[str, ...] = (),
) -> Iterator[Fix]:
    """Yield the changes that the finding's detector proposes for the current source."""
    detector = all_detectors().get(finding.detector)
    if detector is None or finding.location is None or _is_in_library(finding):
        return
    source = open_source(finding.location.file, directory, texts, command=command)
    if source is None or not source.still_holds(finding.location):
        return
    if finding.is_in_library:  # A change of the call that led there would not change the operation.
        finding = replace(finding, location=None)
    try:
        yield from detector().propose(finding, source)
    except Exception:  # The finding is valid without proposals.
        return


def _is_in_library(finding: Finding) -> bool:
    """Tell whether the operation at fault is not in the expression that a change would edit."""
    return isinstance(finding.diagnosis, BirthDiagnosis) and finding.diagnosis.at.is_in_library


def open_source(
    file: str, directory: Path, texts: Mapping[Path, str], *, command: tuple[str, ...] = ()
) -> Source | None:
    """Return a file of the program; None if it cannot be read or belongs to an installed package."""
    path, text = directory / file, text_of_cell(file)
    if INSTALLED & set(path.parts):
        return None
    try:
        if text is None:
            text = texts[path] if path in texts else read(path)
    except EditError:
        return None
    return Source(
        file, text, lambda other: open_source(other, directory, texts, command=command), command
    )
