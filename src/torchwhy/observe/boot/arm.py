"""Waits for `import torch` and starts the recording right after it; a process without torch pays nothing.

Whatever fails here is ours alone: it is noted in `boot-failure.txt` of the run, and the program goes on.
"""

from __future__ import annotations

import os
import sys
from time import perf_counter

TYPE_CHECKING = (
    False  # type checkers know the name; importing `typing` would cost every process 10 ms
)
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType


# Python imports this file before any of the program's; a process that is forked later begins later.
_began, _process = perf_counter(), os.getpid()


def program_began() -> float | None:
    """Return when this process began; None if it was forked from one that had begun."""
    return _began if os.getpid() == _process else None


def arm(run_directory: str) -> None:
    """Call `wire.begin(run_directory)` once torch has been imported, now if it is there already."""
    if os.path.exists(os.path.join(run_directory, "overlay.json")):
        from torchwhy.observe.boot import overlay

        overlay.install(run_directory)
    if os.path.exists(os.path.join(run_directory, "guard.json")):
        _guard_files(run_directory)
    if _reads_a_pipe():
        from torchwhy.observe.boot import kept_input

        kept_input.keep(run_directory)
    if "torch" in sys.modules:
        _begin(run_directory)
    else:
        sys.meta_path.insert(0, _TorchFinder(run_directory))


def _guard_files(run_directory: str) -> None:
    """Keep a repeated run from changing the user's files; without the guard it may not go on."""
    try:
        from torchwhy.confine import write_guard

        write_guard.install(run_directory)
    except Exception:
        note_failure(run_directory)
        os._exit(125)


def _reads_a_pipe() -> bool:
    """Tell whether standard input is a pipe or a socket; before anything is imported for it."""
    try:
        kind = os.fstat(0).st_mode & 0o170000
    except OSError:
        return False
    return kind in (0o010000, 0o140000)


def _begin(run_directory: str) -> None:
    try:
        from torchwhy.observe.boot import wire

        wire.begin(run_directory)
        guard = sys.modules.get("torchwhy.confine.write_guard")
        if guard is not None:
            guard.watch_torch(sys.modules["torch"])
    except Exception:
        note_failure(run_directory)


def note_failure(run_directory: str) -> None:
    """Append the exception being handled to `boot-failure.txt`, for the supervisor to tell."""
    import traceback
    from contextlib import suppress
    from pathlib import Path

    text = f"process {os.getpid()}, {sys.executable}\n{traceback.format_exc()}\n"
    with suppress(OSError), (Path(run_directory) / "boot-failure.txt").open("a") as note:
        note.write(text)


class _TorchFinder:
    """Stands first among the finders until torch has been imported; finds nothing by itself.

    It stays after a mere look (`importlib.util.find_spec("torch")`) and after an import that failed.
    """

    def __init__(self, run_directory: str) -> None:
        self._run_directory = run_directory

    def find_spec(
        self,
        name: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """Let the other finders find torch, and have its spec tell us when the import is done."""
        if name != "torch":
            return None
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            if finder is self or find is None:
                continue
            spec: ModuleSpec | None = find(name, path, target)
            if spec is not None:
                try:
                    _tell_when_imported(spec, self._after_import)
                except Exception:
                    note_failure(self._run_directory)
                return spec
        return None

    def _after_import(self) -> None:
        if "torch" in sys.modules and self in sys.meta_path:
            sys.meta_path.remove(self)
            _begin(self._run_directory)


def _tell_when_imported(spec: ModuleSpec, after_import: Callable[[], None]) -> None:
    """Have the spec call back when the import machinery marks it as done, and be a plain one again.

    Where that marks nothing, the loader calls back: its frame then stands in every traceback out of `import torch`.
    """
    if not _marks_imports():
        _have_loader_tell(spec, after_import)
        return
    plain_class = type(spec)
    facts = vars(spec)

    def is_initializing(_spec: ModuleSpec) -> bool:
        return bool(facts.get("_initializing"))

    def set_initializing(changed: ModuleSpec, value: bool) -> None:  # noqa: FBT001 (a property setter)
        facts["_initializing"] = value
        if not value:
            changed.__class__ = plain_class
            after_import()

    watched = property(is_initializing, set_initializing)
    telling = {"__slots__": (), "__module__": plain_class.__module__, "_initializing": watched}
    spec.__class__ = type(plain_class.__name__, (plain_class,), telling)


def _marks_imports() -> bool:
    """Tell whether this Python says on a spec, in private, that its module is being imported."""
    load = getattr(sys.modules.get("_frozen_importlib"), "_load_unlocked", None)
    return "_initializing" in getattr(getattr(load, "__code__", None), "co_names", ())


def _have_loader_tell(spec: ModuleSpec, after_import: Callable[[], None]) -> None:
    loader = spec.loader
    assert loader is not None
    execute = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        execute(module)
        after_import()

    loader.exec_module = exec_module  # type: ignore[method-assign]
