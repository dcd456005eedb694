"""What the callbacks of Lightning, Transformers and Ignite share: a block that knows how the framework counts.

The framework's own epoch, batch and global step go into the notes of the report, and findings to the run's trackers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from torchwhy.integrations.block import watch
from torchwhy.integrations.run_trackers import Tracker, active_trackers
from torchwhy.plain_data import dataclass
from torchwhy.report.model import Report


@dataclass(frozen=True)
class Position:
    """Where training stands, as the framework counts."""

    epoch: int
    batch: int
    global_step: int


@dataclass(frozen=True)
class Framework:
    """How a framework counts."""

    name: str
    first: int  # number of the first epoch and the first batch
    counter: str  # what it calls the number that loggers get
    closely: str  # what asks for a close look


@dataclass
class _Epoch:
    step: int  # ours, at its first batch
    first: Position
    last: Position
    last_step: int
    is_even: bool = True  # each batch is one step of ours and one of the framework's


class Positions:
    """The framework's position at each step of ours; one entry for each epoch."""

    def __init__(self) -> None:
        self._epochs: list[_Epoch] = []

    def note(self, step: int, now: Position) -> None:
        """Note where training stands when `step` begins."""
        epoch = self._epochs[-1] if self._epochs else None
        if epoch is None or now.epoch != epoch.first.epoch:
            self._epochs.append(_Epoch(step, now, now, step))
            return
        made, first = step - epoch.step, epoch.first
        if now.batch - first.batch != made or now.global_step - first.global_step != made:
            epoch.is_even = False
        if step != epoch.last_step:  # the first of the batches whose gradients are accumulated
            epoch.last, epoch.last_step = now, step

    def at(self, step: int) -> Position | None:
        """Return the position of a step; None if it is not certain."""
        epoch = next((one for one in reversed(self._epochs) if one.step <= step), None)
        if epoch is None or step > epoch.last_step:
            return None
        if step == epoch.last_step:
            return epoch.last
        if not epoch.is_even:
            return None
        made, first = step - epoch.step, epoch.first
        return Position(first.epoch, first.batch + made, first.global_step + made)


class FrameworkBlock(watch):
    """A block from the beginning of a framework's training to its end."""

    def __init__(self, framework: Framework, **options: Any) -> None:
        super().__init__(**options)
        self._framework = framework
        self._again_closely = f"train again with `{framework.closely}`"
        self._positions = Positions()
        self._trackers: list[Tracker] = []

    def anew(self, trackers: Iterable[Tracker] = ()) -> FrameworkBlock:
        """Return the block for another training; `trackers` are those that only the framework knows."""
        self._positions = Positions()
        self._trackers = []
        self.add_trackers(trackers)
        return self

    def add_trackers(self, trackers: Iterable[Tracker]) -> None:
        """Tell findings to these trackers, too."""
        with suppress(Exception):  # a tracker that is not as we know it
            self._trackers += trackers

    @property
    def is_watching(self) -> bool:
        """Tell whether this block watches, and does not yield to another one."""
        return self._block is not None

    def end(self, error: BaseException | None) -> None:
        """Leave the block if it is entered; raises `TrainingBroke` as a `with` block would."""
        __tracebackhide__ = True
        if self._entered:
            self.__exit__(type(error) if error is not None else None, error, None)

    def note(self, position: Callable[[], Position]) -> None:
        """Note where training stands at the beginning of a batch."""
        block = self._block
        step = None if block is None else block.step
        if step is not None:
            self._positions.note(step, position())

    def _notes(self, report: Report) -> tuple[str, ...]:
        root, framework = report.root_cause, self._framework
        at = None if root is None or root.step is None else self._positions.at(root.step)
        if root is None or at is None:
            return ()
        told = f"{framework.name} counts step {root.step} as {framework.counter} {at.global_step}"
        place = f"batch {at.batch} of epoch {at.epoch}, both counted from {framework.first}"
        return (f"{told}: {place}.",)

    def _show(self) -> None:
        super()._show()
        report = self._report
        if report is None or report.root_cause is None:
            return
        step = report.root_cause.step
        at = None if step is None else self._positions.at(step)
        with suppress(Exception):
            trackers = [*self._trackers, *active_trackers(but=self._trackers)]
            for tracker in trackers:
                tracker.tell(report, step if at is None else at.global_step)
