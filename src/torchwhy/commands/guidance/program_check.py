"""Refuses a program that cannot run, before anything is recorded."""

from __future__ import annotations

import sys
from pathlib import Path

from torchwhy.errors import UsageError
from torchwhy.observe.launch import child_command, is_script
from torchwhy.printable import printable


def check_program(command: list[str]) -> None:
    """Raise `UsageError` for a program that cannot run, before anything is recorded."""
    child_command(command)
    if command[0] in ("-m", "-c") or not is_script(command[0]) or Path(command[0]).is_dir():
        return
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(Path(command[0]).read_bytes(), command[0], "exec", dont_inherit=True)
        except SyntaxError as problem:
            _show_as_python_does(problem)
            raise UsageError(
                f"{command[0]}:{problem.lineno} is not valid Python: {problem.msg}.",
                slug="syntax-error",
            ) from None
        except ValueError as problem:
            raise UsageError(
                f"{command[0]} is not Python source: {problem}.", slug="syntax-error"
            ) from None


def _show_as_python_does(problem: SyntaxError) -> None:
    import traceback

    sys.stderr.write(printable("".join(traceback.format_exception_only(problem))))
