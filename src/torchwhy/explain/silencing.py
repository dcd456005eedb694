"""Takes allowed findings out of a story: what follows from one takes its place, and the worst that is left leads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

from torchwhy.detect.allowances import Allowances
from torchwhy.explain.ancestry import SEVERITIES
from torchwhy.explain.effects import effect_of
from torchwhy.finding import Finding, Silenced
from torchwhy.plain_data import dataclass
from torchwhy.record.trace import Trace


@dataclass
class Silencing:
    """The findings that are left, and those that were silenced."""

    kept: list[Finding] = field(default_factory=list)
    silenced: list[Silenced] = field(default_factory=list)


def silence(
    findings: Sequence[Finding], allowances: Allowances, traces: Sequence[Trace]
) -> Silencing:
    """Return the findings without the allowed ones."""
    result = Silencing()
    result.kept = _without_allowed(findings, allowances, result.silenced)
    if not result.silenced:
        return Silencing(list(findings))
    by_rank = {trace.rank: trace for trace in traces}
    told = {id(finding) for finding in findings}
    result.kept = [
        one if id(one) in told else replace(one, effect=effect_of(one, by_rank[one.rank]))
        for one in sorted(result.kept, key=lambda one: SEVERITIES.index(one.severity))
    ]
    return result


def _without_allowed(
    findings: Sequence[Finding], allowances: Allowances, silenced: list[Silenced]
) -> list[Finding]:
    kept: list[Finding] = []
    for finding in findings:
        below = _without_allowed(finding.explains, allowances, silenced)
        allowed = allowances.silenced(finding)
        if allowed is not None:
            silenced.append(allowed)
            kept += below
        elif len(below) == len(finding.explains) and all(
            one is other for one, other in zip(below, finding.explains, strict=True)
        ):
            kept.append(finding)
        else:
            kept.append(replace(finding, explains=tuple(below)))
    return kept
