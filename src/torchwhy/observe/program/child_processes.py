"""The processes that a program forks or spawns by `multiprocessing`: which are watched, and how their watching ends.

No exception of theirs comes to `sys.excepthook`, and a forked one runs no exit handlers. All of them run what is
registered with `multiprocessing.util`.
"""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Callable
from multiprocessing import util

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
        util.Finalize(None, lambda: ends(_leaving_exception()), exitpriority=FIRST)


def _leaving_exception() -> BaseException | None:
    """Return the exception that ends this process; torch's `spawn` catches it, reports it, and exits."""
    error = sys.exc_info()[1]
    if isinstance(error, SystemExit) and isinstance(error.__context__, Exception):
        return error.__context__
    return error
