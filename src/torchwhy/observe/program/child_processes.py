"""The processes that a program forks or spawns by `multiprocessing`: which are watched, and how their watching ends.

No exception of theirs comes to `sys.excepthook`, and before Python 3.13 a forked one runs no exit handlers. All of them
run what is registered with `multiprocessing.util`: while the exception leaves the process, or, from 3.13 on, when it
is gone; there it is met where `multiprocessing` handles it.
"""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import util
from types import CodeType

from torchwhy.observe.program.handled_exceptions import HandledExceptions
from torchwhy.observe.torch_features.interpreter import is_in_child_process, target_of

FIRST = 1000  # among the finalizers of a process, in which the program's own come later
# Whose processes serve the program and do not train: the workers of loaders and pools, managers.
SERVANTS = (
    "torch.utils.data.",
    "torch.multiprocessing.",
    "multiprocessing.",
    "concurrent.futures.",
)
RANKS = "torch.multiprocessing.spawn"  # The exception: it runs a function of the program.


class ChildProcesses:
    """Has `begins` called in each child that runs the program's own code; it returns what to call at the end."""

    def __init__(self, begins: Callable[[], Callable[[BaseException | None], object]]) -> None:
        self._begins = begins

    def watch(self) -> None:
        """Be called in each forked child; this lasts as long as the object. A spawned child is one already."""
        util.register_after_fork(self, ChildProcesses._in_forked_child)
        if is_in_child_process():
            self._begin()

    def _in_forked_child(self) -> None:
        target = target_of(multiprocessing.current_process())
        module = getattr(target, "__module__", None) or ""
        if not module.startswith(SERVANTS) or module == RANKS:
            self._begin()

    def _begin(self) -> None:
        ends = self._begins()

        def handled(_: CodeType, error: BaseException) -> None:
            if _comes_out_of_run(error):
                exceptions.end()
                with suppress(Exception):
                    ends(_reason(error))

        def finish() -> None:
            exceptions.end()
            ends(_reason(sys.exc_info()[1]))

        exceptions = HandledExceptions(handled)
        exceptions.begin()
        util.Finalize(None, finish, exitpriority=FIRST)


def _comes_out_of_run(error: BaseException) -> bool:
    """Tell whether an exception has left the `run` of this process, which calls its target."""
    caller = error.__traceback__
    callee = None if caller is None else caller.tb_next
    run = type(multiprocessing.current_process()).run
    return callee is not None and callee.tb_frame.f_code is getattr(run, "__code__", None)


def _reason(error: BaseException | None) -> BaseException | None:
    """Return the exception that ends this process; torch's `spawn` catches it, reports it, and exits."""
    if isinstance(error, SystemExit) and isinstance(error.__context__, Exception):
        return error.__context__
    return error
