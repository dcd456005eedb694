"""Findings that the user allows: by name, file, line or comment; what is left leads, and a stopped run says so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from tests.support.findings import said
from tests.support.recording import alarm, steps
from tests.support.traces import program, trace
from torchwhy import pipeline
from torchwhy.detect.allowances import Allowances
from torchwhy.detect.base import Detector
from torchwhy.explain.silencing import silence
from torchwhy.finding import Finding, SourceSpan
from torchwhy.pipeline import diagnose
from torchwhy.record.run_file import Run, read_run, write_run
from torchwhy.report.model import from_json

HOME = Path("/home/me")
TEXT = """\
a = 1
b = 2  # torchwhy: allow barking, mewing (they are old)
# torchwhy: allow barking
c = 3
print("# torchwhy: allow barking")
e = 5  # torchwhy: allow mewing
"""


def finding(name: str, *, line: int | None = None, severity: str = "warning", **more) -> Finding:
    place = None if line is None else SourceSpan("train.py", line)
    return Finding(name, severity, said(f"{name} in line {line}"), location=place, **more)  # type: ignore[arg-type]


def names(findings) -> list[str]:
    return [one.detector for one in findings]


@pytest.mark.parametrize(
    ("word", "left"),
    [
        ("barking", []),
        ("mewing", ["barking"]),
        ("barking@train.py", []),
        ("barking@tr*.py", []),
        (f"barking@{HOME}/train.py", []),
        ("barking@other.py", ["barking"]),
        ("barking@train.py:4", []),
        ("barking@train.py:5", ["barking"]),
    ],
)
def test_a_word_allows_a_cause_everywhere_in_files_or_in_a_line(word, left):
    done = silence([finding("barking", line=4)], Allowances([word], HOME), [trace()])

    assert names(done.kept) == left
    assert len(done.silenced) == 1 - len(left)


@pytest.mark.parametrize(
    ("line", "name", "is_left"),
    [
        (1, "barking", True),
        (2, "barking", False),
        (2, "mewing", False),
        (2, "barking-loudly", True),
        (4, "barking", False),
        (4, "mewing", True),
        (5, "barking", True),
        (6, "barking", True),
    ],
    ids=str,
)
def test_a_comment_allows_a_cause_on_its_line_or_on_the_next(line, name, is_left):
    ran = trace(program(TEXT, "train.py"))
    allowances = Allowances((), HOME).with_comments_of([ran])

    done = silence([finding(name, line=line)], allowances, [ran])

    assert bool(done.kept) == is_left
    assert [one.by for one in done.silenced] == ([] if is_left else ["comment"])


def test_what_follows_from_an_allowed_cause_takes_its_place_the_worst_first():
    deepest = finding("mewing", severity="error")
    root = finding("barking", explains=(finding("growling"), replace(deepest)), severity="error")
    other = finding("sleeping")

    done = silence([root, other], Allowances(["barking"], HOME), [trace()])

    assert names(done.kept) == ["mewing", "growling", "sleeping"]
    assert names(done.silenced) == ["barking"]


def test_an_allowed_consequence_is_left_out_of_its_cause():
    root = finding("barking", explains=(finding("growling"),))

    (kept,) = silence([root], Allowances(["growling"], HOME), [trace()]).kept

    assert (kept.detector, kept.explains) == ("barking", ())


class Barking(Detector):
    """Reports every trace."""

    name = "barking"

    def scan(self, trace):
        yield finding("barking", severity="error" if trace.alarms else "warning")


@pytest.fixture
def diagnosed(tmp_path, monkeypatch):
    monkeypatch.setattr(pipeline, "detectors_for", lambda _: {"barking": Barking})

    def record(*events, **options):
        write_run(tmp_path, Run(("train.py",), str(tmp_path), exit_code=0, **options))
        lines = b"\n".join(msgspec.json.encode(event) for event in events)
        (tmp_path / "rank0.jsonl").write_bytes(lines + b"\n")
        return diagnose(tmp_path)

    return record


def test_the_report_counts_what_is_silenced_and_does_not_call_its_question_fine(diagnosed):
    report = diagnosed(*steps(3), allow=("barking",))

    assert report.outcome == "healthy"
    assert report.all_notes[-1] == "1 finding is silenced: barking."
    assert report.to_json()["silenced"] == [
        {"detector": "barking", "severity": "warning", "location": None, "by": "option"}
    ]
    assert from_json(report.to_json()).to_json() == report.to_json()
    (check,) = [one for one in report.checks if one.reason == "barking is allowed"]
    assert check.answer == "could-not-ask"


@pytest.mark.parametrize(
    ("on_failure", "left"), [("stop", ["unexplained-nonfinite"]), ("skip", []), ("continue", [])]
)
def test_a_run_that_was_stopped_says_so_even_if_the_cause_is_allowed(diagnosed, on_failure, left):
    report = diagnosed(*steps(3), alarm(3), allow=("barking",), on_failure=on_failure)

    assert names(report.findings) == left
    assert len(report.silenced) == 1


def test_a_run_remembers_what_it_allows(tmp_path):
    write_run(tmp_path, Run(("train.py",), "/", allow=("barking@a.py:3",)))

    assert read_run(tmp_path).allow == ("barking@a.py:3",)
