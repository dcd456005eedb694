"""Loaded by every Python process of a watched run, before the program; leaves no trace on its path.

Does two things: arms the recording (arm.py), then steps aside for the user's own `sitecustomize`.
Kept free of new syntax and of imports, because any interpreter may meet it.
"""

import os
import sys


def _arm() -> None:
    run_directory = os.environ.get("TORCHWHY_RUN")
    boot_folder = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != boot_folder]
    sys.path_importer_cache.pop(boot_folder, None)
    if not run_directory:
        return
    source_folder = os.path.dirname(os.path.dirname(os.path.dirname(boot_folder)))
    sys.path.insert(0, source_folder)
    try:
        # Once `torchwhy` is loaded its submodules are found through it, so the entry can go again.
        from torchwhy.observe.boot import arm

        arm.arm(run_directory)
    except Exception:
        _note_failure(run_directory)
    finally:
        sys.path.remove(source_folder)


def _note_failure(run_directory: str) -> None:
    import traceback

    try:
        with open(os.path.join(run_directory, "boot-failure.txt"), "a") as note:
            note.write(
                "process %d, %s\n%s\n" % (os.getpid(), sys.executable, traceback.format_exc())
            )
    except OSError:
        pass


def _make_way() -> None:
    """Import the user's own sitecustomize under its name; what it raises is the interpreter's to report."""
    ours = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # type: ignore[import-not-found]  # noqa: F401
    except ImportError as problem:
        if problem.name != "sitecustomize":
            raise
        if ours is not None:
            # The import machinery wants to find a module of this name when this file is done.
            sys.modules["sitecustomize"] = ours


_arm()
_make_way()
