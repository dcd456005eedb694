"""A fix and its trial as they stand in report.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torchwhy.finding import Fix, Trial
from torchwhy.record.numbers import Real, decode, encode


def real_of(value: float | str | None) -> Real | None:
    """Return a number as JSON can hold it."""
    return encode(value) if isinstance(value, float) else value


def fix_to_json(fix: Fix) -> dict[str, Any]:
    """Return a fix and its trial as plain data."""
    trial = fix.trial
    return {
        "title": fix.title,
        "diff": fix.diff,
        "safety": fix.safety,
        "command": list(fix.command),
        "environment": list(fix.environment),
        "hides": fix.hides,
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
            "healthy_change": real_of(trial.healthy_change),
        },
    }


def _curve_to_json(curve: Sequence[float] | None) -> list[Real | None] | None:
    return None if curve is None else [real_of(value) for value in curve]


def _measures_to_json(measures: Mapping[str, float] | None) -> dict[str, Real | None]:
    return {name: real_of(value) for name, value in (measures or {}).items()}


def fix_from_json(facts: Mapping[str, Any]) -> Fix:
    """Return the fix that `fix_to_json` wrote."""
    trial = facts["trial"]
    healthy_change = trial.get("healthy_change")
    return Fix(
        facts["title"],
        diff=facts["diff"],
        safety=facts["safety"],
        command=tuple(facts.get("command", ())),
        environment=tuple(facts.get("environment", ())),
        hides=facts.get("hides", False),
        trial=Trial(
            trial["verdict"],
            trial["steps"],
            before=_measures_from_json(trial["before"]),
            after=_measures_from_json(trial["after"]),
            with_it=trial.get("with_it", trial.get("summary", "")),
            without_it=trial.get("without_it", ""),
            before_losses=_curve_from_json(trial.get("before_losses")),
            after_losses=_curve_from_json(trial.get("after_losses")),
            healthy_change=None if healthy_change is None else decode(healthy_change),
        ),
    )


def _curve_from_json(curve: Sequence[Real] | None) -> tuple[float, ...] | None:
    return None if curve is None else tuple(decode(value) for value in curve)


def _measures_from_json(measures: Mapping[str, Real]) -> dict[str, float] | None:
    return {name: decode(value) for name, value in measures.items()} or None
