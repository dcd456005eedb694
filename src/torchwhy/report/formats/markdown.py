"""The report as Markdown for a comment in a pull request: verdict, source, evidence, and the change that cures it.

Everything from the program is escaped: it makes no link, no mention, no HTML, and no heading.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from torchwhy.finding import Finding, Fix, SourceSpan
from torchwhy.printable import printable
from torchwhy.report.excerpt import marked, source_lines, still_the_same
from torchwhy.report.formats.told import (
    Setting,
    consequences,
    last_line,
    offered_fixes,
    sentence,
    told_findings,
)
from torchwhy.report.headlines import headline
from torchwhy.report.model import Report
from torchwhy.report.plain_report import counted, nothing_found
from torchwhy.report.wording import (
    CERTAINTY_WORDS,
    OFFERED,
    SAFETY_WORDS,
    VERDICT_WORDS,
    claim_of,
    since,
)

CONTEXT = 2  # lines around the place
LONGEST_SPAN = 5  # lines
LONGEST_CODE = 200  # characters of a line of source
EVIDENCE_SHOWN = 8
CONSEQUENCES_SHOWN = 4
FURTHER_SHOWN = 10
FIXES_SHOWN = 4
DIFF_LINES_SHOWN = 60
NOTES_SHOWN = 10
PUNCTUATION = re.compile(r"([\\`*_\[\]<>|~$#]|^[-+=]|(?<=^\d)[.)]|(?<=^\d\d)[.)])")
# GitHub looks for these after it has read the Markdown, so that a backslash does not keep it from linking them.
LINKED = re.compile(r"@(?=\w)|#(?=\w)|(?<=GH)-(?=\d)|:(?=//)|(?<=www)\.(?=\w)", re.IGNORECASE)


def markdown(report: Report, setting: Setting) -> str:
    """Return the comment."""
    root = report.root_cause
    blocks = list(_healthy(report) if root is None else _broken(report, root, setting))
    blocks += [f"> note: {prose(note)}" for note in report.all_notes[:NOTES_SHOWN]]
    return "\n\n".join(blocks) + "\n"


def _healthy(report: Report) -> Iterator[str]:
    yield f"### torchwhy: {prose(nothing_found(report))}"
    if report.findings:
        yield "\n".join(_in_short(one) for one in told_findings(report)[:FURTHER_SHOWN])


def _broken(report: Report, root: Finding, setting: Setting) -> Iterator[str]:
    yield f"### torchwhy: {prose(headline(root))}"
    certainty = CERTAINTY_WORDS[root.certainty]
    yield f"**{prose(root.message)}**<br>\n{code(root.detector)} · {root.severity} · {certainty}"
    if root.location is not None:
        yield from _where(root.location, setting)
    when = since(root)
    if when:
        yield f"**Since** {prose(when)}"
    if root.evidence:
        yield _listed("Evidence", [claim_of(root, one) for one in root.evidence], EVIDENCE_SHOWN)
    led_to = [_consequence(root, one) for one in consequences(root)]
    if led_to:
        yield _listed("Led to", led_to, CONSEQUENCES_SHOWN)
    yield from _fixes(root)
    further = [one for one in told_findings(report) if one != root]
    if further:
        rows = "\n".join(_in_short(one) for one in further[:FURTHER_SHOWN])
        number = f"{len(further)} further finding{'s' if len(further) > 1 else ''}"
        yield f"<details><summary>{number}</summary>\n\n{rows}\n\n</details>"
    yield (
        f"{code(sentence(' '.join(report.command)))} · {counted(report.steps)} watched · "
        f"{code(f'torchwhy explain {root.detector}')}"
    )


def _where(span: SourceSpan, setting: Setting) -> Iterator[str]:
    module = f" (module {code(span.module)})" if span.module else ""
    yield f"**Where** {code(str(span))}{module}"
    path = setting.source_of(span.file)
    lines = [] if path is None else list(_source(span, source_lines(path)))
    if not lines and span.expression:
        lines = span.expression.splitlines()[:LONGEST_SPAN]
    if lines:
        yield fenced("python", lines)


def _source(span: SourceSpan, source: Sequence[str]) -> Iterator[str]:
    """Yield the numbered lines around a span, with carets under it; none if the file has changed."""
    if span.line < 1 or not still_the_same(span, list(source)):
        return
    last = min(last_line(span), span.line + LONGEST_SPAN - 1, len(source))
    end = min(last + CONTEXT, len(source))
    while end > last and not source[end - 1].strip():
        end -= 1
    margin = len(str(end))
    for number in range(max(1, span.line - CONTEXT), end + 1):
        text = source[number - 1].expandtabs(1)[:LONGEST_CODE]
        yield f"{number:>{margin}} | {text}".rstrip()
        at = marked(span, number, source[number - 1])
        if span.line <= number <= last and at.start < min(at.end, LONGEST_CODE):
            carets = "^" * (min(at.end, LONGEST_CODE) - at.start)
            yield f"{'':>{margin}} | {' ' * at.start}{carets}"


def _listed(title: str, rows: Sequence[str], most: int) -> str:
    left = len(rows) - most
    shown = [f"- {prose(row)}" for row in rows[:most]]
    shown += [f"- and {left} more"] if left > 0 else []
    return "\n".join([f"**{title}**", *shown])


def _consequence(root: Finding, finding: Finding) -> str:
    elsewhere = finding.location is not None and finding.location != root.location
    return f"{finding.message} [{finding.location}]" if elsewhere else finding.message


def _fixes(root: Finding) -> Iterator[str]:
    """Yield the first fix with its diff, and the others in short."""
    for fix in root.fixes[:1]:
        label = "Fix" if fix.trial.verdict in OFFERED else "Tried"
        yield f"**{label}** {_title(fix)}"
        if fix.diff:
            lines = fix.diff.rstrip().splitlines()
            left = len(lines) - DIFF_LINES_SHOWN
            more = [f" … {left} more lines"] if left > 0 else []
            yield fenced("diff", [*lines[:DIFF_LINES_SHOWN], *more])
        if fix.trial.summary:
            yield prose(fix.trial.summary)
    others = root.fixes[1:FIXES_SHOWN]
    if others:
        yield "\n".join(
            f"- {'or' if o in offered_fixes(root) else 'also tried'}: {_title(o)}" for o in others
        )


def _title(fix: Fix) -> str:
    words = prose(fix.title)
    if fix.can_be_tried or fix.trial.verdict != "not-run":
        words += f" ({SAFETY_WORDS[fix.safety]}; {VERDICT_WORDS[fix.trial.verdict]})"
    return words


def _in_short(finding: Finding) -> str:
    place = f"{code(str(finding.location))}: " if finding.location is not None else ""
    return f"- {finding.severity}: {place}{prose(finding.message)} ({code(finding.detector)})"


def prose(text: str) -> str:
    """Return a sentence as Markdown that shows it; what stands between backticks becomes code."""
    parts = sentence(text).split("`")
    spans = parts[1::2]
    if len(parts) % 2 == 0 or not all(span.strip() for span in spans):
        return _escaped("`".join(parts))
    return "".join(code(part) if place % 2 else _escaped(part) for place, part in enumerate(parts))


def _escaped(text: str) -> str:
    plain = PUNCTUATION.sub(r"\\\1", text).replace("&", "&amp;")
    return LINKED.sub(lambda found: f"{found.group()}<!-- -->", plain)


def code(text: str) -> str:
    """Return a text as a code span, in more backticks than it contains in a row."""
    line = sentence(text)
    ticks = "`" * (_longest_run(line) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{pad}{line}{pad}{ticks}" if line.strip() else ""


def fenced(language: str, lines: Sequence[str]) -> str:
    """Return lines as a block of code, which nothing in them can end."""
    content = printable("\n".join(line[: LONGEST_CODE * 2] for line in lines))
    fence = "`" * max(3, _longest_run(content) + 1)
    return f"{fence}{language}\n{content}\n{fence}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)
