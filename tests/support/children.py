"""The other end of the zygote: start it once, ask it for programs from any thread, stop it."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
from concurrent.futures import Future
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import IO, Any, cast

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
BOOT = SOURCE / "torchwhy" / "observe" / "boot"
# Under this name its frames are nobody's: torchwhy must not take them for the user's program.
START = "import sys; exec(compile(open(sys.argv[1]).read(), '<zygote>', 'exec'))"
LIMIT_SECONDS = 60.0  # the slowest documented program takes under 5 s alone; two cores may be busy


@dataclass(frozen=True)
class Ended:
    """How one program ended; `exit_code` is negative for a signal."""

    exit_code: int
    timed_out: bool
    seconds: float


class Zygote:
    """One process with torch imported; every `run` is a forked child of it."""

    def __init__(self, **environment: str) -> None:
        self._waiting: dict[int, Future[dict[str, Any]]] = {}
        self._lock = threading.Lock()
        self._numbers = count()
        self._process = subprocess.Popen(
            [sys.executable, "-c", START, str(Path(__file__).with_name("zygote.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**AT_START, **environment},
            text=True,
        )
        self._requests = cast("IO[str]", self._process.stdin)
        self._answers = cast("IO[str]", self._process.stdout)
        if not self._answers.readline():
            raise RuntimeError(
                "the zygote could not import torch and torchwhy: see its traceback above"
            )
        threading.Thread(target=self._listen, daemon=True).start()

    def run(
        self,
        script: Path,
        *,
        directory: Path,
        output: Path,
        run_directory: Path | None,
        arguments: tuple[str, ...] = (),
        environment: dict[str, str] | None = None,
        limit_seconds: float = LIMIT_SECONDS,
        hit_by: tuple[int, float] | None = None,
    ) -> Ended:
        """Run one script and wait for its end. Without a run directory it runs bare, without torchwhy.

        `hit_by` is a signal that it gets, and after how many seconds.
        """
        answer: Future[dict[str, Any]] = Future()
        number = next(self._numbers)
        request = {
            "id": number,
            "script": str(script),
            "arguments": list(arguments),
            "directory": str(directory),
            "output": str(output),
            "run_directory": None if run_directory is None else str(run_directory),
            "environment": {**environment_of(run_directory), **(environment or {})},
            "limit_seconds": limit_seconds,
            "signal": hit_by[0] if hit_by is not None else None,
            "after_seconds": max(hit_by[1], 1e-3) if hit_by is not None else None,
        }
        with self._lock:
            self._waiting[number] = answer
            self._requests.write(json.dumps(request) + "\n")
            self._requests.flush()
        got = answer.result(timeout=limit_seconds + 30)
        return Ended(got["exit_code"], got["timed_out"], got["seconds"])

    def close(self) -> None:
        """End the zygote, and with it the programs that still run."""
        self._requests.close()
        self._process.wait(timeout=10)
        self._answers.close()

    def _listen(self) -> None:
        for line in self._answers:
            answer = json.loads(line)
            with self._lock:
                waiting = self._waiting.pop(answer["id"])
            waiting.set_result(answer)


@lru_cache(maxsize=1)
def shared_zygote() -> Zygote:
    """Return the zygote that all tests of this process may share; nobody closes it before the end.

    Programs leave no trace in it.
    """
    zygote = Zygote()
    atexit.register(zygote.close)
    return zygote


def clean_environment() -> dict[str, str]:
    """Return our environment without what pytest or the shell may have set for Python's warnings."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("PYTHONWARNINGS", "PYTHONSTARTUP", "TORCHWHY_RUN")
        and not name.startswith("PYTEST_")
    }
    environment["PYTHONPATH"] = str(SOURCE)
    environment["OMP_NUM_THREADS"] = "1"
    return environment


def environment_of(run_directory: Path | None) -> dict[str, str]:
    """Return what `torchwhy run` sets, so that processes started by the program are watched as well."""
    if run_directory is None:
        return {}
    return {"TORCHWHY_RUN": str(run_directory), "PYTHONPATH": f"{BOOT}{os.pathsep}{SOURCE}"}


AT_START = clean_environment()  # before a test changes the environment for itself
