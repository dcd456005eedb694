"""One watched process: puts the hooks on torch, and takes them off in the right order."""

from __future__ import annotations

import atexit
import os
import platform
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import torch

from torchwhy.observe.guest import ProgramStop
from torchwhy.observe.native.native_descriptors import descriptors_for
from torchwhy.observe.parts import Parts
from torchwhy.observe.probe_wiring import ProbeWiring
from torchwhy.observe.probes.metrics.evaluations import Evaluations
from torchwhy.observe.program import frames, launcher_note, other_seeds, seeds
from torchwhy.observe.program.child_processes import ChildProcesses
from torchwhy.observe.program.exceptions import clean, uncaught
from torchwhy.observe.program.stack_dumps import allow_stack_dumps
from torchwhy.observe.recorder import Recorder
from torchwhy.observe.settings import Settings, host_name
from torchwhy.observe.step_handler import StepHandler
from torchwhy.observe.torch_features.loader_parts import leave_in_workers
from torchwhy.observe.torch_features.resolve import is_there
from torchwhy.observe.torch_features.torch_internals import is_launchers_own, rank_and_world
from torchwhy.record.events import SCHEMA, RunEnded, RunStarted
from torchwhy.record.secrets import masked_command, secrets_of
from torchwhy.record.step_log import StepLog
from torchwhy.record.writer import RECORDING_STOPPED, TraceWriter
from torchwhy.source import files

STOPPED = (
    "torchwhy stopped this rank at step {}, before a bad update was written; its report says why"
)


class Replay(Protocol):
    """What replay brings along: the first handler, the probe of evaluations, and the microscope."""

    @property
    def handler(self) -> StepHandler: ...
    @property
    def evaluations(self) -> Evaluations: ...
    @property
    def runs_eagerly(self) -> bool: ...  # compiled code included
    def begin(self) -> None: ...
    def ask(self) -> None: ...  # what a rehearsal asks when the program is over


class _Process:
    """What this process knows of its watching."""

    current: Session | None = None
    knows_forks = False
    make_replay: Callable[[Session], Replay]


def is_watched() -> bool:
    """Tell whether a session watches this process now."""
    return _Process.current is not None


class Session:
    """Everything of ours that lives in the user's process."""

    def __init__(self, directory: Path) -> None:
        self.began = self.program_began = time.perf_counter()
        self.settings = settings = Settings.read(directory)
        self._seeds: dict[str, Any] | None = None
        secrets = secrets_of(sys.orig_argv, os.environ)
        self._writer = TraceWriter(
            directory, rank=settings.rank, header=self._header, secrets=secrets
        )
        self._step_log = StepLog(self._writer, self._stop_recording)
        self.recorder = Recorder(self._writer, self._stop_recording)
        self.parts = Parts(
            settings,
            self.recorder,
            self._step_log,
            step_ended=self._leave_after_last_step,
        )
        self._evaluations: Evaluations
        self._ask: Callable[[], object] = lambda: None
        self._own_seconds = 0.0
        self.stopped_by_us = False
        self._is_block = False
        self._cut_short = False  # by the end of a rehearsal
        self._ended = False
        self._children = ChildProcesses(self._begin_in_child)

    def spend(self, seconds: float) -> None:
        """Add to our own time what no probe counts."""
        self._own_seconds += seconds

    def stop_program(self, *, follows: bool) -> None:
        """End the user's program after a withheld update, as `sys.exit(1)` in its own code would.

        `follows`: the bad values came from another rank.
        """
        self.stopped_by_us = True
        message = STOPPED.format(self.parts.state.step)
        self.parts.guests.protect("launcher note", launcher_note.note)(
            message, message, follows=follows
        )
        raise ProgramStop

    def stop_with(self, make_error: Callable[[], Exception]) -> None:
        """Stop a block of the program with this exception; if the program catches it, the next step ends the block."""
        self._is_block = True
        self.parts.guests.stops_with = make_error

    def begin(self, replay: Replay) -> None:
        """Put every hook on torch."""
        parts, hooks = self.parts, self.parts.hooks
        guests, sentinel, protect = parts.guests, parts.sentinel, parts.guests.protect
        parts.handlers.current, self._evaluations = replay.handler, replay.evaluations
        self._ask = replay.ask
        files.remember_torch(torch.__file__)
        frames.restart_in(str(Path.cwd()))
        guests.fault = os.environ.get("TORCHWHY_FAULT")
        self._take_or_restore_seeds()
        if self.settings.hang:
            protect("stack probe", allow_stack_dumps)(self.settings.directory)
        thoroughly = protect("loss probe", sentinel.before_backward)
        before, after = parts.cruise.around_step(
            protect("step probe", sentinel.before_step), protect("step probe", sentinel.after_step)
        )
        descriptors = descriptors_for(parts, before, after)
        wiring = ProbeWiring(
            parts, replay.evaluations, descriptors, runs_eagerly=replay.runs_eagerly
        )
        wiring.put_on(parts.cruise.around_backward(thoroughly, sentinel.knows_closure))
        hooks.replace_unseen(sys, "excepthook", self._excepthook(sys.excepthook))
        # A spawned process may turn out to be a loader's worker, which is not watched, like a forked one.
        leave_in_workers(hooks.replace_unseen, self._leave_forked_child)
        if not _Process.knows_forks:  # Nothing can be taken off again there.
            os.register_at_fork(after_in_child=_leave_in_forked_child)
            _Process.knows_forks = True
        if is_there("process-target"):
            self._children.watch()
        atexit.register(self.end)

    def end(self) -> None:
        """Let the handler look a last time, write the last events, and take the hooks off."""
        if self._ended:
            return
        self._ended, _Process.current = True, None
        began, spent = time.thread_time(), self.spent_seconds
        parts, protect = self.parts, self.parts.guests.protect
        write_postponed = protect("graph probe", self.recorder.write_postponed)
        write_postponed(all_of_them=True)
        protect("cruise", parts.cruise.settle)()
        protect("exit probe", parts.handlers.current.at_exit)()
        write_postponed(all_of_them=True)
        protect("mode probe", parts.modes.tell)()
        protect("evaluation probe", self._evaluations.tell)()
        protect("weights probe", parts.state_dicts.tell)()
        protect("data probe", parts.loaders.tell)()
        protect("holdings probe", parts.holdings.at_exit)()
        if self._writer.path is not None:
            parts.write_files()
        protect("call order probe", parts.calls.at_exit)(parts.state.step)
        self.spend(time.thread_time() - began - (self.spent_seconds - spent))
        parts.hooks.remove_all()
        protect("rehearsal", self._ask)()
        if parts.state.step or self.stopped_by_us:
            self.recorder.write(
                RunEnded(
                    steps=parts.state.step,
                    stopped_by_us=self.stopped_by_us,
                    cut_short=self._cut_short,
                    own_seconds=round(self.spent_seconds, 4),
                    wall_seconds=round(time.perf_counter() - self.program_began, 4),
                )
            )
        self._step_log.close()
        self._writer.close()
        atexit.unregister(self.end)

    @property
    def spent_seconds(self) -> float:
        """Return our own time so far: in probes, in the microscope, and at cruising speed."""
        guests, cruise = self.parts.guests, self.parts.cruise
        return self._own_seconds + guests.seconds + guests.light_seconds + cruise.seconds

    def _stop_recording(self, problem: OSError) -> None:
        """Let the program run as if bare: without a trace, nothing could explain a withheld update."""
        self.parts.guests.all_off = True
        self.parts.cruise.on = False
        self._writer.close()
        self._handler_leaves()
        with suppress(OSError):  # on a full disk an empty file can often still be made
            path = self.settings.directory / RECORDING_STOPPED
            path.write_text(f"{problem}\n", encoding="utf8")

    def _leave_after_last_step(self) -> None:
        """In a trial or a rehearsal, close the trace after the last step and end the process without a traceback."""
        if self._is_block and self.stopped_by_us:
            raise ProgramStop
        if self._has_made_last_step():
            self._cut_short = self.settings.rehearsal_steps is not None
            self.end()
            for stream in (sys.stdout, sys.stderr):
                with suppress(Exception):
                    stream.flush()
            os._exit(0)

    def _has_made_last_step(self) -> bool:
        settings, step = self.settings, self.parts.state.step
        last, rehearsed = self.parts.saved_files.last_step, settings.rehearsal_steps
        if rehearsed is None:
            return last is not None and step > last
        # The questions have answers for fewer steps, too, if those of the program are slow.
        took = time.perf_counter() - self.began
        return step >= rehearsed or took > settings.rehearsal_seconds

    def _take_or_restore_seeds(self) -> None:
        settings = self.settings
        if settings.rerun_step is None and settings.seeds_from is None:
            self._seeds = seeds.take()
            return
        recorded = seeds.load(settings.seeds_from or settings.directory.parent, rank=settings.rank)
        if recorded is not None:
            seeds.restore(recorded)
        if settings.other_seed is not None:
            other_seeds.change_seeds(settings.other_seed, self.parts.hooks.replace_unseen)

    def _header(self) -> RunStarted:
        settings = self.settings
        if self._seeds is not None:
            seeds.save(self._seeds, settings.directory, rank=settings.rank)
        rank, world_size = rank_and_world(settings.rank)
        return RunStarted(
            schema=SCHEMA,
            pid=os.getpid(),
            rank=rank,
            world_size=world_size,
            argv=list(masked_command(sys.argv)),
            directory=str(Path.cwd()),
            python=platform.python_version(),
            torch=str(torch.__version__),
            started_unix_seconds=time.time(),
            rerun_of_step=settings.rerun_step,
            missing=self.parts.guests.missing_features(),
            host=host_name(),
        )

    def _excepthook(self, show: Any) -> Any:
        protect = self.parts.guests.protect

        def hook(kind: type[BaseException], error: BaseException, trace: Any) -> None:
            if is_launchers_own(error):
                show(kind, error, trace)
                return
            if self._is_of_a_repetition(error):
                self.stopped_by_us = True
                return
            look = None
            with suppress(
                Exception
            ):  # of a signal handler: torch's raises there when a loader's worker dies
                look = self._note_death(error)
            show(kind, error, error.__traceback__ or trace)
            if look is not None:
                protect("autopsy", look)()

        return hook

    def _note_death(self, error: BaseException) -> Callable[[], object] | None:
        """Note the exception that ends the program; return the look at its frames, which may wait."""
        protect = self.parts.guests.protect
        look = None
        with suppress(Exception):
            look = protect("autopsy", self.parts.handlers.current.program_died)(error)
        with suppress(Exception):
            protect("exception probe", self._note_uncaught)(error)
        with suppress(Exception):
            clean(error)
        if isinstance(error, Exception):
            protect("launcher note", launcher_note.note_exception)(error)
        return look

    def end_block(self, error: BaseException | None) -> None:
        """End the watching of a block of the program, which `error` leaves."""
        if isinstance(error, Exception) and not self._ended:
            if self._is_of_a_repetition(error):
                self.stopped_by_us = True
            elif not self.stopped_by_us:
                look = self._note_death(error)
                if look is not None:
                    self.parts.guests.protect("autopsy", look)()
        self.end()

    def _is_of_a_repetition(self, error: BaseException) -> bool:
        """Tell whether the program raised an exception in a step that it repeats for us before we stop it.

        The step may get another sample there, so the exception is none of the program's, which ends anyway.
        """
        stops = self.settings.on_failure == "stop"
        return stops and self.parts.state.frozen and isinstance(error, Exception)

    def _note_uncaught(self, error: BaseException) -> None:
        self.recorder.write(uncaught(error, self.parts.state.step))

    def _begin_in_child(self) -> Callable[[BaseException | None], object]:
        """In a process that the program started: watch it anew if it was forked; return what ends the watching."""
        if not self._ended:
            return self.end_block
        session = begin(str(self.settings.directory), _Process.make_replay)
        if self.parts.optimizers.any_made:
            session.parts.optimizers.expect_earlier()
        return session.end_block

    def _leave_forked_child(self) -> None:
        """Let go of a forked child; one that runs the program's own code is watched anew."""
        self._ended, _Process.current = True, None
        self.parts.guests.all_off = True
        self._handler_leaves()
        self.parts.hooks.remove_all()

    def _handler_leaves(self) -> None:
        with suppress(Exception):  # also if there is no handler yet
            self.parts.handlers.current.leave()


def _leave_in_forked_child() -> None:
    if _Process.current is not None:
        _Process.current._leave_forked_child()


def begin(directory: str, make_replay: Callable[[Session], Replay]) -> Session:
    """Start watching this process."""
    _Process.make_replay = staticmethod(make_replay)
    session = _Process.current = Session(Path(directory))
    try:
        replay = make_replay(session)
        session.begin(replay)
    except BaseException:
        _Process.current = None
        session.parts.hooks.remove_all()
        raise
    session.parts.guests.protect("microscope", replay.begin)()
    return session
