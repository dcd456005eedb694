"""A process that has imported torch once and forks a child for every program it is asked to run.

Requests are JSON lines on stdin, answers JSON lines on stdout. In the child nothing is left of this process:
`__main__`, `sys.argv`, `sys.path[0]`, streams, excepthook and exit handlers are those of a fresh interpreter.
"""

from __future__ import annotations

import atexit
import dataclasses
import gc
import json
import linecache
import os
import pkgutil
import random
import select
import signal
import sys
import threading
import time
import types
import weakref
from contextlib import suppress
from importlib import import_module
from math import inf
from pathlib import Path
from typing import Any, NoReturn

READY = {"id": -1}
FROM_TORCH = (
    "torch",
    "torch.utils.data",
    "torch.optim",
    "torch._dynamo",
    "torch.profiler._cupti_monitor",
    "torch.utils.serialization.config",
    "numpy",
    "msgspec",
)
WITHOUT_TORCH = ("torchwhy.record", "torchwhy.source")
WATCHING = ("torchwhy.observe", "torchwhy.replay")
NOT_IMPORTED = ("sitecustomize", "__main__")
SEED = 20240229
MOST_READ = 65536
COLD = (
    "TORCHWHY_TEST_COLD"  # in the zygote's environment: each child imports what watches by itself
)
LACKS = (
    "TORCHWHY_TEST_LACKS"  # in a child's, of a cold zygote: the feature that its torch shall lack
)


def serve() -> None:
    """Fork a program per request until stdin ends, and answer when it has ended; nobody waits for anybody."""
    answers = os.dup(1)
    os.set_inheritable(answers, False)
    os.dup2(2, 1)
    linecache.cache.pop("<string>", None)  # Python 3.13 keeps the text that started us.
    import_what_every_program_needs()
    fork_by_default()
    make_forks_cheap()
    ended, wake = os.pipe()
    for end in (ended, wake):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    os.write(answers, encode(READY))
    programs: list[Program] = []
    unread = b""
    while True:
        wait = min((program.due for program in programs), default=inf) - time.monotonic()
        ready, _, _ = select.select([0, ended], [], [], None if wait == inf else max(wait, 0))
        if ended in ready:
            os.read(ended, MOST_READ)
        programs = [program for program in programs if not program.is_over(answers)]
        if 0 in ready:
            got = os.read(0, MOST_READ)
            if not got:
                break
            *lines, unread = (unread + got).split(b"\n")
            programs += [Program(json.loads(line), (answers, ended, wake)) for line in lines]
    for program in programs:
        kill_group(program.process)


def import_what_every_program_needs() -> None:
    """Import torch and all of torchwhy that watches, so that a forked child starts in milliseconds.

    The first step of any optimizer imports torch._dynamo, which takes longer than all the rest. torchwhy imports most
    of its modules when a run first needs them; a child would import them anew for every program.
    """
    for name in FROM_TORCH:
        import_module(name)
    for stage in (*WITHOUT_TORCH, *(() if COLD in os.environ else WATCHING)):
        package = import_module(stage)
        for module in pkgutil.walk_packages(package.__path__, f"{stage}."):
            if not module.name.endswith(NOT_IMPORTED):
                import_module(module.name)


def fork_by_default() -> None:
    """Let processes of the programs be forked: Python 3.14 would import their files again, and most have no guard."""
    context = import_module("multiprocessing.context")
    context._default_context._default_context = context._concrete_contexts["fork"]


def make_forks_cheap() -> None:
    """Let no child walk through what was imported here: that took 115 of 172 ms of a program of one step.

    Python counts frozen objects one by one, and torchwhy asks several times whether there are any. At exit, finalizers
    of torch take apart its libraries of operators, and so copy the memory that holds them.
    """
    gc.collect()
    gc.freeze()
    count = gc.get_freeze_count()
    gc.get_freeze_count = lambda: count
    for known in weakref.finalize._registry.values():
        known.atexit = False


class Program:
    """A program that runs: it gets its signal in time, and its whole process group ends at the limit."""

    def __init__(self, request: dict[str, Any], ours: tuple[int, ...]) -> None:
        self._request = request
        self._signal = request["signal"]
        self._started = time.monotonic()
        self._is_late = False
        self.due = (
            self._started + request["limit_seconds" if self._signal is None else "after_seconds"]
        )
        self.process = os.fork()
        if self.process == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for descriptor in ours:
                os.close(descriptor)
            run(request)

    def is_over(self, answers: int) -> bool:
        """Tell whether it has ended, and answer then; do to it what is due."""
        process, status = os.waitpid(self.process, os.WNOHANG)
        if process == 0:
            if time.monotonic() >= self.due:
                self._do_what_is_due()
            return False
        kill_group(self.process)
        answer = {
            "id": self._request["id"],
            "exit_code": os.waitstatus_to_exitcode(status),
            "timed_out": self._is_late,
            "seconds": time.monotonic() - self._started,
        }
        os.write(answers, encode(answer))
        return True

    def _do_what_is_due(self) -> None:
        if self._signal is None:
            self._is_late, self.due = True, inf
            kill_group(self.process)
            return
        os.kill(self.process, self._signal)
        self._signal = None
        self.due = time.monotonic() + self._request["limit_seconds"]


def kill_group(program: int) -> None:
    """Kill the program and the workers it may have left behind."""
    with suppress(ProcessLookupError):
        os.killpg(program, signal.SIGKILL)


def run(request: dict[str, Any]) -> NoReturn:
    """Become a fresh interpreter that runs one script under torchwhy, and exit as it would."""
    os.setsid()
    os.chdir(request["directory"])
    redirect(Path(request["output"]))
    os.environ.update(request["environment"])
    script = request["script"]
    sys.argv = [script, *request["arguments"]]
    sys.path[0] = str(Path(script).parent)
    seed_what_the_program_does_not()
    main = types.ModuleType("__main__")
    main.__dict__.update(__file__=script, __builtins__=__builtins__, __cached__=None)
    sys.modules["__main__"] = main
    if LACKS in os.environ:
        take_away(os.environ[LACKS])
    if request["run_directory"] is not None:
        import_module("torchwhy.observe.boot.wire").begin(Path(request["run_directory"]))
    leave(execute(script, main))


def take_away(feature: str) -> None:
    """Spell a private name in torchwhy's table that no torch has, before torchwhy looks for it."""
    features = import_module("torchwhy.observe.torch_features.table").FEATURES
    assert "torchwhy.observe.torch_features.resolve" not in sys.modules, "the zygote is not cold"
    features[feature] = dataclasses.replace(features[feature], names=("torch._taken_away",))


def seed_what_the_program_does_not() -> None:
    """Seed the generators that a fresh interpreter seeds by chance, so that a program gives one report."""
    random.seed(SEED)
    import_module("numpy").random.seed(SEED)
    import_module("torch").manual_seed(SEED)


def redirect(output: Path) -> None:
    """Point the standard streams at nothing and at two files."""
    for descriptor, path, flags in (
        (0, os.devnull, os.O_RDONLY),
        (1, output / "stdout", os.O_WRONLY | os.O_CREAT | os.O_APPEND),
        (2, output / "stderr", os.O_WRONLY | os.O_CREAT | os.O_APPEND),
    ):
        opened = os.open(path, flags, 0o644)
        os.dup2(opened, descriptor)
        os.close(opened)


def execute(script: str, main: types.ModuleType) -> int:
    """Run the script as `__main__`; return the exit code the interpreter would give."""
    try:
        exec(compile(Path(script).read_bytes(), script, "exec", dont_inherit=True), main.__dict__)
    except SystemExit as leaving:
        if leaving.code is None or isinstance(leaving.code, int):
            return leaving.code or 0
        sys.stderr.write(f"{leaving.code}\n")
        return 1
    except BaseException as problem:
        # The interpreter's own traceback starts in the script, so ours must not show this frame.
        below = problem.__traceback__.tb_next if problem.__traceback__ else None
        sys.excepthook(type(problem), problem.with_traceback(below), below)
        return 1
    return 0


def leave(code: int) -> NoReturn:
    """Join threads, run exit handlers and flush, in the interpreter's order, then go."""
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def encode(answer: dict[str, Any]) -> bytes:
    """Return one line."""
    return json.dumps(answer).encode() + b"\n"


if __name__ == "__main__":
    serve()
