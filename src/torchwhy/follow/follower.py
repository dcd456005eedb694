"""Looks into a running program from a thread of the supervisor, tells what it finds, and ends the program if asked to.

The thread reads files and nothing else, at a lower priority than the program. If something fails in it, the looking
ends, and neither the program nor the report notices.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import Popen
from typing import TYPE_CHECKING, Literal

from torchwhy.errors import TraceError
from torchwhy.follow.look_times import LookTimes
from torchwhy.plain_data import dataclass
from torchwhy.record.run_file import Run, trace_files

if TYPE_CHECKING:
    from torchwhy.follow.live_diagnosis import Change, LiveDiagnosis
    from torchwhy.follow.notifications import Notifier
    from torchwhy.follow.polite_end import PoliteEnd
    from torchwhy.record.trace import Trace
    from torchwhy.report.model import Report

NICENESS = 5  # Less than the program, but enough that the report does not wait for a look on a busy machine.
MOST_BYTES = 16_000_000  # of the traces that a look reads; decoding as much takes about a second
FAILURE = "follow-failure.txt"  # in the run directory: why the looking ended early


@dataclass(frozen=True)
class Wishes:
    """What is to happen with an error that is found while the program runs: options of `torchwhy run`."""

    on_finding: Literal["tell", "stop"] = "tell"
    notify: tuple[str, ...] = ()
    quiet: bool = False


class Follower:
    """Follows one run. The modules that judge are imported at the first look: the report needs them anyway."""

    def __init__(
        self, run_directory: Path, run: Run, wishes: Wishes, times: LookTimes | None = None
    ) -> None:
        self._run_directory = run_directory
        self._run = run
        self._wishes = wishes
        self._times = times or LookTimes()
        self._over = threading.Event()
        self._child: Popen[bytes] | None = None
        self._diagnosis: LiveDiagnosis | None = None
        self._end: PoliteEnd | None = None
        self._notifier: Notifier | None = None

    @property
    def stopped_step(self) -> int | None:
        """Return the newest step when the program was asked to end; None if it was not."""
        return None if self._end is None else self._end.asked_at

    @contextmanager
    def beside(self, child: Popen[bytes]) -> Iterator[None]:
        """Look into the program for as long as the block lasts."""
        self._child = child
        thread = threading.Thread(target=self._follow, name="torchwhy-follow", daemon=True)
        with suppress(RuntimeError):  # There are too many threads.
            thread.start()
        try:
            yield
        finally:
            self._over.set()
            if thread.ident is not None:
                thread.join()

    def withdraw_missing(self, report: Report) -> None:
        """Withdraw what was told and is no error in the report of the whole run."""
        if self._diagnosis is not None:
            self._tell(self._diagnosis.close(report.findings, step=report.steps - 1))

    def close(self) -> None:
        """Wait for the last call of `--notify`, for a limited time."""
        if self._notifier is not None:
            self._notifier.close()

    def _follow(self) -> None:
        _lower_priority()
        try:
            self._look_now_and_then()
        except Exception:
            import traceback

            with suppress(OSError):
                details = traceback.format_exc()
                (self._run_directory / FAILURE).write_text(details, encoding="utf8")

    def _look_now_and_then(self) -> None:
        began = time.monotonic()
        wait = self._times.first
        while not self._over.wait(wait):
            wait = self._times.too_early_by(time.monotonic() - began, _size(self._run_directory))
            if not wait:
                cost = self._look()
                age = time.monotonic() - began if self.stopped_step is None else 0.0
                wait = self._times.until_next(age, cost)

    def _look(self) -> float:
        """Look once; return the processor time it took, without the imports of the first time."""
        diagnosis = self._diagnosis
        if diagnosis is None:
            from torchwhy.follow.live_diagnosis import LiveDiagnosis

            diagnosis = self._diagnosis = LiveDiagnosis(Path(self._run.directory), self._run.allow)
            diagnosis.prepare()
        began = time.thread_time()
        with suppress(OSError, TraceError):
            traces = list(traces_so_far(self._run_directory))
            if self._end is None:
                self._tell(diagnosis.look(traces))
                self._stop_if_wished(diagnosis, traces)
            else:
                self._insist(traces)
        return time.thread_time() - began

    def _tell(self, changes: Sequence[Change]) -> None:
        if not changes:
            return
        from torchwhy.follow.live_lines import line_of
        from torchwhy.follow.notifications import Notifier, message_of

        for change in changes:
            self._say(line_of(change))
            if self._wishes.notify:
                if self._notifier is None:
                    self._notifier = Notifier(list(self._wishes.notify), self._say)
                self._notifier.send(message_of(change, self._run_directory, self._run))

    def _stop_if_wished(self, diagnosis: LiveDiagnosis, traces: Sequence[Trace]) -> None:
        if self._wishes.on_finding != "stop" or not diagnosis.told or self._child is None:
            return
        from torchwhy.follow.live_lines import STOPPING
        from torchwhy.follow.polite_end import PoliteEnd

        self._say(STOPPING)
        self._end = PoliteEnd(self._child, self._run_directory)
        self._end.ask(_newest(traces))

    def _insist(self, traces: Sequence[Trace]) -> None:
        if self._end is not None and self._end.insist(_newest(traces), traces):
            from torchwhy.follow.live_lines import STILL_TRAINS

            self._say(STILL_TRAINS)

    def _say(self, text: str) -> None:
        from torchwhy.follow.live_lines import Lines

        Lines(None if self._wishes.quiet else sys.stderr).say(text)


def traces_so_far(run_directory: Path) -> Iterator[Trace]:
    """Yield the traces of a running program, as many as one look may read."""
    from torchwhy.record.trace import read_rank

    left = MOST_BYTES
    for path in sorted(trace_files(run_directory)):
        left -= path.stat().st_size
        if left < 0:
            return
        yield read_rank(path)


def _size(run_directory: Path) -> int:
    """Return the bytes that a look reads."""
    with suppress(OSError, TraceError):
        return min(sum(path.stat().st_size for path in trace_files(run_directory)), MOST_BYTES)
    return 0


def _newest(traces: Sequence[Trace]) -> int:
    from torchwhy.follow.early_errors import newest_step

    return max(map(newest_step, traces), default=-1)


def _lower_priority() -> None:
    """Give this thread a lower priority, where threads have one of their own."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
