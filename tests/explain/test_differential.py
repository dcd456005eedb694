"""Of rival causes the one furthest back that covers the excess is kept."""

from __future__ import annotations

from tests.support.findings import said
from torchwhy.explain.differential import keep_accountable
from torchwhy.finding import Account, Finding


def claim(detector: str, account: Account | None = None, severity: str = "error") -> Finding:
    return Finding(detector, severity, said("told"), account=account)  # type: ignore[arg-type]


def names(findings: list[Finding]) -> list[tuple[str, str]]:
    return [(finding.detector, finding.severity) for finding in keep_accountable(findings)]


def test_cause_that_covers_the_excess_is_kept():
    assert names([claim("unscaled-inputs", Account(50.0, 1e4))]) == [("unscaled-inputs", "error")]


def test_cause_that_does_not_cover_the_excess_is_dropped():
    assert names([claim("unscaled-inputs", Account(1e9, 1e4))]) == []


def test_what_is_left_to_say_replaces_a_cause_that_does_not_cover_the_excess():
    account = Account(1e9, 32.0, otherwise=claim("sum-over-batch", severity="note"))

    assert names([claim("sum-over-batch", account)]) == [("sum-over-batch", "note")]


def test_rival_gives_way_to_the_cause_further_back():
    rivals = [claim("exploding-gradients", Account()), claim("unscaled-inputs", Account(50.0, 1e4))]

    assert names(rivals) == [("unscaled-inputs", "error")]


def test_rival_stays_where_the_cause_further_back_does_not_cover():
    rivals = [claim("exploding-gradients", Account()), claim("unscaled-inputs", Account(1e9, 1e4))]

    assert names(rivals) == [("exploding-gradients", "error")]


def test_note_takes_no_place_of_a_rival():
    rivals = [claim("exploding-gradients", Account()), claim("unscaled-targets", severity="note")]

    assert ("exploding-gradients", "error") in names(rivals)


def test_cause_with_a_mechanism_of_its_own_is_no_rival():
    both = [claim("exploding-gradients"), claim("unscaled-inputs", Account(50.0, 1e4))]

    assert len(names(both)) == 2
