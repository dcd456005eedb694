"""`torchwhy.watch()`: watches a block of a running program as `torchwhy run` watches a whole one.

One block at a time watches a process. A block that is entered while the process is watched already, by an outer block,
by one in another thread or by `torchwhy run`, yields: it does nothing, and its report is the one of the outer block.
"""

from __future__ import annotations

import functools
import inspect
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from torchwhy.errors import UsageError

if TYPE_CHECKING:
    from torchwhy.integrations.shown_report import ShownReport
    from torchwhy.record.run_file import Run
    from torchwhy.report.model import Report

OnFailure = Literal["raise", "continue", "skip"]
ON_FAILURE = {"raise": "stop", "continue": "continue", "skip": "skip"}  # as `torchwhy run` says it
INTERRUPTED = 2  # the signal of the keyboard
AGAIN_CLOSELY = "watch this block again with `torchwhy.watch(closely=True)`"
Function = TypeVar("Function", bound=Callable[..., Any])


class TrainingBroke(Exception):  # noqa: N818 - it says what happened
    """Training was stopped before a bad update reached the weights; `report` says why, from the end of the block on."""

    def __init__(self, report: ShownReport | None = None) -> None:
        super().__init__()
        self.tell(report)

    def tell(self, report: ShownReport | None) -> None:
        """Say the root cause of this report."""
        self.report = report
        self.args = (_in_two_lines(report),)

    def __reduce__(self) -> tuple[type[TrainingBroke], tuple[ShownReport | None]]:
        return type(self), (self.report,)

    def _render_traceback_(self) -> list[str]:
        """Return what IPython shows in place of a traceback; the report has the place."""
        return [f"{type(self).__name__}: {self}"]


def _in_two_lines(report: ShownReport | None) -> str:
    root = None if report is None else report.root_cause
    if root is None:
        return "a bad update was withheld, and its cause was not found"
    where = "" if root.location is None else f"{root.location}, "
    when = "" if root.step is None else f"step {root.step} "
    return f"{root.message}\n{where}{when}[{root.detector}]"


TrainingBroke.__module__ = "torchwhy"  # as tracebacks call it


class watch:  # noqa: N801 - it is used as a function is
    """Watch a `with` block, or each call of a decorated function; `report` is there when the block has ended.

    `on_failure` says what happens at a step with a bad loss or gradient. "raise" withholds its update, repeats the step
    under the microscope and raises `TrainingBroke`; "skip" goes on without that update; "continue" goes on as if
    torchwhy were not there. `closely` looks at every operation of every step, which makes them several times slower.
    What is found is printed to stderr unless `quiet`.
    """

    _command: tuple[str, ...] | None = None  # what runs the block again, if it is not the program
    _again_closely: str | None = (
        None  # how to watch it closely, if not as a script or a notebook does
    )

    def __init__(
        self, *, on_failure: OnFailure = "raise", closely: bool = False, quiet: bool = False
    ) -> None:
        if on_failure not in ON_FAILURE:
            known = ", ".join(f'"{word}"' for word in ON_FAILURE)
            raise UsageError(
                f"on_failure={on_failure!r} is not one of {known}.", slug="wrong-option"
            )
        self._on_failure: OnFailure = on_failure
        self._closely = closely
        self._quiet = quiet
        self._block: _Block | None = None
        self._entered = 0  # times that this one was entered and not left
        self._report: ShownReport | None = None
        self._outer: watch | None = None

    @property
    def report(self) -> ShownReport | None:
        """Return the report of the last block; None before its end, and inside `torchwhy run`."""
        return self._outer.report if self._outer is not None else self._report

    def __enter__(self) -> watch:  # noqa: PYI034 - `Self` came with Python 3.11
        with _Active.lock:
            self._entered += 1
            if self._entered == 1:
                self._outer, self._block = _Active.watch, None
                if not _is_watched():
                    command = self._command or _command()
                    self._block = _begin(command, self._on_failure, closely=self._closely)
                    _Active.watch = self if self._block is not None else None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        __tracebackhide__ = True
        with _Active.lock:
            self._entered -= 1
            block = self._block
            if self._entered or block is None or block.process != os.getpid():
                return
            self._block = _Active.watch = None
            self._report = block.end(error, self._notes, self._again_closely)
        self._show()
        if not block.breaks(self._on_failure, error) or self._report is None:
            return
        if isinstance(error, TrainingBroke):
            _tell(error, self._report)
            return
        raise TrainingBroke(self._report) from None

    def _notes(self, report: Report) -> tuple[str, ...]:  # noqa: ARG002 - for those who know more
        """Return what to add to the notes of the report."""
        return ()

    def __call__(self, function: Function) -> Function:
        """Return the function, each call of which is a block of its own; its last report is `function.why.report`."""
        if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
            raise UsageError(
                f"{function.__qualname__} is a generator or a coroutine: write `with torchwhy.watch():` inside it.",
                slug="wrong-option",
            )

        @functools.wraps(function)
        def watched(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            again = type(self)(
                on_failure=self._on_failure, closely=self._closely, quiet=self._quiet
            )
            watched.why = again  # type: ignore[attr-defined]
            with again:
                return function(*args, **kwargs)

        watched.why = self  # type: ignore[attr-defined]
        return watched  # type: ignore[return-value]

    def _show(self) -> None:
        report = self._report
        if report is not None and not self._quiet and report.root_cause is not None:
            with suppress(Exception):  # A closed stream must not hide the program's own exception.
                _Active.show(report)


def _tell(error: TrainingBroke, report: ShownReport) -> None:
    """Give the exception that stopped the block its report; its traceback ends at the user's call of the step."""
    from torchwhy.observe.program.exceptions import up_to_user_code, without_own_frames

    error.tell(report)
    error.__suppress_context__ = True
    with suppress(Exception):
        error.__traceback__ = up_to_user_code(without_own_frames(error.__traceback__))


class WatchIfItTrains(watch):
    """A block that may have nothing to do with training: without a step or a finding it leaves no run behind."""

    def _show(self) -> None:
        super()._show()
        report = self.report
        if report is not None and not (report.steps or report.findings):
            shutil.rmtree(report.run_directory, ignore_errors=True)


def _print(report: ShownReport) -> None:
    from torchwhy.commands.trials import next_steps
    from torchwhy.report.text.terminal import Place, show

    then = next_steps(report, report.directory, tried=False)
    show(report, Place(report.run_directory, report.directory), sys.stderr, then=then)


class _Active:
    """The block that watches this process, and how a report is shown in it."""

    lock = threading.RLock()
    watch: watch | None = None
    show: Callable[[ShownReport], None] = staticmethod(_print)


def show_with(show: Callable[[ShownReport], None]) -> None:
    """Show reports in another way than as text on stderr."""
    _Active.show = staticmethod(show)


class _Block:
    """One block: its run directory, and the session that records into it."""

    def __init__(self, run: Run, run_directory: Path) -> None:
        self.process = os.getpid()
        self._run = run
        self._directory = run_directory
        self._session: Any = None
        self._withheld = False  # an update; the loop may have ended with that step
        self._began = time.perf_counter()

    @property
    def step(self) -> int | None:
        """Return the number of the step that the program makes now; None if nothing counts or a step is repeated."""
        state = None if self._session is None else self._session.parts.state
        return None if state is None or state.frozen else state.step

    def begin(self) -> None:
        """Put the hooks on; a failure of ours is noted in the run, and the program goes on."""
        from torchwhy.observe.boot import arm, wire

        try:
            self._session = wire.begin_block(str(self._directory))
            self._session.stop_with(TrainingBroke)
        except Exception:
            arm.note_failure(str(self._directory))

    def end(
        self,
        error: BaseException | None,
        notes: Callable[[Report], tuple[str, ...]],
        again_closely: str | None = None,
    ) -> ShownReport | None:
        """Take the hooks off and return the report; None if it fails."""
        try:
            if self._session is not None:
                self._session.end_block(error)
            self._note_end(error)
            return self._diagnose(notes, again_closely or _Words.again_closely)
        except Exception as problem:
            what = f"{type(problem).__name__}: {problem}"
            sys.stderr.write(f"torchwhy: the report failed ({what}). [internal-error]\n")
            return None

    def breaks(self, on_failure: OnFailure, error: BaseException | None) -> bool:
        """Tell whether the block ends with `TrainingBroke`: torchwhy has stopped it or withheld an update."""
        if self._session is None or on_failure != "raise":
            return False
        if self._session.stopped_by_us:
            return not isinstance(error, (KeyboardInterrupt, GeneratorExit))
        return error is None and self._withheld

    def _note_end(self, error: BaseException | None) -> None:
        from torchwhy.record.run_file import write_run

        failed = isinstance(error, (Exception, SystemExit))
        interrupted = isinstance(error, KeyboardInterrupt)
        self._run = replace(
            self._run,
            exit_code=128 + INTERRUPTED if interrupted else int(failed),
            signal=INTERRUPTED if interrupted else None,
            seconds=round(time.perf_counter() - self._began, 3),
        )
        write_run(self._directory, self._run)

    def _diagnose(
        self, notes: Callable[[Report], tuple[str, ...]], again_closely: str
    ) -> ShownReport:
        from torchwhy.commands.trials import store
        from torchwhy.integrations.shown_report import ShownReport
        from torchwhy.pipeline import diagnose
        from torchwhy.record.run_file import read_traces
        from torchwhy.replay.step.rerun_parent import needs_rerun

        traces = read_traces(self._directory)
        self._withheld = any(alarm.withheld for trace in traces for alarm in trace.alarms)
        step = needs_rerun(traces)
        unseen = f"step {step} could not be repeated in place; {again_closely}."
        report = diagnose(self._directory, notes=() if step is None else (unseen,))
        report = _with_proposals(report, self._run)
        report = replace(report, notes=(*report.notes, *notes(report)))
        with suppress(Exception):
            store(self._directory, report)
        place = Path(os.path.relpath(self._directory))
        return ShownReport.of(report, place, Path(self._run.directory))


def _with_proposals(report: Report, run: Run) -> Report:
    """Return the report with the changes that may cure its root cause; only `torchwhy fix` tries them."""
    from torchwhy.verify.campaign import choose

    root = report.root_cause
    if root is None:
        return report
    proposed = choose(root, report.findings, Path(run.directory), command=run.command)
    diffs = {one.diff for one in proposed if one.diff}
    advice = (fix for fix in root.fixes if fix.diff not in diffs)
    changed = replace(root, fixes=(*proposed, *advice))
    return replace(report, findings=(changed, *report.findings[1:]))


class _Words:
    """What differs between a script and a notebook."""

    again_closely = AGAIN_CLOSELY
    command: tuple[str, ...] | None = None


def speak_as_notebook(again_closely: str) -> None:
    """Say how to watch a cell closely, and call the program a notebook: its kernel is not to be started again."""
    _Words.again_closely, _Words.command = again_closely, ("notebook",)


def _is_watched() -> bool:
    import torch  # noqa: F401 - first: inside `torchwhy run` its import begins the session of the run

    from torchwhy.observe import session

    return session.is_watched()


def _begin(command: tuple[str, ...], on_failure: OnFailure, *, closely: bool) -> _Block | None:
    """Begin to record, and return the block; None where nothing can be recorded."""
    from torchwhy.commands.run import recording
    from torchwhy.observe.launch import describe_run
    from torchwhy.record.run_file import read_run

    run = replace(describe_run(command, on_failure=ON_FAILURE[on_failure]), closely=closely)
    run_directory = recording(run)
    if run_directory is None:
        return None
    block = _Block(read_run(run_directory), run_directory)
    block.begin()
    return block


def _command() -> tuple[str, ...]:
    """Return what to run again: the script with its arguments, else the whole command line."""
    if _Words.command is not None:
        return _Words.command
    _, *words = sys.orig_argv or [sys.executable]
    starts_with_program = bool(words) and (not words[0].startswith("-") or words[0] in ("-m", "-c"))
    return tuple(words if starts_with_program else sys.orig_argv)
