"""Does a resume restore everything? The program is ended one step after a save, and started again on its own files."""

from __future__ import annotations

from pathlib import Path

from torchwhy.detect.checks.questions.state.resume_restores import SLUG
from torchwhy.detect.views.schedules.schedule_facts import BY_METRIC
from torchwhy.record.learning import Experiment
from torchwhy.record.numbers import Real
from torchwhy.record.run_file import read_traces, write_run
from torchwhy.record.trace import Trace
from torchwhy.record.wiring import FileLoaded, FileSaved, SchedulerSeen, StateBeforeStep
from torchwhy.rehearse.confined_rehearsal import Rehearsed, Stage

ROUNDING = 1e-6  # of a learning rate: schedulers compute it by recursion or by a closed form
NOT_LOADED = "the program never loads what it saves"


class _RefusedError(Exception):
    """Why the question cannot be asked."""


def resume(stage: Stage, rehearsed: Rehearsed) -> Experiment:
    """Return what the step after a save begins with, without and with an interruption, or why that is unknown."""
    try:
        before, after = _run(stage, rehearsed)
    except _RefusedError as why:
        return _refused(why)
    return judge(rehearsed.trace, before, after)


def judge(rehearsed: Trace, before: Trace | None, after: Trace | None) -> Experiment:
    """Compare the step after the save in the interrupted run with the first step of the resumed one."""
    try:
        control, resumed, loaded = _states(rehearsed, before, after)
    except _RefusedError as why:
        return _refused(why)
    assert after is not None, "without a resumed run no states are compared"
    return _compared(control, resumed, loaded, _rate_jump(rehearsed, control, after))


def _rate_jump(rehearsed: Trace, control: StateBeforeStep, after: Trace) -> list[float]:
    """Return a rate of the resumed run that the uninterrupted one does not have after the save, and its range there.

    A resumed run may repeat part of an epoch, so its rates need not change at the same steps. One that forgot its
    scheduler begins the schedule anew. Rates within the range tell this only if the number of steps determines them.
    """
    going_on = [
        rate
        for step in rehearsed.steps
        if step.optimizer == control.optimizer and step.step > control.step
        for rate in step.rates
    ]
    if not going_on or not control.rates:
        return []
    going_on += control.rates
    kinds = [s.kind for s in rehearsed.of(SchedulerSeen) if s.optimizer == control.optimizer]
    by_steps = bool(kinds) and BY_METRIC not in kinds
    low, high = min(going_on), max(going_on)
    for step in after.steps:
        if step.optimizer != control.optimizer or step.step == 0 or not step.rates:
            continue
        if control.step + step.step > rehearsed.steps[-1].step:
            break  # The rehearsal does not show the rates from here on.
        rate = max(step.rates)
        known = any(abs(rate - one) <= ROUNDING * high for one in going_on)
        if not known and (by_steps or not low < rate < high):
            return [rate, low, high]
    return []


def _refused(why: _RefusedError) -> Experiment:
    return Experiment(step=0, question=SLUG, answer={"refused": str(why)})


def _run(stage: Stage, rehearsed: Rehearsed) -> tuple[Trace | None, Trace | None]:
    """Return the traces of the interrupted and of the resumed run."""
    saved = [one for one in rehearsed.trace.of(FileSaved) if 0 < one.step < rehearsed.steps]
    if not saved:
        any_at_all = rehearsed.trace.of(FileSaved)
        when = "between two of" if any_at_all else "in"
        raise _RefusedError(f"the program saves nothing {when} its first {rehearsed.steps} steps")
    if rehearsed.seconds > stage.seconds_left:
        raise _RefusedError("a second run would take longer than --limit leaves")
    place = stage.run_directory / "resume"
    again = place / "resumed"
    again.mkdir(parents=True, exist_ok=True)
    write_run(again, stage.variant(resume="resumed", stop_after_step=0))
    interrupted = stage.variant(resume="interrupted", stop_after_step=rehearsed.steps - 1)
    ended = stage.launch(place, interrupted, again)
    if ended.timed_out:
        raise _RefusedError("the program did not end within --limit when it was started again")
    return _only_trace(place), _only_trace(again)


def _only_trace(place: Path) -> Trace | None:
    traces = read_traces(place)
    return traces[0] if len(traces) == 1 else None


def _states(
    rehearsed: Trace, before: Trace | None, after: Trace | None
) -> tuple[StateBeforeStep, StateBeforeStep, FileLoaded]:
    """Return the states before the step after the save, and the load between; raise if they cannot be compared."""
    control = None if before is None else next(iter(before.of(StateBeforeStep)), None)
    if before is None or control is None:
        raise _RefusedError("a second run did not come to the save of the first")
    _check_repeats(rehearsed, before, control.step)
    if after is None:
        raise _RefusedError(NOT_LOADED)
    own = {one.path for one in before.of(FileLoaded)} - {one.path for one in before.of(FileSaved)}
    loads = [one for one in after.of(FileLoaded) if not one.step and one.path not in own]
    resumed = next(iter(after.of(StateBeforeStep)), None)
    if not loads:
        raise _RefusedError(NOT_LOADED)
    if resumed is None:
        raise _RefusedError(
            f"started again with `{Path(loads[0].path).name}`, the program makes no step"
        )
    if all(one.only_tensors for one in loads):
        name = Path(loads[0].path).name
        raise _RefusedError(
            f"`{name}` holds weights alone, so the program starts a new training from them"
        )
    if resumed.optimizer != control.optimizer or len(resumed.weights) != len(control.weights):
        raise _RefusedError("started again, the program begins with another optimizer")
    return control, resumed, next(one for one in loads if not one.only_tensors)


def _check_repeats(rehearsed: Trace, again: Trace, last: int) -> None:
    """Raise unless both runs have the same losses: otherwise a difference after the save says nothing."""
    first = {step.step: step.losses for step in rehearsed.steps if step.step < last}
    for step in again.steps:
        if step.step in first and step.losses != first[step.step]:
            raise _RefusedError(
                f"the program does not repeat itself: the loss of step {step.step} was "
                f"{_shown(first[step.step])}, then {_shown(step.losses)}"
            )


def _shown(losses: list[Real]) -> str:
    return f"{float(losses[0]):.6g}" if losses else "unknown"


def _compared(
    before: StateBeforeStep, after: StateBeforeStep, loaded: FileLoaded, jump: list[float]
) -> Experiment:
    states = list(zip(before.states, after.states, strict=True))
    answer: dict[str, Real | bool | str | list[float] | None] = {
        "file": Path(loaded.path).name,
        "weights": len(before.weights),
        "other_weights": _different(before.weights, after.weights),
        "states": sum(bool(one) for one in before.states),
        "other_states": sum(one != other for one, other in states if one),
        "lost_states": sum(not other for one, other in states if one),
        "rate": max(before.rates, default=None),
        "resumed_rate": max(after.rates, default=None),
        "same_random": before.random == after.random,
        "rate_jump": jump,
    }
    places = {} if loaded.location is None else {"loaded": loaded.location}
    return Experiment(step=before.step, question=SLUG, answer=answer, places=places)


def _different(one: list[str], other: list[str]) -> int:
    return sum(left != right for left, right in zip(one, other, strict=True))
