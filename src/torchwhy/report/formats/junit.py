"""The report as JUnit XML: one test case for each question that the run was asked, and one for each other finding."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree as ET

from torchwhy.finding import Finding
from torchwhy.printable import printable
from torchwhy.question import Check
from torchwhy.report.formats.told import (
    Setting,
    offered_fixes,
    sentence,
    told_findings,
)
from torchwhy.report.model import Report
from torchwhy.report.wording import claim_of, since

CHECKS, FINDINGS = "torchwhy.checks", "torchwhy.findings"
NO_XML = re.compile("[\ufffe\uffff]")  # What `printable` leaves and XML 1.0 does not have.


def junit(report: Report, setting: Setting) -> str:
    """Return the XML."""
    findings = told_findings(report)
    cases: list[ET.Element] = []
    told: set[str] = set()
    for check in report.checks:
        found = [one for one in findings if check.answer == "no" and one.detector in check.causes]
        new = [one for one in found if report.id_of(one) not in told]
        told |= {report.id_of(one) for one in new}
        cases.append(_case_of_check(check, found, setting))
    others = [one for one in findings if report.id_of(one) not in told]
    cases += [_case_of_finding(report, finding, setting) for finding in others]
    suite = ET.Element(
        "testsuite",
        name=_text(f"torchwhy {sentence(' '.join(report.command))}"),
        tests=str(len(cases)),
        failures=str(sum(case.find("failure") is not None for case in cases)),
        errors="0",
        skipped=str(sum(case.find("skipped") is not None for case in cases)),
        time=f"{0.0 if report.cost is None else report.cost.seconds:.3f}",
    )
    suite.extend(cases)
    if report.all_notes:
        notes = "\n".join(sentence(note) for note in report.all_notes)
        ET.SubElement(suite, "system-out").text = _text(notes)
    whole = ET.Element("testsuites", name="torchwhy")
    whole.append(suite)
    ET.indent(whole)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(whole, encoding="unicode")}\n'


def _case_of_check(check: Check, found: list[Finding], setting: Setting) -> ET.Element:
    case = ET.Element("testcase", classname=CHECKS, name=_text(check.question.slug))
    measured = check.reason if check.measured is None else check.measured.sentence
    if check.answer == "could-not-ask":
        ET.SubElement(case, "skipped", message=_text(sentence(measured or "")))
        return case
    words = sentence(f"{check.question.words} {measured or ''}")
    if check.answer == "yes":
        ET.SubElement(case, "system-out").text = _text(words)
        return case
    title = sentence(found[0].message) if found else words
    failure = ET.SubElement(case, "failure", message=_text(title), type=_type(found))
    failure.text = _text("\n\n".join([words, *("\n".join(_lines(f, setting)) for f in found)]))
    return case


def _type(found: list[Finding]) -> str:
    return _text(found[0].detector) if found else "warning"


def _case_of_finding(report: Report, finding: Finding, setting: Setting) -> ET.Element:
    name = f"{report.id_of(finding)} {finding.detector}"
    case = ET.Element("testcase", classname=FINDINGS, name=_text(name))
    span = finding.location
    if span is not None:
        case.set("file", _text(setting.path_of(span.file).as_posix()))
        case.set("line", str(span.line))
    text = _text("\n".join(_lines(finding, setting)))
    if finding.severity == "note":
        ET.SubElement(case, "system-out").text = text
        return case
    message = _text(sentence(finding.message))
    failure = ET.SubElement(case, "failure", message=message, type=_text(finding.detector))
    failure.text = text
    return case


def _lines(finding: Finding, setting: Setting) -> Iterator[str]:
    yield f"{finding.severity}[{finding.detector}]: {sentence(finding.message)}"
    span = finding.location
    if span is not None:
        function = f" in {span.function}" if span.function not in (None, "<module>") else ""
        yield sentence(f"{setting.path_of(span.file).as_posix()}:{span.line}{function}")
    when = since(finding)
    if when:
        yield sentence(f"since {when}")
    yield from (f"- {sentence(claim_of(finding, one))}" for one in finding.evidence)
    for fix in offered_fixes(finding)[:1]:
        yield f"fix: {sentence(fix.title)}"
        yield from fix.diff.splitlines()


def _text(text: str) -> str:
    return NO_XML.sub("", printable(text))
