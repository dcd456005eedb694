"""The reference of commands, options and exit codes, from the parsers and docstrings of `torchwhy.commands`."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType

from tools.docs.markdown import fence, table
from torchwhy.commands import BAD_INPUT, COMMANDS, FILES, Parser
from torchwhy.commands.run import FAIL_ON_CODE, WITHHELD_CODE

PAGE = "reference/commands.md"
INTRODUCTION = """# Commands

Made from the parsers of torchwhy itself, as `torchwhy COMMAND --help` is. Options of torchwhy stand before the program;
everything after the program belongs to the program. Options of `run` and `check` can also stand in
[`pyproject.toml`](allow.md#settings).
"""


def commands_page() -> str:
    """Return the page."""
    parts = [
        INTRODUCTION,
        table(["command", "what it does"], map(_summary, COMMANDS)),
        _exit_codes(),
    ]
    for name in COMMANDS:
        parts += _command(name)
    return "\n".join(parts)


def _summary(name: str) -> tuple[str, str]:
    return f"[`torchwhy {name}`](#torchwhy-{name})", _help(name)[0]


def _exit_codes() -> str:
    rows = [
        (
            "the program's own",
            "`run`: the program ended by itself. If a signal ended it, torchwhy ends by the same signal",
        ),
        (
            "0",
            "all other commands: done, whatever was found. `fix`: a change cures the run, or nothing is wrong",
        ),
        (
            str(WITHHELD_CODE),
            "`run`: torchwhy stopped the program. `fix`: no change cures it. `clean`: a run stays",
        ),
        (
            str(BAD_INPUT),
            "torchwhy could not do what was asked; a sentence says why ([errors](../errors.md))",
        ),
        (str(FAIL_ON_CODE), "`run` and `check`: `--fail-on` applies"),
    ]
    return f"\n## Exit codes\n\n{table(['code', 'meaning'], rows)}"


def _command(name: str) -> Iterator[str]:
    summary, details = _help(name)
    parser = _parser(name)
    yield f"\n## torchwhy {name}\n\n{summary}\n"
    yield fence(parser.format_usage().removeprefix("usage: "), "text")
    for title, actions in _groups(parser).items():
        if actions:
            yield table([title, ""], map(_option, actions))
    yield _prose(details)


def _help(name: str) -> tuple[str, str]:
    summary, _, details = (_module(name).__doc__ or "").strip().partition("\n\n")
    return " ".join(summary.split()), details


def _module(name: str) -> ModuleType:
    return import_module(f"torchwhy.commands.{FILES.get(name, name)}")


def _parser(name: str) -> argparse.ArgumentParser:
    parser = Parser(
        prog=f"torchwhy {name}", allow_abbrev=False, formatter_class=_wide, add_help=False
    )
    _module(name).configure(parser)
    return parser


def _wide(prog: str) -> argparse.HelpFormatter:
    return argparse.HelpFormatter(prog, width=100)


def _groups(parser: argparse.ArgumentParser) -> dict[str, list[argparse.Action]]:
    shown = [one for one in parser._actions if one.help != argparse.SUPPRESS]
    return {
        "argument": [one for one in shown if not one.option_strings],
        "option": [one for one in shown if one.option_strings],
    }


def _option(action: argparse.Action) -> tuple[str, str]:
    value = action.metavar or ("|".join(map(str, action.choices)) if action.choices else "")
    if isinstance(value, tuple):
        value = " ".join(value)
    if not action.option_strings:
        written = value or action.dest
    else:
        written = ", ".join(action.option_strings) + (f" {value}" if action.nargs != 0 else "")
    return f"`{written}`", _inline((action.help or "").replace("%%", "%"))


def _inline(text: str) -> str:
    """Return the text of a help with options as code."""
    text = text.replace("<", "&lt;")
    return re.sub(r"(?<![`\w-])(--[a-z][a-z-]+)", r"`\1`", text)


def _prose(details: str) -> str:
    """Return the rest of a docstring; examples of commands become code."""
    paragraphs = details.split("\n\n")
    return "\n\n".join(
        fence(one, "text")
        if all(line.startswith("torchwhy ") for line in one.splitlines()) and one
        else _inline(one)
        for one in paragraphs
    )
