"""One watched process: owns the writer, the hooks and the probes, and ends them in the right order."""

from __future__ import annotations

import atexit
import json
import os
import platform
import sys
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch

from torchwhy.observe.guest import Guests
from torchwhy.observe.hooks import Hooks
from torchwhy.observe.native.native_descriptors import descriptors_for
from torchwhy.observe.probe_wiring import ProbeWiring
from torchwhy.observe.probes.batches import BatchKeeper
from torchwhy.observe.probes.call_order import CallOrder
from torchwhy.observe.probes.memory.holdings import HoldingsProbe
from torchwhy.observe.probes.metrics.evaluations import Evaluations
from torchwhy.observe.probes.modes import ModeCounter
from torchwhy.observe.probes.state_dicts import StateDicts
from torchwhy.observe.program import frames, seeds
from torchwhy.observe.program.exceptions import clean, note_uncaught
from torchwhy.observe.program.names import Names
from torchwhy.observe.program.program_files import ProgramFiles
from torchwhy.observe.steps.budget import Budget
from torchwhy.observe.steps.cruise import Cruise
from torchwhy.observe.steps.sentinel import Handler, Sentinel
from torchwhy.observe.torch_features.loader_parts import leave_in_workers
from torchwhy.observe.torch_features.torch_internals import is_launchers_own
from torchwhy.record.events import SCHEMA, Event, RunEnded, RunStarted
from torchwhy.record.step_log import StepLog
from torchwhy.record.writer import RECORDING_STOPPED, TraceWriter
from torchwhy.source import files

FEW_EVENTS = 4  # that are written after a step, of those that were postponed


class Session:
    """Everything of ours that lives in the user's process."""

    def __init__(self, directory: Path) -> None:
        self.began = time.perf_counter()
        self.directory = directory
        self.configuration: dict[str, Any] = json.loads((directory / "run.json").read_text("utf-8"))
        self.rank = int(os.environ.get("RANK", "0") or 0)
        self._seeds: dict[str, Any] | None = None
        self.writer = TraceWriter(directory, rank=self.rank, header=self._header)
        self.guests = Guests(self.write)
        self.hooks = Hooks()
        self.names = Names(visit=lambda: self.guests.visit)
        self.batches = BatchKeeper()
        self.holdings = HoldingsProbe(self)
        self.program_files = ProgramFiles(self.write)
        self.sentinel = Sentinel(self)
        self.evaluations = Evaluations(self)
        watch = self.sentinel
        self.calls = CallOrder(
            self.write, lambda: (watch.step, watch.backwards), watch.optimizers.position_of
        )
        self.state_dicts = StateDicts(self.write, lambda: watch.step)
        self.modes = ModeCounter(
            self.write,
            watch,
            self.calls.last_switch,
            lambda problem: self.guests.switch_off("mode probe", problem),
        )
        self.step_log = StepLog(self.writer, self._stop_recording)
        self.budget = Budget(self)
        self.cruise = Cruise(self)
        self.handler: Handler
        self.own_seconds = 0.0
        self.stopped_by_us = False
        self.counts_modes = True
        self._postponed: deque[Callable[[], Event]] = deque()
        self._ended = False

    @property
    def rerun_step(self) -> int | None:
        """Return the step to look at when this is a rerun, else None."""
        rerun = self.configuration.get("rerun")
        return None if rerun is None else int(rerun["step"])

    @property
    def is_bounded(self) -> bool:
        """Tell whether this run is a rerun or a trial, whose steps are counted one by one."""
        ends = self.configuration.get("options", {}).get("stop_after_step")
        return self.rerun_step is not None or ends is not None

    @property
    def on_failure(self) -> str:
        """Return what to do about a poisoned update: stop, skip or continue."""
        return str(self.configuration.get("options", {}).get("on_failure", "stop"))

    def write(self, event: Event) -> None:
        """Append one event to the trace; when that fails (a full disk), stop watching altogether."""
        try:
            self.writer.write(event)
        except OSError as problem:
            self._stop_recording(problem)

    def postpone(self, make: Callable[[], Event]) -> None:
        """Write an event after one of the next steps: it needs no more of this one, and the first step is long."""
        self._postponed.append(make)

    def write_later(self, event: Event) -> None:
        """Write an event that nobody asks for before the program has ended, as `postpone` does."""
        self._postponed.append(lambda: event)

    def write_postponed(self, *, all_of_them: bool = False) -> None:
        """Write some of what was postponed, so that it is done after a few steps."""
        waiting = self._postponed
        count = len(waiting) if all_of_them else max(FEW_EVENTS, len(waiting) // FEW_EVENTS)
        for _ in range(min(count, len(waiting))):
            self.write(waiting.popleft()())

    @property
    def has_postponed(self) -> bool:
        """Tell whether something waits to be written."""
        return bool(self._postponed)

    def _stop_recording(self, problem: OSError) -> None:
        """Without a trace nobody could explain a withheld update, so from here on the program runs as if bare."""
        self.guests.all_off = True
        self.cruise.on = False
        self.writer.close()
        self._handler_leaves()
        with suppress(OSError):  # on a full disk an empty file can often still be made
            (self.directory / RECORDING_STOPPED).write_text(f"{problem}\n", encoding="utf8")

    def begin(self, handler: Handler) -> None:
        """Put every hook on torch."""
        self.handler = handler
        files.remember_torch(torch.__file__)
        frames.restart_in(str(Path.cwd()))
        self.guests.fault = os.environ.get("TORCHWHY_FAULT")
        self._take_or_restore_seeds()
        protect, watch = self.guests.protect, self.sentinel
        thoroughly = protect("loss probe", watch.before_backward)
        before, after = self.cruise.around_step(
            protect("step probe", watch.before_step), protect("step probe", watch.after_step)
        )
        descriptors = descriptors_for(self, before, after)
        self.modes.stand_in = descriptors.forward
        ProbeWiring(self, descriptors).put_on(self.cruise.around_backward(thoroughly))
        self.hooks.replace(sys, "excepthook", self._excepthook(sys.excepthook))
        # A spawned process may turn out to be a loader's worker, which is not watched, as a forked one is not.
        leave_in_workers(self.hooks.replace, self._leave_forked_child)
        os.register_at_fork(after_in_child=self._leave_forked_child)
        atexit.register(self.end)

    def end(self) -> None:
        """Say goodbye: the handler's last look, the last line, the hooks off."""
        if self._ended:
            return
        self._ended = True
        self.guests.protect("graph probe", self.write_postponed)(all_of_them=True)
        self.guests.protect("cruise", self.cruise.settle)()
        self.guests.protect("exit probe", self.handler.at_exit)()
        self.guests.protect("graph probe", self.write_postponed)(all_of_them=True)
        self.guests.protect("mode probe", self.modes.tell)()
        self.guests.protect("evaluation probe", self.evaluations.tell)()
        self.guests.protect("holdings probe", self.holdings.at_exit)()
        if self.writer.path is not None:
            self._tell_files()
        self.guests.protect("call order probe", self.calls.at_exit)(self.sentinel.step)
        if self.sentinel.step or self.stopped_by_us:
            self.write(
                RunEnded(
                    steps=self.sentinel.step,
                    stopped_by_us=self.stopped_by_us,
                    own_seconds=round(self.spent_seconds, 4),
                    wall_seconds=round(time.perf_counter() - self.began, 4),
                )
            )
        self.hooks.remove_all()
        self.step_log.close()
        self.writer.close()
        atexit.unregister(self.end)

    @property
    def spent_seconds(self) -> float:
        """Return our own time so far: in probes, in the microscope, and at cruising speed."""
        guests = self.guests
        return self.own_seconds + guests.seconds + guests.light_seconds + self.cruise.seconds

    def watch_modes(self) -> None:
        """Count the modes in which the known models run from now on."""
        if not self.counts_modes:
            return
        waiting = list(self.names.roots())
        while waiting:
            path, model = waiting.pop(0)
            giver = next((kind for kind in type(model).__mro__ if "forward" in vars(kind)), None)
            if giver is torch.nn.Module:
                # A list of models, or one whose methods have names of their own: its parts are called.
                waiting += [(f"{path}.{name}", part) for name, part in model.named_children()]
            else:
                self.modes.watch(self.hooks, path, model)

    def look_at_program(self, step: int) -> None:
        """Look at what the program has loaded and what it holds; called at doubling numbers of steps."""
        self._tell_files()
        self.holdings.stepped(step)

    def _tell_files(self) -> None:
        self.guests.protect("source probe", self.program_files.tell)()

    def stop_program(self) -> None:
        """End the user's program after a withheld update, the way `sys.exit(1)` in its own code would."""
        self.stopped_by_us = True
        raise SystemExit(1)

    def leave_after_last_step(self) -> None:
        """In a trial, which has an end of its own: close the trace and leave, quietly and without a trace back."""
        last = self.configuration.get("options", {}).get("stop_after_step")
        if last is not None and self.sentinel.step > last:
            self.end()
            for stream in (sys.stdout, sys.stderr):
                with suppress(Exception):
                    stream.flush()
            os._exit(0)

    def _take_or_restore_seeds(self) -> None:
        earlier = self.configuration.get("seeds_from")
        if self.rerun_step is None and earlier is None:
            self._seeds = seeds.take()
            return
        recorded = seeds.load(Path(earlier) if earlier else self.directory.parent, rank=self.rank)
        if recorded is not None:
            seeds.restore(recorded)

    def _header(self) -> RunStarted:
        if self._seeds is not None:
            seeds.save(self._seeds, self.directory, rank=self.rank)
        return RunStarted(
            schema=SCHEMA,
            pid=os.getpid(),
            rank=self.rank,
            world_size=int(os.environ.get("WORLD_SIZE", "1") or 1),
            argv=list(sys.argv),
            directory=str(Path.cwd()),
            python=platform.python_version(),
            torch=str(torch.__version__),
            started_unix_seconds=time.time(),
            rerun_of_step=self.rerun_step,
            missing=self.guests.missing_features(),
        )

    def _excepthook(self, show: Any) -> Any:
        def hook(kind: type[BaseException], error: BaseException, trace: Any) -> None:
            if is_launchers_own(error):
                show(kind, error, trace)
                return
            # The handler takes hold of the frames first, and looks into them when the user has seen the traceback.
            look = self.guests.protect("autopsy", self.handler.program_died)(error)
            self.guests.protect("exception probe", note_uncaught)(self, error)
            with suppress(Exception):
                clean(error)
            show(kind, error, error.__traceback__ or trace)
            if look is not None:
                self.guests.protect("autopsy", look)()

        return hook

    def _leave_forked_child(self) -> None:
        """A forked child is somebody else (a loader's worker): it trains nothing we watch."""
        self._ended = True
        self.guests.all_off = True
        self._handler_leaves()
        self.hooks.remove_all()

    def _handler_leaves(self) -> None:
        leave = getattr(getattr(self, "handler", None), "leave", None)
        if leave is not None:
            with suppress(Exception):
                leave()


def begin(directory: str, make_handler: Any) -> Session:
    """Start watching this process."""
    session = Session(Path(directory))
    try:
        session.begin(make_handler(session))
    except BaseException:
        session.hooks.remove_all()
        raise
    return session


__all__ = ["Session", "begin"]
