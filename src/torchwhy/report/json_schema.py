"""The published schema of report.json, from the types that a stored report is checked with.

`python -m torchwhy.report.json_schema > docs/reference/report.schema.json` writes it anew.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import msgspec

from torchwhy.report.schema import ReportFile

TITLE = "report.json of torchwhy, schema 1"
DESCRIPTION = (
    "The report of one run. Fields are added in later versions, so a reader ignores those that it does not know. "
    'Numbers that JSON cannot express are the strings "nan", "inf" and "-inf".'
)
# What the names and types cannot tell, by definition and field.
MEANINGS = {
    ("ReportFile", "outcome"): "failed: there is an error; suspect: there is a warning; else healthy.",
    ("ReportFile", "root_cause"): "The id of the finding that explains the others; null if the run is healthy.",
    ("ReportFile", "notes"): "How the program and the recording ended, unseen, trial_notes, and what was silenced.",
    ("ReportFile", "unseen"): "What torchwhy could not watch or judge, and why.",
    ("ReportFile", "trial_notes"): "What the last trials of fixes left untried.",
    ("ReportFile", "steps"): "Optimizer steps that were watched.",
    ("Finding", "detector"): "The name of the cause; `torchwhy explain NAME` prints its manual page.",
    ("Finding", "step"): "Counts from 0; -1 is before the first step.",
    ("Finding", "facts"): "What was measured; `kind` names the judgement, which decides the other fields.",
    ("Finding", "explains"): "The ids of the findings that follow from this one.",
    ("Finding", "headline"): "The message without step, sample and values, which stand in fields of their own.",
    ("Evidence", "label"): "The same fact in short, for an operand of the expression at `location` of the finding.",
    ("Sample", "more"): "How many further samples of the batch are like it.",
    ("Finding", "location"): "The place to change.",
    ("Finding", "symptom_location"): "Where the fault shows, if that is another place.",
    ("Span", "file"): "Relative to the directory of the run if the file lies in it, else absolute.",
    ("Span", "line"): "Counts from 1.",
    ("Span", "column"): "Counts characters from 0.",
    ("Span", "end_column"): "Exclusive.",
    ("Fix", "diff"): "A unified diff; empty if the fix is advice or another command line.",
    ("Fix", "hides"): "The change keeps a bad value from spreading and leaves what makes it.",
    ("Trial", "healthy_change"): "How far the change moves the losses before the failure, relative to them.",
    ("Check", "answer"): "`yes` is good news.",
    ("Check", "blind"): "torchwhy is the reason why the question could not be asked, not the program.",
    ("ReportFile", "kept"): "The files of the failing step, if torchwhy stopped the program there.",
    ("ReportFile", "skipped"): "The updates that `--on-failure skip` left out.",
    ("ReportFile", "silenced"): "The findings that the user allows; they are in no other field.",
    ("Silenced", "by"): "option: `--allow` or `[tool.torchwhy]`; comment: `# torchwhy: allow NAME` in the source.",
    ("Kept", "state"): "Relative to the directory of the run if the file lies in it, else absolute; as is `batch`.",
    ("Kept", "load"): "Lines of the program that load the state.",
    ("Kept", "unkept"): "Which file there is not, and why.",
    ("Skipped", "rows"): "The rows of the dataset in the batches of the update.",
    ("Skipped", "bad_rows"): "Those of them whose data are not finite.",
    ("Cost", "own_seconds"): "The time that watching took.",
    ("Cost", "seconds"): "The time of the whole program.",
}  # fmt: skip


def json_schema() -> dict[str, Any]:
    """Return the schema in the dialect of 2020-12."""
    (reference,), parts = msgspec.json.schema_components(
        [ReportFile], ref_template="#/$defs/{name}"
    )
    for name, part in parts.items():
        _describe(name.lstrip("_"), part)
    named = {name.lstrip("_"): part for name, part in sorted(parts.items())}
    whole = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": TITLE,
        "description": DESCRIPTION,
        **reference,
        "$defs": named,
    }
    schema: dict[str, Any] = json.loads(json.dumps(whole).replace('"#/$defs/_', '"#/$defs/'))
    return schema


def _describe(name: str, part: dict[str, Any]) -> None:
    part["title"] = name
    for field, facts in part["properties"].items():
        meaning = MEANINGS.get((name, field))
        if meaning is not None:
            facts["description"] = meaning


def schema_text() -> str:
    """Return the file."""
    return json.dumps(json_schema(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(schema_text())
