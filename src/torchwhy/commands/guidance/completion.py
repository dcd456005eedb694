"""Print a script that completes commands, options and names of causes in a shell.

torchwhy completion bash > ~/.local/share/bash-completion/completions/torchwhy
torchwhy completion zsh > ~/.zfunc/_torchwhy         (a folder of $fpath)
torchwhy completion fish > ~/.config/fish/completions/torchwhy.fish
"""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import Any

from torchwhy.errors import UsageError

SHELLS = ("bash", "zsh", "fish", "tcsh")
TAKES_PROGRAM = ("run", "check", "fix")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument("shell", choices=SHELLS)


def execute(options: argparse.Namespace) -> int:
    """Print the script to stdout."""
    try:
        import shtab
    except ImportError:
        raise UsageError(
            "completion needs the package shtab: `pip install 'torchwhy[completion]'`.",
            slug="missing-extra",
        ) from None
    print(shtab.complete(whole_parser(files=shtab.FILE), options.shell))
    return 0


def whole_parser(files: Any) -> argparse.ArgumentParser:
    """Return a parser that knows all commands with all options; `files` is shtab's completion of files."""
    from torchwhy.commands import COMMANDS, FILES, Parser

    parser = Parser(prog="torchwhy", allow_abbrev=False)
    parser.add_argument("--version", action="store_true", help="print the versions")
    commands = parser.add_subparsers(metavar="COMMAND")
    for name in COMMANDS:
        module = import_module(f"torchwhy.commands.{FILES.get(name, name)}")
        summary = (module.__doc__ or "").strip().partition("\n\n")[0]
        inner = commands.add_parser(name, help=summary)
        if name == "explain":
            inner.add_argument("words", nargs="*", choices=_causes())
            continue
        module.configure(inner)
        if name in TAKES_PROGRAM:
            program = inner.add_argument("program", nargs="*", help="the program and its arguments")
            program.complete = files  # type: ignore[attr-defined]
    return parser


def _causes() -> list[str]:
    from torchwhy.detect.registry import all_detectors

    return sorted(all_detectors())
