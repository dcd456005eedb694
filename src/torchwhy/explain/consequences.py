"""Which troubles of training may follow from which: a table between the names of detectors.

A pair in the table is a possibility. It becomes a cause only when both were found, the cause by its own proof, and
the cause was there no later than what it is to explain.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.registry import all_detectors
from torchwhy.finding import Finding

# What a network looks like that does not learn, whatever the reason.
SYMPTOMS = (
    "stuck-loss",
    "collapsed-output",
    "vanishing-gradients",
    "dead-units",
    "saturated-activations",
)

# From the nearest cause to the one furthest back: of several that fit, the first is taken.
MAY_EXPLAIN: dict[str, tuple[str, ...]] = {
    "collapsed-output": ("stuck-loss",),
    "dead-units": ("stuck-loss", "collapsed-output", "vanishing-gradients"),
    "vanishing-gradients": ("stuck-loss", "collapsed-output"),
    "saturated-activations": ("stuck-loss", "collapsed-output", "vanishing-gradients"),
    "loss-spike": SYMPTOMS,
    "learning-rate-too-low": ("stuck-loss",),
    "learning-rate-too-high": (*SYMPTOMS, "loss-spike", "collapsing-loss-scale"),
    "weight-decay-too-strong": (*SYMPTOMS, "loss-spike"),
    "momentum-too-high": (*SYMPTOMS, "loss-spike", "learning-rate-too-high"),
    "exploding-gradients": (
        *SYMPTOMS,
        "loss-spike",
        "learning-rate-too-high",
        "collapsing-loss-scale",
    ),
    "unscaled-targets": (
        *SYMPTOMS,
        "loss-spike",
        "learning-rate-too-high",
        "learning-rate-too-low",
        "exploding-gradients",
    ),
    # Relative to weights of 0 every update is too large.
    "constant-initialisation": (*SYMPTOMS, "learning-rate-too-low", "learning-rate-too-high"),
    "badly-scaled-initialisation": (
        *SYMPTOMS,
        "loss-spike",
        "learning-rate-too-high",
        "exploding-gradients",
    ),
    "unscaled-inputs": (
        *SYMPTOMS,
        "loss-spike",
        "learning-rate-too-high",
        "exploding-gradients",
        "unscaled-targets",
        "wrong-value-range",
    ),
    # Wiring: what the program does not do explains what its training looks like.
    "clip-after-step": ("exploding-gradients", "loss-spike", "learning-rate-too-high"),
    # Clipped with the loss scale still in them, gradients are clipped to nothing.
    "clip-of-infinite-norm": (*SYMPTOMS, "learning-rate-too-low"),
    "missing-zero-grad": (
        *SYMPTOMS,
        "loss-spike",
        "learning-rate-too-high",
        "momentum-too-high",
        "exploding-gradients",
        "collapsing-loss-scale",
    ),
    "sum-over-batch": (*SYMPTOMS, "loss-spike", "learning-rate-too-high", "exploding-gradients"),
    "zero-grad-after-backward": (*SYMPTOMS, "learning-rate-too-low", "detached-graph"),
    "detached-graph": ("unused-parameters",),
    "missing-backward": (*SYMPTOMS, "learning-rate-too-low", "missing-no-grad"),
    "missing-optimizer-step": (*SYMPTOMS, "learning-rate-too-low"),
    "scheduler-misuse": (*SYMPTOMS, "learning-rate-too-low", "learning-rate-too-high"),
    "training-in-eval-mode": ("evaluation-in-train-mode", "loss-spike"),
    "evaluation-in-train-mode": ("missing-no-grad",),
    "parameters-not-in-optimizer": (*SYMPTOMS, "learning-rate-too-low"),
    "stale-optimizer-parameters": (
        *SYMPTOMS,
        "learning-rate-too-low",
        "parameters-not-in-optimizer",
        "detached-graph",
        "unused-parameters",
    ),
    "unregistered-submodules": (
        *SYMPTOMS,
        "learning-rate-too-low",
        "parameters-not-in-optimizer",
        "detached-graph",
    ),
    "frozen-everything": (
        *SYMPTOMS,
        "learning-rate-too-low",
        "parameters-not-in-optimizer",
        "detached-graph",
    ),
}
NEARNESS = list(MAY_EXPLAIN)
# A program that is wired wrongly, or fed wrongly, does not learn; then the symptom is no cause of its own.
FAMILIES_BEHIND_SYMPTOMS = ("wiring", "data")


def causes_by_name(finding: Finding, findings: list[Finding]) -> Iterator[int]:
    """Yield the places of findings that may explain one, the nearest cause first."""
    by_table = [
        place
        for place, other in enumerate(findings)
        if finding.detector in MAY_EXPLAIN.get(other.detector, ()) and _not_later(other, finding)
    ]
    yield from sorted(by_table, key=lambda place: NEARNESS.index(findings[place].detector))
    if finding.detector in (*SYMPTOMS, "learning-rate-too-low"):
        yield from (
            place
            for place, other in enumerate(findings)
            if other.severity != "note" and family_of(other) in FAMILIES_BEHIND_SYMPTOMS
        )


def family_of(finding: Finding) -> str:
    """Return the folder that a finding's detector lives in: numerics, dynamics, wiring …"""
    detector = all_detectors().get(finding.detector)
    parts = detector.__module__.split(".") if detector is not None else []
    return parts[-2] if len(parts) > 1 else ""


def _not_later(cause: Finding, consequence: Finding) -> bool:
    if cause.severity == "note":
        return False
    return cause.step is None or consequence.step is None or cause.step <= consequence.step
