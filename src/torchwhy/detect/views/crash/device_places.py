"""Where the program chooses the device that an exception is about."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchwhy.detect.fixes.everyday.devices import names_device
from torchwhy.detect.views.crash.crash_view import CrashView
from torchwhy.finding import SourceSpan
from torchwhy.plain_data import dataclass
from torchwhy.source.analyses.constructors import assigned
from torchwhy.source.bindings import reference
from torchwhy.source.calls import called
from torchwhy.source.edits import Source
from torchwhy.source.values import references_in


@dataclass(frozen=True)
class Choice:
    """The place that chooses a device; None is the failing line. `option` is set if the command line chooses it."""

    place: SourceSpan | None
    option: str | None


def device_chosen(crash: CrashView, device: str) -> Choice:
    """Return the expression that names the device: on the failing line, where its variable is set, or the only one."""
    place = crash.event.location
    source = crash.trace.files.get(place.file) if place is not None else None
    failing = source.at(place) if source is not None else None
    if failing is not None and any(names_device(one, device) for one in ast.walk(failing)):
        return Choice(None, None)
    if failing is not None and called(failing) == device:
        return Choice(None, None)
    found = list(_given_to_names(crash, failing, device)) if failing is not None else []
    if not found:
        found = [
            (file, node)
            for file in crash.trace.files.values()
            for node in ast.walk(file.tree)
            if isinstance(node, ast.expr) and names_device(node, device)
        ]
    if len(found) != 1:
        return Choice(None, None)
    file, node = found[0]
    return Choice(file.span(node), _option(file, node))


def _given_to_names(
    crash: CrashView, failing: ast.expr, device: str
) -> Iterator[tuple[Source, ast.expr]]:
    """Yield the expressions with the device's name that variables of the failing expression are given."""
    seen: set[ast.AST] = set()
    for used in references_in(failing):
        name = reference(used)
        for file in crash.trace.files.values():
            for written in assigned(file, name) if name is not None else ():
                if written.node not in seen and _names(written.node, device):
                    seen.add(written.node)
                    yield file, written.node


def _names(node: ast.expr, device: str) -> bool:
    return any(names_device(one, device) for one in ast.walk(node))


def _option(source: Source, node: ast.expr) -> str | None:
    """Return the option `--device` whose default the expression is."""
    for outer in source.around(node):
        if isinstance(outer, ast.Call) and called(outer) in ("add_argument", "option"):
            words = [one.value for one in outer.args if isinstance(one, ast.Constant)]
            return next((one for one in words if isinstance(one, str) and one[:2] == "--"), None)
        if isinstance(outer, ast.stmt):
            return None
    return None
