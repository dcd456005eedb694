"""Fixes that change a number where the user sets it: in the source, a settings file, the command or the environment."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator

from torchwhy.finding import Fix
from torchwhy.source.analyses.number_settings import in_settings_file, on_command_line, variable_of
from torchwhy.source.analyses.written_numbers import written
from torchwhy.source.edits import Source, diff_between


def set_number(
    source: Source, given: ast.expr, text: str, *, title: str, actual: float | None = None
) -> Iterator[Fix]:
    """Yield another number for an expression, changed where the user sets it; nothing if that place is unknown.

    `actual` is the number that the program used, if it is known. A number in the source that differs from it is a
    default that something else overrides.
    """
    word = on_command_line(source, given, actual=actual)
    if word is not None:
        changed = list(source.command)
        changed[word.position] = word.before + text
        shown = (
            changed[word.position] if word.before or not word.option else f"{word.option} {text}"
        )
        yield Fix(f"{title}: run with `{shown}`", command=tuple(changed))
        return
    place = written(source, given)
    if place is not None and (actual is None or math.isclose(place.number, actual, rel_tol=1e-6)):
        yield from place.source.fix(title, place.source.replace(place.node, text))
        return
    entry = in_settings_file(source, given, actual=actual)
    if entry is not None:
        file = entry.source
        after = file.text[: entry.start] + _as_setting(text) + file.text[entry.end :]
        yield Fix(f"{title} in {file.file}", diff=diff_between(file.file, file.text, after))
        return
    variable = variable_of(source, given)
    if variable is not None and source.command:
        word_of_environment = f"{variable}={text}"
        yield Fix(
            f"{title}: run with `{word_of_environment}`",
            command=source.command,
            environment=(word_of_environment,),
        )


def _as_setting(text: str) -> str:
    """Return a number as YAML reads it, too: a string is 1e-05, a number 1.0e-05."""
    mantissa, e, exponent = text.partition("e")
    return f"{mantissa}.0e{exponent}" if e and "." not in mantissa else text
