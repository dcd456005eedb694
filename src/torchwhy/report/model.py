"""The report as data, which all renderers show, and its stable JSON form (report.json, schema 1)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal

from torchwhy.diagnosis import Stored
from torchwhy.errors import TorchwhyError, TraceError
from torchwhy.finding import Evidence, Finding, Label, LoopPosition, Sample, Silenced, SourceSpan
from torchwhy.plain_data import dataclass
from torchwhy.printable import escaped_json
from torchwhy.question import Check, Question
from torchwhy.record.numbers import decode
from torchwhy.record.run_file import known_secrets
from torchwhy.record.run_folder import read_json, replace_file
from torchwhy.report.failed_ranks import FailedRanks, failed_from_json
from torchwhy.report.kept_step import (
    KeptStep,
    Passage,
    SkippedUpdate,
    kept_from_json,
    kept_to_json,
    passages,
    skipped_from_json,
    skipped_to_json,
)
from torchwhy.report.schema import check_report
from torchwhy.report.stored.fix_json import fix_from_json, fix_to_json, real_of
from torchwhy.report.stored.silenced_json import (
    silenced_from_json,
    silenced_note,
    silenced_to_json,
    span_from_json,
    span_to_json,
)

SCHEMA = 1
Outcome = Literal["healthy", "suspect", "failed"]


@dataclass(frozen=True)
class Cost:
    """The time that watching took, and the time of the whole program, in seconds."""

    own_seconds: float
    seconds: float

    @property
    def share(self) -> float:
        """Return the share of the time that watching took."""
        return self.own_seconds / self.seconds if self.seconds > 0 else 0.0


@dataclass(frozen=True)
class Report:
    """The report of one run; the first finding is the root cause unless the run is healthy.

    `unseen` says what torchwhy could not watch or judge, and why; `notes` say how the program and the recording
    ended, `trial_notes` what the last trials of fixes left untried. `checks` are the questions that the run was asked.
    `kept` are the files of the failing step, `skipped` the updates that were left out, `silenced` what the user allows.
    `failed_ranks` is there if several ranks trained together.
    """

    command: tuple[str, ...]
    steps: int
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    trial_notes: tuple[str, ...] = ()
    cost: Cost | None = None
    unseen: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    kept: KeptStep | None = None
    skipped: tuple[SkippedUpdate, ...] = ()
    silenced: tuple[Silenced, ...] = ()
    failed_ranks: FailedRanks | None = None

    @property
    def all_notes(self) -> tuple[str, ...]:
        """Return what was not seen, the notes about the recording, those about trials, then what is silenced."""
        return (*self.unseen, *self.notes, *self.trial_notes, *silenced_note(self.silenced))

    def keepsakes(self, report_file: str) -> tuple[Passage, ...]:
        """Return what to tell about the kept step and the skipped updates; `report_file` is where this is stored."""
        return tuple(passages(self.kept, self.skipped, report_file))

    @property
    def outcome(self) -> Outcome:
        """Return `failed` if there is an error, `suspect` if there is a warning, else `healthy`."""
        severities = {finding.severity for finding in self.findings}
        if "error" in severities:
            return "failed"
        return "suspect" if "warning" in severities else "healthy"

    @property
    def root_cause(self) -> Finding | None:
        """Return the finding that explains the others."""
        return None if self.outcome == "healthy" else self.findings[0]

    def with_launcher(self, seconds: float) -> Report:
        """Return the report with the launcher's own time added to its cost."""
        if self.cost is None:
            return self
        return replace(self, cost=replace(self.cost, own_seconds=self.cost.own_seconds + seconds))

    def without_allowed(self, anew: Report) -> Report:
        """Return a report that was made anew, with more causes allowed, with what only the stored one has."""
        tried = {_key(one): one.fixes for one in self.findings}
        findings = tuple(
            replace(one, fixes=tried.get(_key(one), one.fixes)) for one in anew.findings
        )
        return replace(
            anew,
            findings=findings,
            notes=tuple(dict.fromkeys((*self.notes, *anew.notes))),
            trial_notes=self.trial_notes,
            cost=self.cost,
        )

    def id_of(self, finding: Finding) -> str:
        """Return `F1` for the first finding, and so on."""
        keys = [_key(one) for one in self.findings]
        return f"F{keys.index(_key(finding)) + 1}"

    def to_json(self) -> dict[str, Any]:
        """Return the content of report.json."""
        root = self.root_cause
        cost = self.cost
        return {
            "schema": SCHEMA,
            "outcome": self.outcome,
            "command": list(self.command),
            "steps": self.steps,
            "root_cause": None if root is None else self.id_of(root),
            "findings": [self._finding_to_json(finding) for finding in self.findings],
            "checks": [_check_to_json(check) for check in self.checks],
            "notes": list(self.all_notes),
            "unseen": list(self.unseen),
            "trial_notes": list(self.trial_notes),
            "cost": None
            if cost is None
            else {"own_seconds": cost.own_seconds, "seconds": cost.seconds},
            "kept": kept_to_json(self.kept),
            "skipped": skipped_to_json(self.skipped),
            "silenced": [silenced_to_json(one) for one in self.silenced],
            "failed_ranks": None if self.failed_ranks is None else asdict(self.failed_ranks),
        }

    def _finding_to_json(self, finding: Finding) -> dict[str, Any]:
        return {
            "id": self.id_of(finding),
            "detector": finding.detector,
            "severity": finding.severity,
            "certainty": finding.certainty,
            "step": finding.step,
            "rank": finding.rank,
            "message": finding.message,
            "headline": finding.headline,
            "location": span_to_json(finding.location),
            "sample": _sample_to_json(finding.sample),
            "evidence": [_evidence_to_json(evidence) for evidence in finding.evidence],
            "explains": [self.id_of(explained) for explained in finding.explains],
            "fixes": [fix_to_json(fix) for fix in finding.fixes],
            "facts": finding.diagnosis.facts(),
            "scope": finding.scope,
            "effect": finding.effect,
            "symptom_location": span_to_json(finding.symptom_at),
            "position": None if finding.position is None else asdict(finding.position),
        }

    def write(self, path: Path) -> None:
        """Write the report to a file that the user named."""
        try:
            path.write_text(self._as_text(), encoding="utf8")
        except OSError as problem:
            raise TorchwhyError(
                f"cannot write the report to {path}: {problem.strerror}.",
                slug="cannot-write-report",
            ) from problem

    def store(self, run_directory: Path) -> None:
        """Write report.json into the run directory."""
        replace_file(run_directory / "report.json", self._as_text())

    def _as_text(self) -> str:
        facts = known_secrets().masked_data(self.to_json())
        text = json.dumps(facts, indent=1, ensure_ascii=False, allow_nan=False)
        return escaped_json(text) + "\n"


def build(
    findings: Sequence[Finding],
    *,
    command: Sequence[str],
    steps: int,
    directory: Path,
    notes: Sequence[str] = (),
    cost: Cost | None = None,
    unseen: Sequence[str] = (),
    checks: Sequence[Check] = (),
    kept: KeptStep | None = None,
    skipped: Sequence[SkippedUpdate] = (),
    silenced: Sequence[Silenced] = (),
) -> Report:
    """Return the report of a story, root cause first; paths inside `directory` become relative to it.

    Findings that only appear as consequences of others are listed after the top-level ones.
    """
    severities = {finding.severity for finding in findings}
    ordered = list(findings)
    if severities & {"error", "warning"}:
        # A note is no root cause, even if the story begins with it.
        ordered.sort(key=lambda finding: finding.severity == "note")
    by_key: dict[tuple[object, ...], Finding] = {}
    for finding in (*ordered, *_explained(ordered)):
        relative = _relative(finding, directory)
        by_key.setdefault(_key(relative), relative)
    return Report(
        tuple(command),
        steps,
        tuple(by_key.values()),
        tuple(notes),
        cost=cost,
        unseen=tuple(unseen),
        checks=tuple(checks),
        kept=kept,
        skipped=tuple(skipped),
        silenced=tuple(
            replace(one, location=_relative_span(one.location, directory)) for one in silenced
        ),
    )


def _explained(findings: Sequence[Finding]) -> Iterator[Finding]:
    for finding in findings:
        yield from finding.explains
        yield from _explained(finding.explains)


def _key(finding: Finding) -> tuple[object, ...]:
    """Return the identity of a finding, which later stages do not change."""
    measured = repr(finding.diagnosis)
    return finding.detector, finding.rank, finding.step, finding.location, measured


def _relative(finding: Finding, directory: Path) -> Finding:
    return replace(
        finding,
        location=_relative_span(finding.location, directory),
        symptom_at=_relative_span(finding.symptom_at, directory),
        evidence=tuple(
            replace(evidence, location=_relative_span(evidence.location, directory))
            for evidence in finding.evidence
        ),
        explains=tuple(_relative(explained, directory) for explained in finding.explains),
    )


def _relative_span(span: SourceSpan | None, directory: Path) -> SourceSpan | None:
    if span is None or not Path(span.file).is_absolute():
        return span
    for base in (directory, directory.resolve()):
        if Path(span.file).is_relative_to(base):
            return replace(span, file=str(Path(span.file).relative_to(base)))
    return span


def _sample_to_json(sample: Sample | None) -> dict[str, Any] | None:
    if sample is None:
        return None
    facts = asdict(sample)
    if sample.rows_of is None:
        del facts["rows_of"]
    if not sample.more:
        del facts["more"]
    return facts


def _evidence_to_json(evidence: Evidence) -> dict[str, Any]:
    return {
        "claim": evidence.claim,
        "value": real_of(evidence.value),
        "step": evidence.step,
        "location": span_to_json(evidence.location),
        "series": None
        if evidence.series is None
        else [real_of(value) for value in evidence.series],
        "label": None if evidence.label is None else asdict(evidence.label),
    }


def _check_to_json(check: Check) -> dict[str, Any]:
    measured = check.measured
    return {
        "question": check.question.slug,
        "words": check.question.words,
        "answer": check.answer,
        "facts": {} if measured is None else measured.facts(),
        "text": None if measured is None else measured.sentence,
        "reason": check.reason,
        "blind": check.is_blind,
        "causes": list(check.causes),
    }


def _check_from_json(facts: Mapping[str, Any]) -> Check:
    text = facts.get("text")
    return Check(
        Question(facts["question"], facts["words"]),
        facts["answer"],
        measured=None if text is None else Stored(text=text, data=facts["facts"]),
        reason=facts["reason"],
        is_blind=facts["blind"],
        causes=tuple(facts["causes"]),
    )


def read_report(path: Path) -> Report:
    """Read a report.json."""
    try:
        return from_json(read_json(path))
    except (
        *(OSError, TraceError, RecursionError),
        *(ValueError, KeyError, TypeError, AttributeError),
    ) as problem:
        why = problem.message if isinstance(problem, TraceError) else str(problem)
        raise TraceError(
            f"{path} is not a report of schema {SCHEMA} ({type(problem).__name__}: {why}). "
            "Delete it, and torchwhy makes the report again from the trace.",
            slug="unreadable-report",
        ) from problem


def from_json(facts: Mapping[str, Any]) -> Report:
    """Return the report that `to_json` wrote."""
    if facts["schema"] != SCHEMA:
        raise ValueError(f"schema {facts['schema']}")
    check_report(facts)
    by_id = {finding["id"]: finding for finding in facts["findings"]}
    findings = tuple(_finding_from_json(finding, by_id, above=()) for finding in by_id.values())
    cost, failed = facts.get("cost"), facts.get("failed_ranks")
    trial_notes, unseen = tuple(facts.get("trial_notes", ())), tuple(facts.get("unseen", ()))
    silenced = tuple(silenced_from_json(one) for one in facts.get("silenced", ()))
    elsewhere = {*trial_notes, *unseen, *silenced_note(silenced)}
    return Report(
        tuple(facts["command"]),
        facts["steps"],
        findings,
        tuple(note for note in facts.get("notes", ()) if note not in elsewhere),
        trial_notes,
        None if cost is None else Cost(cost["own_seconds"], cost["seconds"]),
        unseen,
        tuple(_check_from_json(check) for check in facts.get("checks", ())),
        kept_from_json(facts.get("kept")),
        skipped_from_json(facts.get("skipped", ())),
        silenced,
        None if failed is None else failed_from_json(failed),
    )


def _finding_from_json(
    facts: Mapping[str, Any], by_id: Mapping[str, Any], *, above: tuple[str, ...]
) -> Finding:
    path = (*above, facts["id"])
    explains = [by_id[name] for name in facts["explains"] if name not in path]
    return Finding(
        detector=facts["detector"],
        severity=facts["severity"],
        diagnosis=Stored(
            text=facts["message"], data=facts.get("facts", {}), short=facts.get("headline", "")
        ),
        scope=facts.get("scope", "training"),
        effect=facts.get("effect", "training-broke" if facts["severity"] == "error" else "fault"),
        symptom_at=span_from_json(facts.get("symptom_location")),
        step=facts["step"],
        position=None if (at := facts.get("position")) is None else LoopPosition(**at),
        rank=facts["rank"],
        location=span_from_json(facts["location"]),
        evidence=tuple(_evidence_from_json(evidence) for evidence in facts["evidence"]),
        certainty=facts["certainty"],
        sample=None if facts["sample"] is None else Sample(**facts["sample"]),
        explains=tuple(_finding_from_json(one, by_id, above=path) for one in explains),
        fixes=tuple(fix_from_json(fix) for fix in facts["fixes"]),
    )


def _evidence_from_json(facts: Mapping[str, Any]) -> Evidence:
    series, label = facts["series"], facts.get("label")
    return Evidence(
        facts["claim"],
        value=facts["value"],
        step=facts["step"],
        location=span_from_json(facts["location"]),
        series=None if series is None else tuple(decode(value) for value in series),
        label=None if label is None else Label(label["operand"], label["reading"]),
    )
