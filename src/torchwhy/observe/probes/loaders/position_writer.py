"""Writes the epoch and the batch of a step that fails, when it fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from torchwhy.finding import LoopPosition
from torchwhy.observe.probes.batches import BatchKeeper
from torchwhy.observe.probes.loaders.loader_log import LoaderLog, Position
from torchwhy.observe.probes.loaders.loop_position import Running, running_frames
from torchwhy.observe.steps.check import Check
from torchwhy.observe.torch_features.interpreter import frame_at
from torchwhy.record.events import Event
from torchwhy.record.inputs.data_events import PositionSeen


class PositionWriter:
    """Knows the newest batch, and asks the running loops which one it is."""

    def __init__(
        self,
        log: LoaderLog,
        batches: BatchKeeper,
        state: Position,
        write: Callable[[Event], None],
    ) -> None:
        self._log = log
        self._batches = batches
        self._state = state
        self._write = write

    def failed(self, check: Check) -> None:
        """Write the position of a bad step; one that was found late or mixes passes has none."""
        if check.since is not None or check.step != self._state.step:
            return
        watched, batches = check.watched, self._batches
        used = 1 if watched is None else batches.serial - watched.batches_at_last_step
        if used <= batches.drawn - batches.begun_at:
            found = self._position(running_frames(frame_at(1)))
            self._tell(found, earlier=max(used, 1) - 1)

    def died(self, frames: Iterable[Running]) -> None:
        """Write the position of an exception in a pass that trains, as far as is known by then."""
        stretch, step = self._log.stretch, self._state.step
        if stretch is not None and (not step or stretch.earlier or step > stretch.first_step):
            self._tell(self._position(frames))

    def _position(self, frames: Iterable[Running]) -> LoopPosition | None:
        batches = self._batches
        return self._log.position(frames, given=batches.drawn - batches.begun_at)

    def _tell(self, found: LoopPosition | None, *, earlier: int = 0) -> None:
        if found is not None:
            self._write(
                PositionSeen(
                    step=self._state.step,
                    epoch=found.epoch,
                    batch=found.batch,
                    first_batch=found.batch - earlier if earlier else None,
                )
            )
