"""The report as SARIF 2.1.0: a result for each finding, its fixes, and the way from the cause to what it led to."""

from __future__ import annotations

import hashlib
import json
from typing import Any
from urllib.parse import quote

from torchwhy.finding import Finding, SourceSpan
from torchwhy.printable import escaped_json
from torchwhy.report.formats.sarif_fixes import replacements_of
from torchwhy.report.formats.told import (
    Setting,
    last_line,
    offered_fixes,
    sentence,
    told_findings,
)
from torchwhy.report.model import Report
from torchwhy.report.page.page_source import stops_of
from torchwhy.report.wording import CERTAINTY_WORDS, VERDICT_WORDS, claim_of
from torchwhy.source.unified_diff import changed_files

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
VERSION = "2.1.0"
ROOT = "%SRCROOT%"  # by convention, the folder of the checkout
EVIDENCE_TOLD = 6


def sarif(report: Report, setting: Setting) -> str:
    """Return the log as JSON."""
    text = json.dumps(sarif_log(report, setting), indent=1, ensure_ascii=False, allow_nan=False)
    return escaped_json(text) + "\n"


def sarif_log(report: Report, setting: Setting) -> dict[str, Any]:
    """Return the log as data."""
    findings = told_findings(report)
    rules = list(dict.fromkeys(finding.detector for finding in findings))
    driver: dict[str, Any] = {
        "name": "torchwhy",
        "rules": [_rule(name, setting) for name in rules],
    }
    if setting.version:
        driver["version"] = setting.version
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [_invocation(report)],
        "results": [_result(report, one, rules.index(one.detector), setting) for one in findings],
    }
    return {"$schema": SCHEMA, "version": VERSION, "runs": [run]}


def _rule(name: str, setting: Setting) -> dict[str, Any]:
    rule: dict[str, Any] = {"id": name}
    if name in setting.summaries:
        rule["shortDescription"] = {"text": sentence(setting.summaries[name])}
    rule["help"] = {"text": f"`torchwhy explain {name}` prints the manual page."}
    return rule


def _invocation(report: Report) -> dict[str, Any]:
    """Return what torchwhy could not see, and the notes; the command is told as it is stored, without secrets."""
    return {
        "executionSuccessful": True,
        "arguments": [sentence(word) for word in report.command],
        "toolExecutionNotifications": [
            {"level": "warning" if note in report.unseen else "note", "message": _message(note)}
            for note in report.all_notes
        ],
    }


def _result(report: Report, finding: Finding, rule: int, setting: Setting) -> dict[str, Any]:
    facts = [sentence(claim_of(finding, one)) for one in finding.evidence[:EVIDENCE_TOLD]]
    result: dict[str, Any] = {
        "ruleId": finding.detector,
        "ruleIndex": rule,
        "level": finding.severity,
        "message": _message("\n".join([sentence(finding.message), *(f"- {f}" for f in facts)])),
        "locations": [] if finding.location is None else [_location(finding.location, setting)],
        "partialFingerprints": {"torchwhy/v1": _fingerprint(finding)},
        "properties": {
            "id": report.id_of(finding),
            "isRootCause": finding == report.root_cause,
            "certainty": CERTAINTY_WORDS[finding.certainty],
            "step": finding.step,
            "rank": finding.rank,
        },
    }
    flow = _flow(finding, setting)
    if flow:
        result["codeFlows"] = [{"threadFlows": [{"locations": flow}]}]
    fixes = [fix for fix in offered_fixes(finding) if fix.diff]
    if fixes:
        result["fixes"] = [
            {
                "description": _message(f"{fix.title} ({VERDICT_WORDS[fix.trial.verdict]})"),
                "artifactChanges": _changes(fix.diff, setting),
            }
            for fix in fixes
        ]
    return result


def _flow(finding: Finding, setting: Setting) -> list[dict[str, Any]]:
    """Return the places from the cause to its consequences; nothing if there is only one."""
    stops = stops_of(finding, None, None)
    if len(stops) < 2:
        return []
    return [
        {
            "location": {
                **_location(stop.span, setting),
                "message": _message(f"{stop.role}: {sentence(stop.words)}"),
            },
            "executionOrder": order,
            "importance": "essential" if stop.role == "cause" else "important",
        }
        for order, stop in enumerate(stops, start=1)
    ]


def _changes(diff: str, setting: Setting) -> list[dict[str, Any]]:
    return [
        {
            "artifactLocation": _artifact(file, setting),
            "replacements": [one.to_json() for hunk in hunks for one in replacements_of(hunk)],
        }
        for file, hunks in changed_files(diff).items()
        if any(hunk.before != hunk.after for hunk in hunks)
    ]


def _location(span: SourceSpan, setting: Setting) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": _artifact(span.file, setting)}
    if span.line >= 1:
        place["region"] = _region(span)
    location: dict[str, Any] = {"physicalLocation": place}
    if span.function not in (None, "<module>"):
        name = sentence(span.function or "")
        location["logicalLocations"] = [{"name": name, "kind": "function"}]
    return location


def _region(span: SourceSpan) -> dict[str, Any]:
    """Return lines and columns, which SARIF counts from 1; its end column is exclusive, too."""
    region: dict[str, Any] = {"startLine": span.line, "endLine": last_line(span)}
    if span.column is not None and span.end_column is not None:
        region["startColumn"] = span.column + 1
        region["endColumn"] = span.end_column + 1
    if span.expression:
        region["snippet"] = {"text": span.expression}
    return region


def _artifact(file: str, setting: Setting) -> dict[str, Any]:
    path = setting.path_of(file)
    if path.is_absolute():
        return {"uri": f"file://{quote(path.as_posix())}"}
    return {"uri": quote(path.as_posix()), "uriBaseId": ROOT}


def _message(text: str) -> dict[str, str]:
    """Return a message; `](` would make a link of `table[0](x)`."""
    return {"text": text.replace("](", r"\](") or "–"}


def _fingerprint(finding: Finding) -> str:
    """Return what stays the same when lines move: the cause, the file, the function and the expression."""
    span = finding.location
    parts = [finding.detector]
    if span is not None:
        parts += [span.file, span.function or "", span.expression or ""]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
