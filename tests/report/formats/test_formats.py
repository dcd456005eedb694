"""Each format by a golden file, and by what a hostile program cannot do to it."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from markdown_it import MarkdownIt

from tests.report.examples import CLIPPED, DIRECTORY, report
from tests.report.formats.hostile import SETTING, hostile_report
from torchwhy.question import Check, Question
from torchwhy.report.formats.github_annotations import github_annotations
from torchwhy.report.formats.junit import junit
from torchwhy.report.formats.markdown import code, fenced, markdown, prose
from torchwhy.report.formats.renderers import RENDERERS
from torchwhy.report.formats.told import Setting, told_findings
from torchwhy.report.model import Report

GOLDEN = Path(__file__).with_name("golden")
HERE = Setting(DIRECTORY, DIRECTORY, version="0.1.0")
HEALTHY = Report(("train.py",), 40)


@pytest.mark.parametrize("name", RENDERERS)
def test_a_report_reads_as_pinned(request, name):
    text = RENDERERS[name](report(), HERE)

    golden = GOLDEN / f"report.{name}"
    if request.config.getoption("--update"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(text, encoding="utf8")
    assert text == golden.read_text(encoding="utf8")


@pytest.mark.parametrize("name", RENDERERS)
def test_a_hostile_report_has_no_control_characters_and_can_be_written(name):
    text = RENDERERS[name](hostile_report(), SETTING)

    text.encode("utf8")
    assert not set(text) & set("\x1b\r\u202e")


def test_what_a_finding_explains_is_not_told_as_another_fault():
    detectors = [finding.detector for finding in told_findings(report())]

    assert CLIPPED.detector not in detectors
    assert detectors == ["root-gradient-at-zero", "learning-rate-too-high"]


def test_names_of_files_are_relative_to_the_checkout():
    setting = Setting(DIRECTORY, DIRECTORY.parent)

    assert setting.path_of("train.py") == Path("siamese/train.py")
    assert setting.path_of("/usr/lib/x.py") == Path("/usr/lib/x.py")


def test_a_program_cannot_make_a_workflow_command():
    lines = github_annotations(hostile_report(), SETTING).splitlines()

    assert [line.partition(" ")[0] for line in lines] == ["::error", "::notice"]
    assert "file=a dir/träin%2C1%3A2.py,line=3,endLine=3,col=1,endColumn=5" in lines[0]
    assert "100%25" in lines[0]


def test_a_place_outside_the_checkout_stands_in_the_message():
    setting = Setting(DIRECTORY, Path("/elsewhere/repository"))

    first = github_annotations(report(), setting).splitlines()[0]

    assert "file=" not in first
    assert "%0Aat train.py:7 in distance%0A" in first


def test_a_healthy_run_has_no_annotation_and_no_failure():
    assert github_annotations(HEALTHY, HERE) == "torchwhy: nothing found in 40 steps.\n"
    assert markdown(HEALTHY, HERE) == "### torchwhy: nothing found in 40 steps\n"
    (suite,) = ET.fromstring(junit(HEALTHY, HERE))
    assert suite.get("failures") == "0"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("`x` was 0", "`x` was 0"),
        ("a * b_c", r"a \* b\_c"),
        ("# no heading", r"\# no heading"),
        ("1. no list", r"1\. no list"),
        ("- no list", r"\- no list"),
        ("<b>&amp;", r"\<b\>&amp;amp;"),
        ("[a](http://b.c)", r"\[a\](http:<!-- -->//b.c)"),
        ("ask @ada about #12", r"ask @<!-- -->ada about \#<!-- -->12"),
        ("an odd ` tick", r"an odd \` tick"),
        ("empty `` ticks", r"empty \`\` ticks"),
    ],
)
def test_prose_is_shown_as_it_is(text, shown):
    assert prose(text) == shown


def test_code_and_fences_are_longer_than_what_they_hold():
    assert code("a `b` c") == "``a `b` c``"
    assert fenced("diff", ["+```", "-x"]) == "````diff\n+```\n-x\n````"


def test_a_program_makes_no_html_link_or_heading_in_a_comment():
    tokens = MarkdownIt("commonmark").parse(markdown(hostile_report(), SETTING))

    inner = [one for token in tokens for one in (token, *(token.children or ()))]
    html = {one.content.strip() for one in inner if one.type in ("html_inline", "html_block")}
    assert html <= {"<!-- -->", "<br>"}
    assert not {"link_open", "image", "table_open"} & {one.type for one in inner}
    assert sum(one.type == "heading_open" for one in inner) == 1


def test_the_source_is_shown_with_carets_under_the_expression(tmp_path):
    from tests.report.examples import PROGRAM

    (tmp_path / "train.py").write_text(PROGRAM)

    text = markdown(report(), Setting(tmp_path, tmp_path))

    assert "5 |     def distance(self, left, right):\n" in text
    assert (
        "7 |         return torch.sqrt(squared)\n  |                ^^^^^^^^^^^^^^^^^^^\n```"
        in text
    )


def test_each_question_is_a_test_case_and_each_finding_is_told_once():
    findings = report().findings
    checks = (
        Check(Question("a", "A?"), "yes"),
        Check(Question("b", "B?"), "no", causes=("learning-rate-too-high",)),
        Check(Question("c", "C?"), "could-not-ask", reason="no scheduler"),
    )

    whole = junit(Report(("train.py",), 3, findings, checks=checks), HERE)

    (suite,) = ET.fromstring(whole)
    cases = {case.get("name"): [part.tag for part in case] for case in suite.iter("testcase")}
    assert cases == {
        "a": ["system-out"],
        "b": ["failure"],
        "c": ["skipped"],
        "F1 root-gradient-at-zero": ["failure"],
    }
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("4", "2", "1")


def test_a_hostile_text_is_no_markup_in_junit():
    (suite,) = ET.fromstring(junit(hostile_report(), SETTING))

    assert {part.tag for part in suite.iter()} == {
        "testsuite",
        "testcase",
        "failure",
        "skipped",
        "system-out",
    }
