"""Which cause precedes which: every table by which `explain` arbitrates between findings."""

from __future__ import annotations

from torchwhy.detect.registry import all_detectors
from torchwhy.finding import Finding

# Several causes may recognise one birth or one exception; the most specific one reports it. Most causes name the
# mistake and have 0. Those above prove more; those below only say that something failed. Why an operation fails is
# not decided here: `detect/rules/operand_domains.py` gives each birth one cause.
SPECIFICITY = {
    "optimizer-epsilon": 1,
    "unexplained-nonfinite": -1,
    "batchnorm-of-one": 3,
    "ragged-last-batch": 2,
    "ragged-batch": 1,
    "unexplained-error": -1,
}

# Causes that explain the same measured excess. The first of a row gives way to the others, which lie further back: with
# inputs of size 1 the gradient would not have exploded.
GIVES_WAY_TO: dict[str, tuple[str, ...]] = {
    "exploding-gradients": ("unscaled-inputs", "unscaled-targets"),
    "badly-scaled-initialisation": ("unscaled-inputs",),
    "sum-over-batch": ("unscaled-inputs", "unscaled-targets"),
    "learning-rate-too-high": ("weight-decay-too-strong",),
}

# A network that does not learn shows these, whatever the cause.
SYMPTOMS = (
    "stuck-loss",
    "collapsed-output",
    "vanishing-gradients",
    "dead-units",
    "saturated-activations",
)

# From the nearest cause to the one furthest back; of several that fit, the first counts.
MAY_EXPLAIN: dict[str, tuple[str, ...]] = {
    "collapsed-output": ("stuck-loss",),
    "dead-units": ("stuck-loss", "collapsed-output", "vanishing-gradients"),
    "vanishing-gradients": ("stuck-loss", "collapsed-output"),
    "saturated-activations": ("stuck-loss", "collapsed-output", "vanishing-gradients"),
    "loss-spike": SYMPTOMS,
    "learning-rate-too-low": ("stuck-loss",),
    "learning-rate-too-high": (*SYMPTOMS, "loss-spike", "collapsing-loss-scale"),
    "weight-decay-too-strong": (*SYMPTOMS, "loss-spike"),
    "loss-maximised": (*SYMPTOMS, "loss-spike", "learning-rate-too-high"),
    "impossible-loss": (*SYMPTOMS, "loss-spike", "learning-rate-too-high", "exploding-gradients"),
    "mask-inverted": (*SYMPTOMS, "inputs-ignored"),
    "inputs-ignored": SYMPTOMS,
    "labels-unrelated": (*SYMPTOMS, "overfitting"),
    "noise-drawn-twice": (*SYMPTOMS, "labels-unrelated", "inputs-ignored"),
    "constant-feature": SYMPTOMS,
    "self-as-negative": SYMPTOMS,
    "labels-without-effect": SYMPTOMS,
    "target-not-detached": SYMPTOMS,
    "pairs-shuffled-apart": (*SYMPTOMS, "labels-unrelated", "overfitting"),
    # The loss of the held-out batches, by which labels are compared, is that of the outlier.
    "outliers": (
        *SYMPTOMS,
        "labels-unrelated",
        "loss-spike",
        "unscaled-inputs",
        "unscaled-targets",
    ),
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
    # Every update is too large relative to weights of 0.
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
    # Wiring: a missing or misplaced call explains how training goes.
    "clip-after-step": ("exploding-gradients", "loss-spike", "learning-rate-too-high"),
    # Gradients that are clipped before unscaling end up close to 0.
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
    "undivided-accumulation": (
        *SYMPTOMS,
        "loss-spike",
        "learning-rate-too-high",
        "exploding-gradients",
    ),
    "updates-rounded-away": (*SYMPTOMS, "learning-rate-too-low"),
    "reentrant-checkpoint": (*SYMPTOMS, "detached-graph", "unused-parameters"),
    "stale-running-statistics": ("evaluation-in-train-mode",),
    "zero-grad-after-backward": (*SYMPTOMS, "learning-rate-too-low", "detached-graph"),
    "detached-graph": ("unused-parameters", "detached-loss-term"),
    "detached-loss-term": SYMPTOMS,
    "discarded-result": (
        *SYMPTOMS,
        "future-leak",
        "mask-inverted",
        "loss-spike",
        "unused-parameters",
        "probabilities-into-nll",
        "unscaled-inputs",
        "unscaled-targets",
        "sum-over-batch",
        "learning-rate-too-high",
        "exploding-gradients",
    ),
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
# From the nearest cause to the one furthest back.
NEARNESS = list(MAY_EXPLAIN)
# Wrong wiring or wrong data keeps a program from learning, so a symptom is not a cause of its own there.
FAMILIES_BEHIND_SYMPTOMS = ("wiring", "data")


def specificity(finding: Finding) -> int:
    """Return how specific a cause is among those that recognise the same event."""
    return SPECIFICITY.get(finding.detector, 0)


def family_of(finding: Finding) -> str:
    """Return the folder of the finding's cause: numerics, dynamics, wiring …"""
    detector = all_detectors().get(finding.detector)
    parts = detector.__module__.split(".") if detector is not None else []
    return parts[-2] if len(parts) > 1 else ""


def is_dynamics(finding: Finding) -> bool:
    """Tell whether the finding is about how training went, and so lies further back than the births it names."""
    return family_of(finding) == "dynamics"


def is_about_exception(finding: Finding) -> bool:
    """Tell whether the finding explains an exception."""
    return family_of(finding) == "errors"
