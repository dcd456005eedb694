"""Confines itself as a plan says, then starts the program: `enter.py PLAN COMMAND …`.

Without a command it only tries, and ends with 0 if the plan works here. Python starts it with `-I -S`, so
it uses the standard library alone.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence

NOT_CONFINED = 125  # as `env` and `docker run` end if the command could not be started


def main(words: Sequence[str]) -> int:
    """Confine this process, and execute the command in it."""
    plan_file, *command = words
    try:
        _confine(plan_file, is_trial=not command)
    except OSError as problem:
        sys.stderr.write(f"torchwhy: the program was not started, because {problem}\n")
        return NOT_CONFINED
    if not command:
        return 0
    if sys.platform == "linux":
        from torchwhy.confine.keeper import keep

        return keep(lambda: _become(command))
    _become(command)
    return NOT_CONFINED


def _become(command: list[str]) -> None:
    try:
        os.execvp(command[0], command)  # noqa: S606 (no shell is wanted)
    except OSError as problem:
        sys.stderr.write(f"torchwhy: {command[0]} cannot be started: {problem.strerror}\n")
        sys.stderr.flush()


def _confine(plan_file: str, *, is_trial: bool) -> None:
    from torchwhy.confine.plan import read_plan

    plan = read_plan(plan_file)
    if sys.platform == "linux":
        from torchwhy.confine import landlock, namespaces

        if plan.way == "layers":
            split = namespaces.enter()
            layers = namespaces.Layers(plan.layer_folders, program=plan.directory, split=split)
            layers.lay(plan.writable)
            if not is_trial:
                layers.hide(plan.hidden)
        elif plan.way == "mounts":
            namespaces.enter()
            namespaces.close_everything(plan.writable)
        elif plan.way == "landlock":
            landlock.restrict(plan.writable)
    os.chdir(plan.directory)
    if not is_trial:
        for path, content in plan.replaced:
            _put(content, path)
    if is_trial:
        with tempfile.TemporaryFile(dir=plan.directory):
            pass


def _put(content: str, path: str) -> None:
    """Put the content of one file into another; a link there may lead to the user's own file, so it goes first."""
    with open(content, "rb") as file:
        data = file.read()
    if os.path.islink(path):
        os.unlink(path)
    with open(path, "wb") as file:
        file.write(data)


if __name__ == "__main__":
    folder = os.path.dirname(os.path.abspath(__file__))
    sys.path.insert(0, os.path.dirname(os.path.dirname(folder)))
    sys.exit(main(sys.argv[1:]))
