"""Findings → one story: the root cause first, its consequences under it, without duplicates.

The births of the findings decide: which value came from which, which backward formula belongs to which expression,
what happened first. Where they do not, the tables in precedence.py do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from torchwhy.explain.ancestry import SEVERITIES, Ancestry
from torchwhy.explain.differential import (
    causes_by_name,
    follows_an_alarm,
    keep_accountable,
    keep_most_specific,
    keep_one_per_crash,
)
from torchwhy.explain.effects import effect_of
from torchwhy.explain.precedence import is_about_exception, is_dynamics
from torchwhy.finding import Evidence, Finding
from torchwhy.record.trace import Trace


def tell(findings: list[Finding], trace: Trace) -> list[Finding]:
    """Return the findings as trees, with consequences in `explains`: errors first, the root cause on top."""
    ancestry = Ancestry(trace)
    weighed = sorted(keep_accountable(findings), key=ancestry.rank)
    kept = keep_most_specific(merge_repeats(keep_one_per_crash(weighed), ancestry))
    causes = dict(find_causes(kept, ancestry))
    causes.update(find_fatal_values(kept, trace))
    grown = [
        grow(finding, kept=kept, causes=causes)
        for number, finding in sorted(enumerate(kept), key=lambda pair: ancestry.rank(pair[1]))
        if number not in causes
    ]
    return [replace(one, effect=effect_of(one, trace)) for one in grown]


def merge_repeats(findings: list[Finding], ancestry: Ancestry) -> list[Finding]:
    """Return the findings with repeats of one detector at one expression merged into the first, with their number."""
    groups: dict[object, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(_place(finding), []).append(finding)
    return [_merged(sorted(group, key=ancestry.position)) for group in groups.values()]


def _place(finding: Finding) -> object:
    where = finding.location
    if where is None:
        return finding.detector, repr(finding.diagnosis)
    return finding.detector, where.file, where.line, where.column, where.end_column


def _merged(group: list[Finding]) -> Finding:
    first, *others = group
    if not others:
        return first
    births = dict.fromkeys(birth for finding in group for birth in finding.births)
    steps = sorted({finding.step for finding in group if finding.step is not None})
    when = f", at steps {steps[0]} to {steps[-1]}" if len(steps) > 1 else ""
    count = Evidence(f"found {len(group)} times at this place{when}", value=float(len(group)))
    return replace(first, births=tuple(births), evidence=(*first.evidence, count))


def find_causes(findings: list[Finding], ancestry: Ancestry) -> Iterator[tuple[int, int]]:
    """Yield (consequence, cause) as indices; findings in no pair are independent."""
    chosen: dict[int, int] = {}
    for number in range(len(findings)):
        for cause in _candidates(number, findings, ancestry):
            if not _leads_to(cause, number, chosen):
                chosen[number] = cause
                yield number, cause
                break


def find_fatal_values(findings: list[Finding], trace: Trace) -> Iterator[tuple[int, int]]:
    """Yield (exception, cause) as indices for exceptions that a non-finite value caused."""
    sources = [number for number, finding in enumerate(findings) if finding.births]
    for number, finding in enumerate(findings):
        if sources and number not in sources and follows_an_alarm(finding, trace):
            yield number, sources[0]


def _leads_to(start: int, goal: int, chosen: dict[int, int]) -> bool:
    """Tell whether following causes from `start` reaches `goal`, which would close a cycle."""
    place: int | None = start
    while place is not None:
        if place == goal:
            return True
        place = chosen.get(place)
    return False


def _candidates(number: int, findings: list[Finding], ancestry: Ancestry) -> Iterator[int]:
    """Yield the possible causes of one finding, the nearest first."""
    finding = findings[number]
    others = [other for other in range(len(findings)) if other != number]
    if not finding.births:
        if is_about_exception(finding):
            yield from (other for other in others if ancestry.was_refused(findings[other]))
        yield from causes_by_name(finding, findings)
        return
    births = [
        other for other in others if findings[other].births and not is_dynamics(findings[other])
    ]
    if not is_dynamics(finding):
        yield from _by_descent(finding, births, findings=findings, ancestry=ancestry)
        yield from (
            other for other in births if ancestry.spoiled_the_loss_of(finding, findings[other])
        )
        yield from (
            other for other in births if ancestry.wrote_the_weights_of(finding, findings[other])
        )
        yield from (
            other
            for other in others
            if is_dynamics(findings[other]) and ancestry.not_before(finding, findings[other])
        )
    yield from causes_by_name(finding, findings)


def _by_descent(
    finding: Finding, others: list[int], *, findings: list[Finding], ancestry: Ancestry
) -> Iterator[int]:
    """Yield the findings whose births are ancestors, if every birth of the finding descends from one of them."""
    owned = {birth for other in others for birth in findings[other].births} - set(finding.births)
    if not all(ancestry.of(birth) & owned for birth in finding.births):
        return
    ancestors = {above for birth in finding.births for above in ancestry.of(birth)}
    related = [
        other for other in others if ancestors & (set(findings[other].births) - set(finding.births))
    ]
    yield from sorted(related, key=lambda other: ancestry.position(findings[other]), reverse=True)


def grow(finding: Finding, *, kept: list[Finding], causes: dict[int, int]) -> Finding:
    """Return the finding with everything it explains under it, in the order of `kept`.

    A warning that explains an error becomes an error.
    """
    number = next(place for place, other in enumerate(kept) if other is finding)
    below = tuple(
        grow(kept[consequence], kept=kept, causes=causes)
        for consequence, cause in sorted(causes.items())
        if cause == number
    )
    if not below:
        return finding
    worst = min((finding, *below), key=lambda one: SEVERITIES.index(one.severity))
    severity = worst.severity if finding.severity == "warning" else finding.severity
    return replace(finding, explains=(*finding.explains, *below), severity=severity)
