"""The report as data, which all renderers show, and its stable JSON form (report.json, schema 1)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from torchwhy.diagnosis import Stored
from torchwhy.errors import TorchwhyError, TraceError
from torchwhy.finding import Evidence, Finding, Fix, Sample, SourceSpan, Trial
from torchwhy.record.numbers import Real, decode, encode

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

    `notes` are sentences about the recording itself: what torchwhy could not see, and why. `trial_notes` say what
    the last trials of fixes left untried.
    """

    command: tuple[str, ...]
    steps: int
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    trial_notes: tuple[str, ...] = ()
    cost: Cost | None = None

    @property
    def all_notes(self) -> tuple[str, ...]:
        """Return the notes about the recording, then those about trials."""
        return (*self.notes, *self.trial_notes)

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
            "notes": list(self.all_notes),
            "trial_notes": list(self.trial_notes),
            "cost": None
            if cost is None
            else {"own_seconds": cost.own_seconds, "seconds": cost.seconds},
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
            "location": _span_to_json(finding.location),
            "sample": None if finding.sample is None else asdict(finding.sample),
            "evidence": [_evidence_to_json(evidence) for evidence in finding.evidence],
            "explains": [self.id_of(explained) for explained in finding.explains],
            "fixes": [_fix_to_json(fix) for fix in finding.fixes],
            "facts": finding.diagnosis.facts(),
            "scope": finding.scope,
        }

    def write(self, path: Path) -> None:
        """Write report.json."""
        text = json.dumps(self.to_json(), indent=1, ensure_ascii=False, allow_nan=False)
        try:
            path.write_text(text + "\n", encoding="utf8")
        except OSError as problem:
            raise TorchwhyError(
                f"cannot write the report to {path}: {problem.strerror}.",
                slug="cannot-write-report",
            ) from problem


def build(
    findings: Sequence[Finding],
    *,
    command: Sequence[str],
    steps: int,
    directory: Path,
    notes: Sequence[str] = (),
    cost: Cost | None = None,
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
    return Report(tuple(command), steps, tuple(by_key.values()), tuple(notes), cost=cost)


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


def _span_to_json(span: SourceSpan | None) -> dict[str, Any] | None:
    if span is None:
        return None
    facts = asdict(span)
    facts["end_line"] = span.end_line if span.end_line is not None else span.line
    return facts


def _evidence_to_json(evidence: Evidence) -> dict[str, Any]:
    return {
        "claim": evidence.claim,
        "value": _real(evidence.value),
        "step": evidence.step,
        "location": _span_to_json(evidence.location),
        "series": None if evidence.series is None else [_real(value) for value in evidence.series],
    }


def _real(value: float | str | None) -> Real | None:
    return encode(value) if isinstance(value, float) else value


def _fix_to_json(fix: Fix) -> dict[str, Any]:
    trial = fix.trial
    return {
        "title": fix.title,
        "diff": fix.diff,
        "safety": fix.safety,
        "trial": {
            "verdict": trial.verdict,
            "steps": trial.steps,
            "before": _measures_to_json(trial.before),
            "after": _measures_to_json(trial.after),
            "summary": trial.summary,
            "before_losses": _curve_to_json(trial.before_losses),
            "after_losses": _curve_to_json(trial.after_losses),
            "with_it": trial.with_it,
            "without_it": trial.without_it,
        },
    }


def _curve_to_json(curve: Sequence[float] | None) -> list[Real | None] | None:
    return None if curve is None else [_real(value) for value in curve]


def _measures_to_json(measures: Mapping[str, float] | None) -> dict[str, Real | None]:
    return {name: _real(value) for name, value in (measures or {}).items()}


def read_report(path: Path) -> Report:
    """Read a report.json."""
    try:
        return from_json(json.loads(path.read_bytes()))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as problem:
        raise TraceError(
            f"{path} is not a report of schema {SCHEMA} ({type(problem).__name__}: {problem}). "
            "Delete it, and torchwhy makes the report again from the trace.",
            slug="unreadable-report",
        ) from problem


def from_json(facts: Mapping[str, Any]) -> Report:
    """Return the report that `to_json` wrote."""
    if facts["schema"] != SCHEMA:
        raise ValueError(f"schema {facts['schema']}")
    by_id = {finding["id"]: finding for finding in facts["findings"]}
    findings = tuple(_finding_from_json(finding, by_id, above=()) for finding in by_id.values())
    cost = facts.get("cost")
    trial_notes = tuple(facts.get("trial_notes", ()))
    return Report(
        tuple(facts["command"]),
        facts["steps"],
        findings,
        tuple(note for note in facts.get("notes", ()) if note not in trial_notes),
        trial_notes,
        None if cost is None else Cost(cost["own_seconds"], cost["seconds"]),
    )


def _finding_from_json(
    facts: Mapping[str, Any], by_id: Mapping[str, Any], *, above: tuple[str, ...]
) -> Finding:
    path = (*above, facts["id"])
    explains = [by_id[name] for name in facts["explains"] if name not in path]
    return Finding(
        detector=facts["detector"],
        severity=facts["severity"],
        diagnosis=Stored(text=facts["message"], data=facts.get("facts", {})),
        scope=facts.get("scope", "training"),
        step=facts["step"],
        rank=facts["rank"],
        location=_span_from_json(facts["location"]),
        evidence=tuple(_evidence_from_json(evidence) for evidence in facts["evidence"]),
        certainty=facts["certainty"],
        sample=None if facts["sample"] is None else Sample(**facts["sample"]),
        explains=tuple(_finding_from_json(one, by_id, above=path) for one in explains),
        fixes=tuple(_fix_from_json(fix) for fix in facts["fixes"]),
    )


def _span_from_json(facts: Mapping[str, Any] | None) -> SourceSpan | None:
    return None if facts is None else SourceSpan(**facts)


def _evidence_from_json(facts: Mapping[str, Any]) -> Evidence:
    series = facts["series"]
    return Evidence(
        facts["claim"],
        value=facts["value"],
        step=facts["step"],
        location=_span_from_json(facts["location"]),
        series=None if series is None else tuple(decode(value) for value in series),
    )


def _fix_from_json(facts: Mapping[str, Any]) -> Fix:
    trial = facts["trial"]
    return Fix(
        facts["title"],
        diff=facts["diff"],
        safety=facts["safety"],
        trial=Trial(
            trial["verdict"],
            trial["steps"],
            before=_measures_from_json(trial["before"]),
            after=_measures_from_json(trial["after"]),
            with_it=trial.get("with_it", trial.get("summary", "")),
            without_it=trial.get("without_it", ""),
            before_losses=_curve_from_json(trial.get("before_losses")),
            after_losses=_curve_from_json(trial.get("after_losses")),
        ),
    )


def _curve_from_json(curve: Sequence[Real] | None) -> tuple[float, ...] | None:
    return None if curve is None else tuple(decode(value) for value in curve)


def _measures_from_json(measures: Mapping[str, Real]) -> dict[str, float] | None:
    return {name: decode(value) for name, value in measures.items()} or None
