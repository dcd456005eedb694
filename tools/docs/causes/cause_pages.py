"""The gallery: one page per cause, made from its manual page and the pinned reports of its programs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tools.docs.causes.pinned_reports import Change, PinnedReport, report_of
from tools.docs.markdown import FENCE, fence, folded, outside_fences
from tools.docs.places import cause_page
from torchwhy.detect.hangs.hang_pages import hang_pages
from torchwhy.detect.manuals.page import Manual, Program
from torchwhy.detect.manuals.symptoms import TITLES
from torchwhy.detect.registry import all_detectors

SECTIONS_WITH_PROGRAMS = ("broken", "lookalike")
SAFETY = {"safe": "same results", "changes-results": "changes results"}
LISTED_CHANGES = 3


MANUAL_LINK = re.compile(r"\]\((?:\.\./\w+/)?(\w+)\.md\)")


def own_causes() -> dict[str, tuple[Manual, str]]:
    """Return the manual page and the symptom of each cause of torchwhy itself, by name."""
    return {
        name: (cause.manual(), TITLES[cause.shows_as()])
        for name, cause in all_detectors().items()
        if cause.__module__.startswith("torchwhy.")
    }


def cause_pages() -> Iterator[tuple[str, str]]:
    """Yield the path and the Markdown of each cause's page."""
    for name, (manual, symptom) in own_causes().items():
        yield cause_page(name), outside_fences("\n".join(_parts(manual, symptom)), _moved)
    for name, path in hang_pages().items():
        yield cause_page(name), path.read_text(encoding="utf8")


def _moved(text: str) -> str:
    """Return a text whose links to manual pages lead to pages of the site."""
    return MANUAL_LINK.sub(lambda found: f"]({found[1].replace('_', '-')}.md)", text)


def anchor(title: str) -> str:
    """Return the address of a heading within its page."""
    return re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-")


def _parts(manual: Manual, symptom: str) -> Iterator[str]:
    yield f"# {manual.name}\n\n{manual.summary}\n"
    yield f"Symptom: [{symptom}](index.md#{anchor(symptom)})\n{{ .symptom }}\n"
    for title, body in manual.sections.items():
        yield f"## {title}\n"
        yield _with_reports(manual, title.lower(), body)


def _with_reports(manual: Manual, section: str, body: str) -> str:
    """Return the body of a section with the report of each program below the program."""
    programs = iter([one for one in manual.programs() if one.section == section])

    def shown(found: re.Match[str]) -> str:
        program = next(programs)
        if found["info"] == "diff":
            return _change_of_program(found["body"])
        return "\n".join([_listing(program), *_report(program)])

    return FENCE.sub(shown, body)


def _change_of_program(diff: str) -> str:
    head, _, hunks = diff.partition("\n")
    number = head.removeprefix("--- broken ")
    return fence(hunks.removeprefix("@@\n"), f'diff title="change of program {number}"')


def _listing(program: Program) -> str:
    mark = f' hl_lines="{program.marked_line}"' if program.marked_line else ""
    return fence(program.text, f'python title="train.py" linenums="1"{mark}')


def _report(program: Program) -> Iterator[str]:
    report = report_of(program.detector, program.section, program.number)
    if report is None or program.section not in SECTIONS_WITH_PROGRAMS:
        return
    shown = fence(report.shown, 'report title="$ torchwhy run train.py"')
    yield shown if program.number == 0 or len(report.shown) < 200 else folded("Its report", shown)
    if program.section == "broken" and report.changes:
        yield folded("What `torchwhy fix` tries", _changes(report))


def _changes(report: PinnedReport) -> str:
    shown = [_change(one) for one in report.changes[:LISTED_CHANGES]]
    rest = len(report.changes) - len(shown)
    return "\n".join([*shown, f"… and {rest} more.\n" if rest else ""])


def _change(change: Change) -> str:
    hunks = "".join(
        line for line in change.diff.splitlines(keepends=True) if line[:3] not in ("---", "+++")
    )
    title = change.title if "`" in change.title else f"`{change.title}`"
    return f"{title} ({SAFETY.get(change.safety, change.safety)})\n\n{fence(hunks, 'diff')}"
