"""The verdict on a fix, by comparing a run with it to the broken one.

A fix cures if the trial ran to its end, nothing is found, the loss falls, and what the program states still holds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from torchwhy.finding import Finding, Fix, Verdict
from torchwhy.verify.run_result import ENOUGH_LOSSES, RunResult

REGAINED = 0.5  # A cured run must regain at least this share of what the broken one learnt before it failed.
# A broadcast loss, a mean over all pairs, falls although the model learns nothing, so the two losses do not compare.
OF_THE_LOSS = frozenset({"broadcast-in-loss"})
SAME = 1e-6  # Relative difference between losses of one batch with unchanged weights.
GRADIENTS_DIFFER = 1e-3  # Relative; another order of operations moves a gradient by 1e-6.
RAN_AWAY = 20.0  # A few losses of different batches lie within a smaller factor.
SAME_START = (
    0.2  # Losses that begin this far apart, relative to the larger one, may have different scales.
)
GREW = 2.0  # Losses that end this many times above their start are not those of a healthy run.


def compare(
    control: RunResult, trial: RunResult, finding: Finding, fix: Fix
) -> tuple[Verdict, str]:
    """Return the verdict on a trial, and the reason for it."""
    unfit = _unfit(control, trial, finding)
    if unfit is not None:
        return unfit
    changed = mixed_gradients(control, trial) or lost_gradients(control, trial)
    if changed is not None:
        return "changes-intent", changed
    if not learns_as_well(control, trial) and not is_another_loss(trial, finding):
        return "symptom-only", _does_not_learn(control, trial)
    if fix.hides:
        return "symptom-only", f"{_found(trial)}, but what makes the bad value is still there"
    doubt = next(_doubts(control, trial, finding), None)
    if doubt is not None:
        return "runs", f"{_found(trial)}, {doubt}"
    if goes_alike(control, trial):
        return "cured", f"{_found(trial)}, the same losses as without it"
    return "cured", _found(trial)


def _unfit(control: RunResult, trial: RunResult, finding: Finding) -> tuple[Verdict, str] | None:
    """Return the verdict on a trial that failed, or that made no step past the failure."""
    if trial.unwatched:
        return "not-run", "torchwhy could not start in the changed program"
    if trial.failure is not None:
        return "no-difference", str(trial.failure)
    left = remaining(trial, finding)
    if left is not None:
        return "no-difference", f"still {left.detector}: {left.message}"
    failing_step = finding.step if control.failure is not None else None
    if trial.timed_out and (failing_step is None or trial.steps <= failing_step):
        return "not-run", f"the time limit ended it at step {trial.steps}, too early to tell"
    if stands_still(control, trial):
        return "symptom-only", "no failure, but also no step past it"
    return None


def _doubts(control: RunResult, trial: RunResult, finding: Finding) -> Iterator[str]:
    """Yield why a run without failure is no proof of a cure."""
    if trial.timed_out:
        yield f"but the time limit ended it at step {trial.steps}"
    known = {finding.detector for finding in control.findings}
    if any(one.severity == "warning" and one.detector not in known for one in trial.findings):
        yield "which the failure had kept from showing"
    if _falls_less(control, trial) and not is_another_loss(trial, finding):
        yield "but its loss falls less than without it"
    if goes_alike(control, trial) or shows_learning(control, trial):
        return
    if not trial.losses:
        yield "but no loss was seen"
    elif shows_learning(control, trial) is None:
        yield "but too few steps to tell whether it learns"
    elif len(trial.players) > 1:
        yield "but the losses of its optimizers do not all fall"
    else:
        yield "but its loss does not fall"


def _found(trial: RunResult) -> str:
    """Return what is found in a trial that has no error."""
    if not trial.findings:
        return "no finding left"
    first = min(trial.findings, key=lambda one: one.severity != "warning")
    return f"the {first.severity} {first.detector} is left"


def shows_learning(control: RunResult, trial: RunResult) -> bool | None:
    """Tell whether the loss falls, over the whole trial or after the failure; None if there are too few losses."""
    if len(trial.players) > 1:
        return trial.learns
    later = trial.learns_after(control.steps) if control.failure is not None else False
    if trial.learns or later:
        return True
    return None if trial.learns is None or later is None else False


def remaining(trial: RunResult, finding: Finding) -> Finding | None:
    """Return the finding that still breaks the program: an error, or the same cause as before."""
    for one in trial.findings:
        if one.severity == "error" or one.detector == finding.detector:
            return one
    return None


def stands_still(control: RunResult, trial: RunResult) -> bool:
    """Tell whether a trial ended without a step past the failure, as a loop does that skips all bad batches."""
    return control.failure is not None and not trial.timed_out and trial.steps < control.steps


def learns_as_well(control: RunResult, trial: RunResult) -> bool:
    """Tell whether the cured program learns as well as the broken one did; True if too few losses tell."""
    if trial.learns is None:
        return not _grew(trial, RAN_AWAY)
    later = trial.learns_after(control.steps) if control.failure is not None else None
    if not trial.learns and not later:
        if control.failure is not None and later is None:
            return True
        # If the broken run had learnt nothing either, there may be nothing to learn.
        is_pinned = control.failure is not None and _is_constant(trial)
        return not control.learns and not _grew(trial) and not is_pinned
    if control.failure is not None and control.learns and not later:
        assert control.first is not None
        assert control.last is not None
        wanted = control.first - REGAINED * (control.first - control.last)
        return trial.last is not None and trial.last <= wanted
    return True


def _falls_less(control: RunResult, trial: RunResult) -> bool:
    """Tell whether a run that did not fail learnt much more without the change, from about the same loss."""
    first, last, start, end = control.first, control.last, trial.first, trial.last
    if control.failure is not None or not control.learns:
        return False
    if first is None or last is None or start is None or end is None:
        return False
    is_same_loss = math.isclose(first, start, rel_tol=SAME_START)
    return is_same_loss and end > first - REGAINED * (first - last)


def is_another_loss(trial: RunResult, finding: Finding) -> bool:
    """Tell whether the loss with the fix is another quantity, or need not fall, so that the two do not compare.

    The losses of players that learn to beat each other need not fall.
    """
    return (finding.detector in OF_THE_LOSS or len(trial.players) > 1) and not _grew(trial)


def goes_alike(control: RunResult, trial: RunResult) -> bool:
    """Tell whether a fix left the losses unchanged, as fixes for memory or evaluation must."""
    pairs = list(zip(control.losses, trial.losses, strict=False))
    return (
        control.failure is None
        and len(pairs) == len(control.losses) == len(trial.losses) > 1
        and all(math.isclose(before, after, rel_tol=SAME) for before, after in pairs)
    )


def healthy_change(control: RunResult, trial: RunResult) -> float | None:
    """Return how far a fix moves the losses of the steps before the failure, relative to the largest of them.

    None if there are fewer than two such steps, or if the loss had grown in them: they were not healthy.
    """
    before = control.finite_losses
    grew = bool(before) and before[-1] > GREW * abs(before[0])
    if control.failure is None or len(before) < 2 or grew:
        return None
    pairs = list(zip(before, trial.finite_losses, strict=False))
    scale = max(abs(loss) for loss in before) or 1.0
    return max((abs(after - loss) for loss, after in pairs), default=0.0) / scale


def mixed_gradients(control: RunResult, trial: RunResult) -> str | None:
    """Return which optimizer gets other gradients than before an exception ended the broken run; None if none does.

    With several optimizers, each has the gradients of its own loss. A change that moves a step behind another
    loss's backward pass adds the gradients of that loss to them.
    """
    if control.failure is None or not control.failure.is_exception or len(trial.gradients) < 2:
        return None
    after = {one.optimizer: one for one in trial.gradients}
    for one in control.gradients:
        got = after.get(one.optimizer)
        both = [] if got is None else [name for name in one.sizes if name in got.sizes]
        if got is not None and any(_differ(one.sizes[name], got.sizes[name]) for name in both):
            return (
                f"no failure, but the {one.name} steps with other gradients than without it: those of "
                "another loss are added"
            )
    return None


def lost_gradients(control: RunResult, trial: RunResult) -> str | None:
    """Return which parameters had gradients before an exception ended the broken run and get none any more."""
    if control.failure is None or not control.failure.is_exception:
        return None
    after = {one.optimizer: one for one in trial.gradients}
    for one in control.gradients:
        got = after.get(one.optimizer)
        lost = [
            name for name, size in one.sizes.items() if size and got and not got.sizes.get(name)
        ]
        if lost:
            have = f"and {len(lost) - 1} more have" if len(lost) > 1 else "has"
            return f"no failure, but {lost[0]} {have} no gradient any more"
    return None


def _differ(before: float, after: float) -> bool:
    if not math.isfinite(before):
        return False
    return not math.isclose(before, after, rel_tol=GRADIENTS_DIFFER, abs_tol=1e-12)


def _grew(trial: RunResult, times: float = GREW) -> bool:
    """Tell whether the loss ends far above its start.

    A loss around 0, such as the objective of a policy, is compared with the largest one of the first half.
    """
    first, last = trial.first, trial.last
    if first is None or last is None:
        return False
    early = trial.finite_losses[: (len(trial.finite_losses) + 1) // 2]
    both_signs = min(early) < 0.0 < max(early)
    return last > times * (max(map(abs, early)) if both_signs else abs(first))


def _is_constant(trial: RunResult) -> bool:
    """Tell whether the loss is constant in the second half, because the change blocks the gradient."""
    losses = trial.finite_losses
    late = losses[len(losses) // 2 :]
    return len(losses) >= ENOUGH_LOSSES and max(late) - min(late) <= SAME * abs(max(late))


def _does_not_learn(control: RunResult, trial: RunResult) -> str:
    assert trial.last is not None
    gone = "the finding is gone"
    if control.failure is not None:
        gone = "no NaN" if control.failure.is_nan else "no failure"
    return f"{gone}, but the loss stays at {trial.last:.3g}"
