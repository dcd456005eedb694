"""Code in reports is code: what a message quotes parses, and what a fix suggests compiles."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator

import pytest

from tests.support.run_program import RUN, Outcome, ProgramText
from tests.support.snapshots import proposed
from tests.test_snapshots import PINNED
from torchwhy.finding import Finding
from torchwhy.verify.diffs import edited_texts

QUOTED = re.compile(r"`([^`]+)`")
CUT = "…"  # ends a quotation that was too long, and stands for what an example leaves out
COMMAND = re.compile(r"(torchwhy|python|pip|git|docker|export|dmesg|kill) ?|-{1,2}\w|[A-Z_]+=\S*$")
PATH = re.compile(
    r"[\w.\-/]+(\[\d+\])?"
)  # of a module or parameter, `model.layers.0.weight`, or of a file
FORMS = (
    "{}",
    "x{}",
    "{} pass",
    "{}\ndef f(): pass",
    "f({})",
)  # `.item()`, `with no_grad():`, `@no_grad()`, `dim=1`


def is_code(text: str) -> bool:
    """Tell whether a fragment is Python: an expression, a statement, a method, a header, an argument."""
    text = textwrap.dedent(text.strip())
    if PATH.fullmatch(text) or COMMAND.match(text):
        return True
    return any(parses(form.format(text.replace(CUT, "..."))) for form in FORMS)


def parses(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


def with_consequences(findings: tuple[Finding, ...]) -> Iterator[Finding]:
    for finding in findings:
        yield finding
        yield from with_consequences(finding.explains)


@pytest.mark.parametrize("program", PINNED, ids=lambda program: program.id)
def test_code_in_a_report_is_code(program: ProgramText, outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes[program.id]
    findings = list(with_consequences(outcome.report.findings))
    changes = [*proposed(outcome), *(fix for finding in findings for fix in finding.fixes)]
    claims = [evidence.claim for finding in findings for evidence in finding.evidence]
    directory = outcome.run_directory.parents[len(RUN.parts) - 1]

    suggested = [text for fix in changes for text in QUOTED.findall(fix.title)]
    quoted = [
        text
        for sentence in (*(finding.message for finding in findings), *claims)
        for text in QUOTED.findall(sentence)
        if not text.endswith(CUT)
    ]
    edited = [
        text for fix in changes if fix.diff for text in edited_texts(fix.diff, directory).values()
    ]

    assert [text for text in (*suggested, *quoted) if not is_code(text)] == []
    assert [text for text in edited if not parses(text)] == []


@pytest.mark.parametrize("text", ["x.clamp(", "the count below", "False was", "log(x…"])
def test_other_words_are_not_code(text: str) -> None:
    assert not is_code(text)
