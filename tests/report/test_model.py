"""The report as data, and the stable form of report.json."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from tests.report.examples import CLIPPED, DIRECTORY, RATE, ROOT, SPAN, report
from tests.support.findings import said
from torchwhy.errors import TraceError
from torchwhy.finding import Evidence, Finding, Trial
from torchwhy.question import Check, Question
from torchwhy.report.model import build, from_json, read_report


def test_report_json_has_exactly_the_promised_form():
    facts = report().to_json()

    assert {key: facts[key] for key in ("schema", "outcome", "command", "steps", "root_cause")} == {
        "schema": 1,
        "outcome": "failed",
        "command": ["train.py", "--lr", "3"],
        "steps": 301,
        "root_cause": "F1",
    }
    root = facts["findings"][0]
    assert list(root) == [
        *("id", "detector", "severity", "certainty", "step", "rank", "message", "headline"),
        *("location", "sample", "evidence", "explains", "fixes", "facts", "scope", "effect"),
        *("symptom_location", "position"),
    ]
    assert root["location"] == {
        "file": "train.py",
        "line": 7,
        "end_line": 7,
        "column": 15,
        "end_column": 34,
        "function": "distance",
        "module": "net.head",
        "expression": "torch.sqrt(squared)",
    }
    assert root["sample"] == {"position": 7, "dataset_index": 3091}
    assert root["explains"] == ["F2"]
    assert root["evidence"][0] == {
        "claim": "squared was 0 there",
        "value": 0.0,
        "step": 300,
        "location": None,
        "series": None,
        "label": {"operand": "squared", "reading": "was 0"},
    }
    assert list(root["fixes"][0]) == [
        *("title", "diff", "safety", "command", "environment", "hides", "trial"),
    ]
    assert root["fixes"][0]["trial"] == {
        "verdict": "cured",
        "steps": 200,
        "before": {"loss": "nan"},
        "after": {"loss": 0.25},
        "summary": "",
        "before_losses": None,
        "after_losses": None,
        "with_it": "",
        "without_it": "",
        "healthy_change": None,
    }
    assert root["fixes"][1]["trial"] == {
        "verdict": "not-run",
        "steps": 0,
        "before": {},
        "after": {},
        "summary": "",
        "before_losses": None,
        "after_losses": None,
        "with_it": "",
        "without_it": "",
        "healthy_change": None,
    }


def test_nonfinite_numbers_are_written_as_strings():
    bad = replace(RATE, evidence=(Evidence("x", float("-inf"), series=(1.0, float("nan"))),))

    facts = build([bad], command=["x"], steps=1, directory=Path("/")).to_json()

    evidence = facts["findings"][0]["evidence"][0]
    assert evidence["value"] == "-inf"
    assert evidence["series"] == [1.0, "nan"]
    json.dumps(facts, allow_nan=False)


def test_a_written_report_reads_back_the_same(tmp_path):
    path = tmp_path / "report.json"

    report().write(path)

    assert read_report(path).to_json() == report().to_json()
    assert read_report(path).root_cause.explains[0].detector == "clip-of-infinite-norm"


@pytest.mark.parametrize(
    ("findings", "outcome", "root"),
    [
        ([], "healthy", None),
        ([replace(RATE, severity="note")], "healthy", None),
        ([RATE], "suspect", RATE.detector),
        ([RATE, ROOT], "failed", RATE.detector),
        ([replace(CLIPPED, severity="note"), ROOT], "failed", ROOT.detector),
    ],
)
def test_the_outcome_follows_the_severest_finding(findings, outcome, root):
    built = build(findings, command=[], steps=1, directory=Path("/nowhere"))

    assert built.outcome == outcome
    assert (built.root_cause.detector if built.root_cause else None) == root


def test_a_finding_that_is_only_explained_gets_an_id_of_its_own():
    built = build([ROOT], command=[], steps=1, directory=Path("/nowhere"))

    assert [finding.detector for finding in built.findings] == [ROOT.detector, CLIPPED.detector]
    assert built.to_json()["findings"][0]["explains"] == ["F2"]


def test_files_inside_the_directory_are_relative_and_others_are_not():
    outside = replace(SPAN, file="/usr/lib/other.py")
    built = build(
        [
            replace(
                ROOT, evidence=(Evidence("made", location=replace(SPAN, file="/home/a/b.py")),)
            ),
            Finding("x", "note", said("y"), location=outside),
        ],
        command=[],
        steps=1,
        directory=Path("/home/a"),
    )

    assert built.findings[0].evidence[0].location.file == "b.py"
    assert {finding.location.file for finding in built.findings if finding.detector == "x"} == {
        "/usr/lib/other.py"
    }


def test_findings_that_explain_each_other_do_not_hang_the_reader():
    facts = report().to_json()
    facts["findings"][1]["explains"] = ["F1"]

    (again,) = from_json(facts).findings[0].explains

    assert again.explains == ()


@pytest.mark.parametrize(
    "text", ["", "{}", '{"schema": 2}', "[]", '{"schema": 1, "findings": [1]}']
)
def test_a_broken_report_is_one_sentence(tmp_path, text):
    path = tmp_path / "report.json"
    path.write_text(text)

    with pytest.raises(TraceError) as refusal:
        read_report(path)

    assert refusal.value.slug == "unreadable-report"


def test_the_curves_of_a_trial_read_back(tmp_path):
    trial = Trial(
        "symptom-only", 9, with_it="said", before_losses=(1.0, math.inf), after_losses=(1.0,)
    )
    fix = replace(ROOT.fixes[0], trial=trial)
    written = build([replace(ROOT, fixes=(fix,))], command=[], steps=1, directory=DIRECTORY)
    written.write(tmp_path / "report.json")

    read = read_report(tmp_path / "report.json")

    assert read.findings[0].fixes[0].trial == trial


def test_checks_and_what_was_not_seen_are_read_back_as_they_were_written():
    question = Question("loss-falls", "Does the loss fall?")
    checks = [
        Check(question, "yes", measured=said("2 → 1")),
        Check(question, "could-not-ask", reason="too short", is_blind=True),
        Check(question, "no", causes=("stuck-loss",)),
    ]
    written = build(
        [], command=[], steps=1, directory=DIRECTORY, checks=checks, unseen=["u"], notes=["n"]
    ).to_json()

    read = from_json(json.loads(json.dumps(written)))

    assert read.to_json() == written
    assert (read.unseen, read.notes) == (("u",), ("n",))
    assert written["notes"] == ["u", "n"]
    assert written["checks"][1] == {
        "question": "loss-falls",
        "words": "Does the loss fall?",
        "answer": "could-not-ask",
        "facts": {},
        "text": None,
        "reason": "too short",
        "blind": True,
        "causes": [],
    }


@pytest.mark.parametrize("name", ["train_v10.py", "/usr/lib/python3.10/x.py", r"src\train.py"])
def test_a_report_with_any_ordinary_file_name_reads_back(tmp_path, name):
    finding = replace(RATE, location=replace(SPAN, file=name))
    made = build([finding], command=["t.py"], steps=1, directory=Path("/elsewhere"))
    made.write(tmp_path / "report.json")

    assert read_report(tmp_path / "report.json").findings[0].location == finding.location


def test_a_file_name_with_a_nul_is_refused():
    facts = report().to_json()
    facts["findings"][0]["location"]["file"] = "a\0b"

    with pytest.raises(ValueError, match="regex"):
        from_json(facts)
