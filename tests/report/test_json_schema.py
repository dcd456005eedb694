"""The published schema of report.json: up to date, and the reports of real programs validate against it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from tests.report.examples import report
from tests.support.run_program import Outcome, ProgramText
from tests.test_programs import BROKEN, HEALTHY
from torchwhy.report import schema
from torchwhy.report.json_schema import MEANINGS, json_schema, schema_text
from torchwhy.report.model import Report, from_json

PUBLISHED = Path(__file__).resolve().parents[2] / "docs" / "reference" / "report.schema.json"
EVERY = 97  # Each so many programs are enough to meet every kind of field.
SOME = [*BROKEN[::EVERY], *HEALTHY[::EVERY]]


def validate(made: Report) -> None:
    """Validate a report in the form in which it is stored."""
    validator = jsonschema.Draft202012Validator(json.loads(PUBLISHED.read_text(encoding="utf8")))
    validator.validate(json.loads(json.dumps(made.to_json(), allow_nan=False)))


def test_the_published_schema_is_up_to_date():
    jsonschema.Draft202012Validator.check_schema(json_schema())
    assert PUBLISHED.read_text(encoding="utf8") == schema_text(), (
        "python -m torchwhy.report.json_schema > docs/reference/report.schema.json"
    )


def test_a_report_with_everything_and_an_empty_one_validate():
    validate(report())
    validate(Report(("train.py",), 0))


@pytest.mark.parametrize("program", SOME, ids=lambda program: program.id)
def test_the_report_of_a_program_validates(
    program: ProgramText, outcomes: dict[str, Outcome]
) -> None:
    made = outcomes[program.id].report
    assert made is not None

    validate(made)


@pytest.mark.parametrize(
    ("field", "value"),
    [("outcome", "fine"), ("steps", -1), ("findings", None), ("schema", 2), ("root_cause", 7)],
)
def test_a_wrong_report_does_not_validate(field: str, value: Any) -> None:
    facts = {**report().to_json(), field: value}

    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(json_schema()).validate(facts)
    with pytest.raises(ValueError):
        from_json(facts)


def test_every_written_field_is_in_the_schema():
    parts = json_schema()["$defs"]
    facts = report().to_json()
    finding = facts["findings"][0]

    assert set(facts) == set(parts["ReportFile"]["properties"])
    assert set(finding) == set(parts["Finding"]["properties"])
    assert set(finding["fixes"][0]) == set(parts["Fix"]["properties"])
    assert set(finding["fixes"][0]["trial"]) == set(parts["Trial"]["properties"])
    assert set(finding["location"]) == set(parts["Span"]["properties"])


def test_every_explained_field_exists():
    structs = {name.lstrip("_"): kind for name, kind in vars(schema).items()}

    for name, field in MEANINGS:
        assert field in {one.name for one in msgspec.structs.fields(structs[name])}
