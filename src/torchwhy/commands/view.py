"""Show the recorded runs in a browser on this machine, newest first, and follow one that is still running.

FOLDER is a folder with runs, or one that has them in .torchwhy/runs (default: here). The server listens on this
machine only, changes nothing, and ends with Ctrl-C. Open the address that it prints: without the token in it nothing
is shown.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torchwhy.errors import TorchwhyError, UsageError
from torchwhy.observe.run_directories import RUNS_FOLDER
from torchwhy.plain_data import dataclass
from torchwhy.record.run_file import Run, read_run, read_traces, trace_files
from torchwhy.report.page.page_file import page_of

if TYPE_CHECKING:
    from torchwhy.follow.live_diagnosis import LiveDiagnosis
    from torchwhy.record.trace import Trace
    from torchwhy.report.view.view_pages import RunShown

MOST_LISTED = 200
LARGEST_PORT = 65535
REST = 10.0  # A running program is judged again after this many times what the last judgement took.


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument("folder", metavar="FOLDER", nargs="?", type=Path, default=Path())
    parser.add_argument(
        "--port",
        metavar="N",
        type=_port,
        default=0,
        help="the port to listen on (default: a free one)",
    )


def _port(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if not 0 < number <= LARGEST_PORT:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port from 1 to {LARGEST_PORT}")
    return number


def execute(options: argparse.Namespace) -> int:
    """Serve until the user interrupts."""
    import secrets

    from torchwhy.report.view.view_server import ViewServer

    runs = RunsFolder(runs_in(options.folder))
    try:
        server = ViewServer(runs, port=options.port, token=secrets.token_urlsafe(18))
    except OSError as problem:
        raise UsageError(
            f"port {options.port} cannot be used ({problem.strerror or problem}); choose another with "
            "`--port`, or leave it out.",
            slug="port-in-use",
        ) from problem
    print(f"torchwhy: {server.address} shows {runs.folder}; Ctrl-C ends it.", flush=True)
    with server, suppress(KeyboardInterrupt):
        server.serve_forever()
    return 0


def runs_in(folder: Path) -> Path:
    """Return the folder of runs in a folder that the user named."""
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}.", slug="unknown-run")
    inner = folder / RUNS_FOLDER
    has_runs = any(folder.glob("*/run.json"))
    return folder if has_runs and not inner.is_dir() else inner


@dataclass
class _Followed:
    """What is told of a running program, when it was last looked at, and how long that took."""

    diagnosis: LiveDiagnosis
    at: float = float("-inf")
    took: float = 0.0


class RunsFolder:
    """The runs of a folder, as the server shows them."""

    def __init__(self, folder: Path) -> None:
        import threading

        self.folder = folder
        self._followed: dict[str, _Followed] = {}
        self._lock = threading.Lock()

    def list_page(self) -> str:
        """Return the list of runs, newest first."""
        from torchwhy.report.view.view_pages import list_page

        names = sorted((path.parent.name for path in self.folder.glob("*/run.json")), reverse=True)
        shown = (self._shown(name) for name in names[:MOST_LISTED])
        return list_page([one for one in shown if one is not None], str(self.folder))

    def run_page(self, name: str) -> str | None:
        """Return the page of a run that has ended, or the page that follows it."""
        from torchwhy.pipeline import load
        from torchwhy.report.view.view_pages import live_page

        directory = self._find(name)
        shown = self._shown(name)
        if directory is None or shown is None:
            return None
        if shown.outcome == "running":
            return live_page(shown)
        return page_of(directory, load(directory))

    def live(self, name: str) -> Mapping[str, Any] | None:
        """Return the losses of a run so far, and the errors that are certain."""
        from torchwhy.report.view.live_data import live_facts

        directory = self._find(name)
        if directory is None:
            return None
        run = read_run(directory)
        traces = read_traces(directory)
        told = self._look(directory, run, traces)
        return live_facts(
            traces, told.told, withdrawn=told.withdrawn, has_ended=has_ended(directory, run)
        )

    def _find(self, name: str) -> Path | None:
        """Return the directory of a run by its exact name among those that are there."""
        return next(
            (p.parent for p in self.folder.glob("*/run.json") if p.parent.name == name), None
        )

    def _shown(self, name: str) -> RunShown | None:
        from torchwhy.pipeline import load
        from torchwhy.report.headlines import headline
        from torchwhy.report.view.view_pages import RunShown

        directory = self._find(name)
        if directory is None:
            return None
        try:
            run = read_run(directory)
            command = " ".join(run.command)
            if not has_ended(directory, run):
                return RunShown(name, command, moment_of(name), "running", "")
            report = load(directory)
        except TorchwhyError as problem:
            return RunShown(name, name, moment_of(name), "unreadable", problem.message)
        root = report.root_cause
        words = "" if root is None else f"{headline(root)} [{root.detector}]"
        return RunShown(name, command, moment_of(name), report.outcome, words, report.steps)

    def _look(self, directory: Path, run: Run, traces: Sequence[Trace]) -> LiveDiagnosis:
        """Return what `torchwhy run` tells of the program while it runs, judged anew if enough time has passed."""
        from torchwhy.follow.live_diagnosis import LiveDiagnosis

        with self._lock:
            known = self._followed.get(directory.name)
            if known is None:
                known = _Followed(LiveDiagnosis(Path(run.directory)))
                self._followed[directory.name] = known
                known.diagnosis.prepare()
            began = time.monotonic()
            if began >= known.at + REST * known.took:
                known.diagnosis.look(traces)
                known.at = time.monotonic()
                known.took = known.at - began
            return known.diagnosis


def has_ended(directory: Path, run: Run) -> bool:
    """Tell whether the run is over, or was never finished because torchwhy was killed with it."""
    if run.exit_code is not None:
        return True
    from torchwhy.record.events import RunStarted
    from torchwhy.record.trace import read_events

    for path in trace_files(directory)[:1]:
        first = next(iter(read_events(path)), None)
        if isinstance(first, RunStarted):
            return not _is_alive(first.pid)
    return False


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # It belongs to another user.
        return True
    return True


def moment_of(name: str) -> str:
    """Return when a run began, by its name, in UTC; nothing if the name does not tell."""
    from datetime import datetime, timezone

    try:
        at = datetime.strptime(name[:16], "%Y%m%dT%H%M%SZ").replace(tzinfo=timezone.utc)
    except ValueError:
        return ""
    return at.strftime("%Y-%m-%d %H:%M:%S")
