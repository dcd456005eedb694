"""Watches from a thread of the supervisor whether a program makes steps, and tells where it stands if it makes none.

The thread reads files until nothing has moved for long; only then it asks processes for their stacks.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import Popen
from typing import TYPE_CHECKING, Literal

from torchwhy.plain_data import dataclass
from torchwhy.record.run_file import Run

if TYPE_CHECKING:
    from torchwhy.finding import Finding
    from torchwhy.record.standing.stack_file import Frame
    from torchwhy.record.standing.standstill import Standing, Standstill

USUAL_STEPS = 20
POLLS = 12  # in the time after which a program counts as standing
SHORTEST_POLL, LONGEST_POLL = 0.25, 5.0
APART_SHARE, LONGEST_APART = 0.2, 5.0  # between the two looks at the stacks
GROWTH = 2.0  # A program that still stands is looked at again after this multiple of the time.
MOST_TOLD = 4  # of one run, so that long validations do not fill the screen
FAILURE = "hang-watch-failure.txt"
LARGEST_TEXT = 2_000_000


@dataclass(frozen=True)
class HangWishes:
    """The options `--hang` and `--on-hang` of `torchwhy run`; 0 seconds switch the watch off."""

    seconds: float
    on_hang: Literal["tell", "stop"] = "tell"
    quiet: bool = False


class HangWatch:
    """Watches one run; `stopped_step` is the newest step if the run was ended for a hang."""

    def __init__(self, run_directory: Path, run: Run, wishes: HangWishes) -> None:
        self._run_directory = run_directory
        self._run = run
        self._wishes = wishes
        self._over = threading.Event()
        self._told: set[object] = set()
        self._is_told = False  # of the standstill that lasts
        self.stopped_step: int | None = None

    @contextmanager
    def beside(self, child: Popen[bytes]) -> Iterator[None]:
        """Watch the program for as long as the block lasts."""
        if not self._wishes.seconds or sys.platform != "linux":
            yield
            return
        thread = threading.Thread(
            target=self._watch_safely, args=(child,), name="torchwhy-hang", daemon=True
        )
        with suppress(RuntimeError):  # There are too many threads.
            thread.start()
        try:
            yield
        finally:
            self._over.set()
            if thread.ident is not None:
                thread.join()
            if child.returncode == 0 and self.stopped_step is None:
                self._forget()  # It went on to its own end.

    def _watch_safely(self, child: Popen[bytes]) -> None:
        try:
            self._watch(child)
        except Exception:
            import traceback

            with suppress(OSError):
                details = traceback.format_exc()
                (self._run_directory / FAILURE).write_text(details, encoding="utf8")

    def _watch(self, child: Popen[bytes]) -> None:
        limit = self._wishes.seconds
        poll = min(max(limit / POLLS, SHORTEST_POLL), LONGEST_POLL)
        seen: object = None
        since = due = time.monotonic()
        while not self._over.wait(poll):
            from torchwhy.follow.hangs.progress import fingerprint

            now, new = time.monotonic(), fingerprint(self._run_directory)
            if new != seen:
                self._moves_again(now - since)
                seen, since, due = new, now, now + limit
            elif now >= due:
                stop = self._look(now - since, is_again=due > since + limit)
                due = since + GROWTH * max(time.monotonic() - since, limit)
                if stop:
                    from torchwhy.follow.hangs.hang_end import end_hanging

                    end_hanging(child, self._run_directory, self._over.wait)
                    return

    def _forget(self) -> None:
        from torchwhy.record.standing.standstill import forget_standstill

        forget_standstill(self._run_directory)

    def _moves_again(self, seconds: float) -> None:
        self._forget()
        if not self._is_told:
            return
        self._is_told = False
        self._say(f"the program moves again, after {seconds:.0f} s")

    def _look(self, seconds: float, *, is_again: bool) -> bool:
        """Look where all processes stand, and tell it if that is new; return whether to end the program.

        Without proof of a fault, only the second look at the same standstill ends it.
        """
        standstill = self._standstill(seconds)
        if standstill is None or self._over.is_set():
            return False
        from torchwhy.detect.hangs.hang_causes import finding_of

        finding = finding_of(standstill)
        is_proven = finding.severity == "error"
        stop = self._wishes.on_hang == "stop" and (is_proven or is_again) and may_end(standstill)
        self._store(standstill, stop=stop)
        key = (finding.severity, tuple((one.rank, one.frames[-1:]) for one in standstill.processes))
        if stop or (key not in self._told and len(self._told) < MOST_TOLD):
            self._told.add(key)
            self._is_told = True
            self._tell(finding)
        if stop:
            self.stopped_step = standstill.last_step
            self._say("stopping the program (`--on-hang stop`)")
        return stop

    def _standstill(self, seconds: float) -> Standstill | None:
        """Return who stands where; None if some usual steps take longer, or no process can be asked."""
        from torchwhy.detect.hangs.standing_places import users_frames
        from torchwhy.follow.follower import traces_so_far
        from torchwhy.follow.hangs.progress import known_processes, usual_seconds
        from torchwhy.follow.hangs.stack_asking import standing_processes
        from torchwhy.record.standing.standstill import Standstill

        traces = list(traces_so_far(self._run_directory))
        usual = usual_seconds(traces)
        if usual is not None and seconds < USUAL_STEPS * usual:
            return None
        apart = min(APART_SHARE * self._wishes.seconds, LONGEST_APART)
        known = known_processes(traces)
        processes = standing_processes(
            self._run_directory, known, apart=lambda: self._over.wait(apart), users=users_frames
        )
        if not any(one.frames for one in processes):
            return None
        return Standstill(
            seconds=round(seconds + apart, 1),
            last_step=max((one.last_step for one in known.values()), default=-1),
            processes=processes,
            usual_seconds=usual,
            texts=self._texts(processes, users_frames),
            directory=self._run.directory,
        )

    def _texts(
        self,
        processes: tuple[Standing, ...],
        users: Callable[[tuple[Frame, ...]], tuple[Frame, ...]],
    ) -> dict[str, str]:
        found: dict[str, str] = {}
        stacks = [one.frames for one in processes]
        stacks += [worker.frames for one in processes for worker in one.workers]
        for frames in stacks:
            for frame in users(frames):
                path = Path(self._run.directory) / frame.file
                with suppress(OSError, ValueError):
                    if frame.file not in found and path.stat().st_size <= LARGEST_TEXT:
                        found[frame.file] = path.read_text(encoding="utf8")
        return found

    def _store(self, standstill: Standstill, *, stop: bool) -> None:
        import msgspec

        from torchwhy.record.standing.standstill import write_standstill

        with suppress(OSError):
            stored = msgspec.structs.replace(standstill, stopped=stop)
            write_standstill(self._run_directory, stored)

    def _tell(self, finding: Finding) -> None:
        name = "" if finding.severity == "note" else f" [{finding.detector}]"
        self._say(f"{finding.message}{name}")
        for one in finding.evidence:
            self._say(f"  {one.claim}")

    def _say(self, text: str) -> None:
        from torchwhy.follow.live_lines import Lines

        Lines(None if self._wishes.quiet else sys.stderr).say(text)


def may_end(standstill: Standstill) -> bool:
    """Tell whether no process works or waits for a person; one that waits for other ranks may be busy with it."""
    from torchwhy.detect.hangs.standing_places import place_of

    pairs = [(one, place_of(one, standstill)) for one in standstill.processes]
    return not any(
        place.doing == "input" or (one.worked and place.number is None) for one, place in pairs
    )
