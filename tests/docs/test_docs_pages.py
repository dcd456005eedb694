"""The pages of the docs site before MkDocs: complete, true to the code, and their promises kept."""

from __future__ import annotations

import json
import re

import pytest
from tools.docs.__main__ import all_pages
from tools.docs.built_site import problems_of
from tools.docs.causes.cause_list import words_script
from tools.docs.causes.cause_pages import own_causes
from tools.docs.causes.pinned_reports import messages_of
from tools.docs.consoles import (
    FINDS,
    TITLE,
    WrongOutputError,
    fill_consoles,
    leave_out,
    run_command,
)
from tools.docs.markdown import FENCE
from tools.docs.navigation import navigation
from tools.docs.places import DOCS, cause_page
from tools.docs.report_fence import coloured

import torchwhy
from tests.support.run_program import ProgramText, run_programs
from torchwhy.commands import COMMANDS

TUTORIALS = sorted((DOCS / "tutorials").glob("*.md"))


@pytest.fixture(scope="module")
def pages():
    return all_pages(leave_out)


def test_every_cause_has_a_page_with_its_program_its_report_and_the_repair(pages):
    lacking = []
    for name, (manual, _) in own_causes().items():
        page = pages[cause_page(name)]
        reports = [one["body"] for one in FENCE.finditer(page) if one["info"].startswith("report")]
        parts = [
            manual.programs()[0].text in page,
            f"[{name}]" in reports[0],
            "## Repaired" in page,
        ]
        if not all(parts):
            lacking.append(name)

    assert own_causes()
    assert lacking == []


def test_the_reference_has_every_command_field_and_public_name(pages):
    fields = json.loads((DOCS / "reference" / "report.schema.json").read_text())["$defs"]

    assert all(f"## torchwhy {name}\n" in pages["reference/commands.md"] for name in COMMANDS)
    assert "| `--on-failure stop|skip|continue` |" in pages["reference/commands.md"]
    assert all(f"## {name}\n" in pages["reference/report-json.md"] for name in fields)
    assert all(
        f"## torchwhy.{name}\n" in pages["reference/python-api.md"]
        for name in torchwhy.__all__
        if not name.startswith("__")
    )


def test_every_page_is_in_the_navigation_once(pages):
    named = re.findall(r'"([\w./-]+\.md)"', json.dumps(navigation(pages)))

    assert sorted(named) == sorted(pages)


def test_a_page_that_is_not_written_yet_is_left_out_of_the_navigation(pages):
    page = "explanation/how-we-test.md"

    without = {name: text for name, text in pages.items() if name != page}

    assert page not in json.dumps(navigation(without))
    assert page in json.dumps(navigation({**without, page: "# How we test\n"}))


def test_names_of_causes_are_links(pages):
    assert "[`nonfinite-data`](../causes/nonfinite-data.md)" in pages["tutorials/nan.md"]
    assert "[`log-of-nonpositive`]" not in pages["causes/log-of-nonpositive.md"]


def test_messages_of_torch_are_found_in_the_pinned_reports():
    messages = " ".join(messages_of("linear-size-mismatch"))
    data = json.loads(words_script().partition("=")[2].rstrip(";\n"))

    assert "mat1 and mat2 shapes cannot be multiplied" in messages
    assert "mat1" in data["causes"]["linear-size-mismatch"]["message"]


def test_programs_of_the_tutorials_have_the_causes_that_the_pages_name(tmp_path):
    promised = {}
    programs = []
    for page in TUTORIALS:
        blocks = list(FENCE.finditer(page.read_text()))
        promised[page.stem] = next(
            one[1] for block in blocks if (one := FINDS.search(block["info"]))
        )
        program = next(block["body"] for block in blocks if TITLE.search(block["info"]))
        programs.append(ProgramText(page.stem, program))

    outcomes = run_programs(programs, tmp_path)

    assert len(promised) == 4
    assert {name: one.report.root_cause.detector for name, one in outcomes.items()} == promised


def test_a_console_gets_the_real_output_of_its_commands():
    page = '```python title="a.py"\nprint(6 * 7)\n```\n\n```console\n$ python a.py\n```\n'

    filled = fill_consoles(page, page="a.md", run=run_command)

    assert filled.endswith("```report\n$ python a.py\n42\n```\n\n")


def test_a_console_that_breaks_its_promise_stops_the_build():
    page = '```console says="43"\n$ python -c "print(42)"\n```\n'

    with pytest.raises(WrongOutputError, match="promises '43'"):
        fill_consoles(page, page="a.md", run=run_command)


def test_colours_escape_what_a_report_quotes():
    assert coloured("error[a-b]: <script>") == (
        '<span class="r-error">error[a-b]</span><span class="r-head">: &lt;script&gt;</span>'
    )


def test_broken_links_and_foreign_files_of_a_built_site_are_found(tmp_path):
    (tmp_path / "index.html").write_text(
        '<h1 id="top">a</h1><a href="#top">b</a><a href="gone/">c</a><a href="#gone">d</a>'
        '<a href="https://pytorch.org">e</a><script src="https://cdn.example/x.js"></script>'
    )

    assert list(problems_of(tmp_path)) == [
        "index.html loads https://cdn.example/x.js",
        "index.html: there is no gone/",
        "index.html: there is no anchor #gone",
    ]
