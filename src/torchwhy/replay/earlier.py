"""What a rerun knows of the run it repeats: the failing step, its alarm, and the losses to compare with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchwhy.record.events import Alarm, Step
from torchwhy.record.trace import read_rank

if TYPE_CHECKING:
    from torchwhy.observe.session import Session


class EarlierRun:
    """Read once from the trace beside the rerun's own folder."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.step = int(session.rerun_step or 0)
        path = session.directory.parent / f"rank{session.rank}.jsonl"
        trace = read_rank(path) if path.exists() else None
        self._alarms = trace.of(Alarm) if trace else []
        self._losses = {(s.step, s.optimizer): s.losses for s in trace.of(Step)} if trace else {}

    def alarm_is(self, what: str) -> bool:
        """Tell whether the first alarm was of this kind."""
        return bool(self._alarms) and self._alarms[0].what == what

    def is_close(self, next_step: int) -> bool:
        """Tell whether the step about to begin is the failing one or the one before it."""
        return next_step >= self.step

    def is_repeated(self) -> bool | None:
        """Tell whether the losses up to now are those of the run; None while there is nothing to compare."""
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
        path = self._session.directory / f"rank{self._session.rank}.jsonl"
        again = (
            {(s.step, s.optimizer): s.losses for s in read_rank(path).of(Step)}
            if path.exists()
            else {}
        )
        shared = [key for key in again if key in self._losses and key[0] < self.step]
        return len(shared), sum(again[key] == self._losses[key] for key in shared)
