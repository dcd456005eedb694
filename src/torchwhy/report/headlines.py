"""What the user sees of a fault, and when: `training broke at step 3`."""

from __future__ import annotations

from pathlib import PurePath

from torchwhy.finding import Effect, Finding

WORDS: dict[Effect, str] = {
    "training-broke": "training broke",
    "nan-in-evaluation": "evaluation produced NaN",
    "infinity-in-evaluation": "evaluation produced an infinity",
    "nan-computed": "a NaN was computed",
    "infinity-computed": "an infinity was computed",
    "lost-batches": "training lost batches",
    "exception": "an exception",
    "memory-grows": "memory grows",
    "evaluation-wrong": "evaluation gives wrong numbers",
    "loss-grew": "the loss grew and stays high",
    "loss-never-falls": "the loss never falls",
    "fault": "training has a problem",
}
# What lasts for the whole run has no moment, nor has what a program does that makes no step.
LASTING = {"memory-grows", "evaluation-wrong", "loss-grew", "loss-never-falls"}
STEPLESS = {"nan-computed", "infinity-computed"}


def headline(root: Finding) -> str:
    """Return what broke and when: `an exception in forward at step 3`."""
    if root.step is None or root.effect in LASTING | STEPLESS:
        return effect_of(root)
    return f"{effect_of(root)} {moment(root.step)}"


def effect_of(root: Finding) -> str:
    """Return what the user sees of it: `an exception in forward`."""
    return WORDS[root.effect] + (_place(root) if root.effect == "exception" else "")


def moment(step: int) -> str:
    """Return `at step 3`."""
    return "before the first step" if step < 0 else f"at step {step}"


def _place(root: Finding) -> str:
    """Return the function in which the exception was raised, or else the file."""
    raised = _raised(root) or root
    at = raised.symptom_at or raised.location
    if at is None:
        return ""
    is_named = at.function is not None and not at.function.startswith("<")
    return f" in {at.function if is_named else PurePath(at.file).name}"


def _raised(root: Finding) -> Finding | None:
    """Return the exception among a root cause and what it explains."""
    if root.crash is not None:
        return root
    return next((found for one in root.explains if (found := _raised(one)) is not None), None)
