"""What a rerun knows of the run that it repeats: the failing step, its alarm, and its losses."""

from __future__ import annotations

from collections.abc import Sequence

from torchwhy.observe.settings import Settings
from torchwhy.record.births import came_from_nowhere, made_after
from torchwhy.record.events import Alarm, Step, StepInputs
from torchwhy.record.kept.kept_failure import StateKept
from torchwhy.record.numbers import Real
from torchwhy.record.trace import Trace, read_rank

STEPS_OF_ONE_TENSOR = 40  # that may use a tensor made once: the epochs and parts of a rollout
MOST_STEPS_BEFORE = 300  # since all was fine; more take too long under the microscope


class EarlierRun:
    """Reads the trace beside the rerun's own folder."""

    def __init__(self, settings: Settings) -> None:
        self._own_trace = settings.directory / f"rank{settings.rank}.jsonl"
        self.step = int(settings.rerun_step or 0)
        path = settings.directory.parent / f"rank{settings.rank}.jsonl"
        trace = read_rank(path) if path.exists() else None
        self._alarms = trace.of(Alarm) if trace else []
        self._looks_from = _first_to_look_at(self._alarms, self.step)
        if trace is not None and came_from_nowhere(trace, self.step):
            since = made_after(trace, self.step)
            since = self.step - STEPS_OF_ONE_TENSOR if since is None else since
            if self.step - since <= MOST_STEPS_BEFORE:
                self._looks_from = min(self._looks_from, max(0, since))
        states = trace.of(StateKept) if trace else []
        self._lost_state = any(one.unkept == "update-made" for one in states)
        seen = trace.of(StepInputs) if trace else []
        self._digests = next((one.digests for one in seen if one.step == self.step), {})
        self._losses = _losses_of(trace) if trace else {}

    @property
    def failed_in_compiled_code(self) -> bool:
        """Tell whether the failing step is part of compiled code, which a rerun has to run eagerly."""
        return any(alarm.compiled for alarm in self._alarms)

    def wants_state_of(self, step: int) -> bool:
        """Tell whether the state before this step is worth keeping: the run noticed the bad update too late."""
        return self._lost_state and step == self.step == self._looks_from

    def alarm_is(self, what: str) -> bool:
        """Tell whether the first alarm was of this kind."""
        return bool(self._alarms) and self._alarms[0].what == what

    def is_close(self, next_step: int) -> bool:
        """Tell whether the step about to begin is the failing one, or one in which its cause may lie."""
        return next_step >= self._looks_from

    def moved(self, digests: dict[str, str]) -> list[str]:
        """Return the variables that had other values when the step failed, by digests of the present ones."""
        known = self._digests
        return [name for name in digests if name in known and digests[name] != known[name]]

    def is_repeated(self) -> bool | None:
        """Tell whether the losses so far are those of the run; None if there is nothing to compare."""
        shared, equal = self._compared()
        return equal == shared if shared else None

    def faithfulness(self) -> str:
        """Say how well the rerun's losses agree with those of the run."""
        shared, equal = self._compared()
        if not shared:
            return "no loss before the failing step to compare with"
        if equal == shared:
            return f"all {equal} losses before the failing step are equal to the last digit"
        return f"{equal} of {shared} losses before the failing step are equal"

    def _compared(self) -> tuple[int, int]:
        """Return how many losses before the failing step both runs have, and how many of them are equal."""
        path = self._own_trace
        repeated = _losses_of(read_rank(path)) if path.exists() else {}
        shared = [key for key in repeated if key in self._losses and key[0] < self.step]
        return len(shared), sum(repeated[key] == self._losses[key] for key in shared)


def _losses_of(trace: Trace) -> dict[tuple[int, int], list[Real]]:
    """Return the losses of each step that has some; those of a closure are recorded when it has run."""
    return {(s.step, s.optimizer): s.losses for s in trace.of(Step) if s.losses}


def _first_to_look_at(alarms: Sequence[Alarm], step: int) -> int:
    """Return the failing step, or the last one known to be fine if that is not long before."""
    since = alarms[0].since if alarms else None
    return step if since is None or step - since > MOST_STEPS_BEFORE else since
