"""Stays beside a confined program and kills all that is left of it when it ends, or when the supervisor is killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from torchwhy.confine.system_calls import PR_SET_CHILD_SUBREAPER, PR_SET_PDEATHSIG, prctl

PASSED_BY = (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)  # for the program, which gets them, too


def keep(start: Callable[[], None]) -> int:
    """Fork a child that calls `start`, which becomes the program; return its exit code when everything has ended."""
    supervisor = os.getppid()
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    child = os.fork()
    if child == 0:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        start()
        os._exit(125)

    def supervisor_may_be_gone(*_: object) -> None:
        if os.getppid() != supervisor:
            _kill_children()
            os._exit(1)

    for number in PASSED_BY:
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, supervisor_may_be_gone)
    prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    supervisor_may_be_gone()
    while True:
        process, status = os.wait()
        if process == child:
            break
    _kill_children()
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        _end_by(-code)
    return code


def _kill_children() -> None:
    """Kill all descendants: whoever loses its parent becomes a child of this process."""
    listed = Path(f"/proc/self/task/{os.getpid()}/children")
    while children := listed.read_text("ascii").split():
        for process in children:
            with suppress(ProcessLookupError):
                os.kill(int(process), signal.SIGKILL)
        with suppress(ChildProcessError):
            os.wait()


def _end_by(number: int) -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError, ValueError):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
