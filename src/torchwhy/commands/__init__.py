"""The command line: one file per subcommand, whose docstring is its help; `COMMANDS` is the order of the help."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import Any, NoReturn

from torchwhy.commands.guidance.version_line import VersionAction
from torchwhy.errors import TorchwhyError, UsageError
from torchwhy.printable import one_line

COMMANDS = (
    "run",
    "check",
    "fix",
    "repro",
    "report",
    "runs",
    "view",
    "explain",
    "doctor",
    "clean",
    "completion",
    "mcp",
)
# Commands whose file lies in a folder, or has another name: a module name has one meaning.
FILES = {
    "check": "checkup",
    "repro": "history.repro",
    "runs": "history.runs",
    "clean": "history.clean",
    "completion": "guidance.completion",
    "mcp": "agents.mcp_command",
}
WITH_SETTINGS = ("run", "check")  # They take options from pyproject.toml, too.
BAD_INPUT = 2
DEBUG_VARIABLE = "TORCHWHY_DEBUG"
LONGEST_REASON = 300


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one sentence with a slug, like all errors of torchwhy."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self.options: dict[str, argparse.Action] = {}  # by the long name
        super().__init__(*arguments, **options)

    def add_argument(self, *names: Any, **options: Any) -> argparse.Action:
        """Add an argument, and remember how it is written."""
        action = super().add_argument(*names, **options)
        self.options |= {name: action for name in names if name.startswith("--")}
        return action

    def parse(self, words: Sequence[str]) -> argparse.Namespace:
        """Return the options; an unknown one is an error that names the one that was meant."""
        options, unknown = self.parse_known_args(words)
        if unknown:
            from torchwhy.commands.guidance.suggestions import did_you_mean

            option = next((word for word in unknown if word.startswith("--")), "")
            near = did_you_mean(option.partition("=")[0], self.options) if option else ""
            self.error(f"unrecognized arguments: {' '.join(unknown)}{near.removesuffix('?')}")
        return options

    def error(self, message: str) -> NoReturn:
        """Raise the error instead of ending the process."""
        raise UsageError(f"{message}; see `{self.prog} --help`.", slug="wrong-option")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand and return the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return _dispatch(words)
    except TorchwhyError as problem:
        print(f"torchwhy: {problem}", file=sys.stderr)
        return BAD_INPUT
    except BrokenPipeError:
        # The reader of the output has closed it (`| head`); flushing the buffer at exit must not raise again.
        sys.stdout = None
        return 0
    except KeyboardInterrupt:
        return 130
    except Exception as problem:
        if os.environ.get(DEBUG_VARIABLE):
            raise
        kind, reason = type(problem).__name__, one_line(str(problem))[:LONGEST_REASON]
        print(
            f"torchwhy: {kind}: {reason}. This is a bug in torchwhy, or a recorded file is damaged; "
            f"`{DEBUG_VARIABLE}=1` shows the traceback. [internal-error]",
            file=sys.stderr,
        )
        return BAD_INPUT


def _dispatch(words: list[str]) -> int:
    if words and words[0] in COMMANDS:
        return _run_command(words[0], words[1:])
    if words and not words[0].startswith("-"):
        from torchwhy.commands.guidance.suggestions import about_unknown_command

        raise UsageError(about_unknown_command(words, COMMANDS), slug="wrong-option")
    parser = _parser_of_all()
    parser.parse(words)
    parser.print_help()
    return 0


def _run_command(name: str, words: list[str]) -> int:
    module = _module_of(name)
    summary, _, details = _help_of(module)
    parser = Parser(
        prog=f"torchwhy {name}",
        description=summary,
        epilog=details,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    module.configure(parser)
    own, rest = module.split(words, parser) if hasattr(module, "split") else (words, [])
    if name in WITH_SETTINGS and rest:
        from torchwhy.commands.guidance.project_settings import words_of_settings

        own = [*words_of_settings(parser, rest), *own]  # The later of two words wins.
    options = parser.parse(own)
    options.program = rest
    return int(module.execute(options))


def _module_of(name: str) -> ModuleType:
    return import_module(f"torchwhy.commands.{FILES.get(name, name)}")


def _help_of(module: ModuleType) -> tuple[str, str, str]:
    return (module.__doc__ or "").strip().partition("\n\n")


def _parser_of_all() -> Parser:
    parser = Parser(
        prog="torchwhy",
        description="Explain why a PyTorch training run broke.",
        epilog="`torchwhy COMMAND --help` describes a command.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--version",
        action=VersionAction,
        nargs=0,
        help="print the versions of torchwhy, torch and Python",
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for name in COMMANDS:
        summary, _, _ = _help_of(_module_of(name))
        commands.add_parser(name, help=summary, add_help=False)
    return parser
