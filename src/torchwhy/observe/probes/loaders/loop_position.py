"""Tells a step as the user counts it: the epoch and the batch of the loop that draws from a DataLoader.

Asked when something failed, never in a step. The place at which a loader was asked for its batches must be the header
of a running `for`, and the loop around it must count the passes that trained; else nothing is told.
"""

from __future__ import annotations

import ast
import inspect
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import FrameType
from typing import Any, NamedTuple

from torch.utils.data import DataLoader

from torchwhy.finding import LoopPosition
from torchwhy.observe.probes.loaders.seen_loader import SeenLoader
from torchwhy.observe.program.frames import Site, span_of
from torchwhy.observe.program.names import borrowed_locals
from torchwhy.plain_data import dataclass
from torchwhy.source.files import layer_of, scope_of
from torchwhy.source.scopes import LOOPS, Loop, inside
from torchwhy.source.values import look_up, stored_attribute

PROGRESS_BAR = "tqdm"  # a package whose loops hand on every item at once
OUT_OF_ORDER = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


class Running(NamedTuple):
    """A frame and the instruction that it executes."""

    frame: FrameType
    instruction: int


@dataclass(frozen=True)
class Stretch:
    """Batches that a loader gives one after another; `number` is that of the first one in its pass.

    `site` is where the program asked for it, `earlier` how many passes over this loader had trained.
    """

    loader: SeenLoader
    site: Site
    number: int
    earlier: int
    first_step: int


def asking_site(frame: FrameType | None) -> Site | None:
    """Return where a batch is asked for; a progress bar around the loader only hands it on."""
    if frame is not None and _is_of_progress_bar(frame.f_globals.get("__name__")):
        frame = frame.f_back
    return None if frame is None else Site(frame.f_code, frame.f_lasti)


def running_frames(frame: FrameType | None) -> Iterator[Running]:
    """Yield the frames that are running, innermost first."""
    while frame is not None:
        yield Running(frame, frame.f_lasti)
        frame = frame.f_back


def position_in(
    frames: Iterable[Running],
    stretch: Stretch,
    *,
    given: int,
    seen_of: Callable[[DataLoader[Any]], SeenLoader | None],
) -> LoopPosition | None:
    """Return the position of the batch in hand; `given` counts the batches of the stretch so far."""
    callers = iter(frames)
    for running in callers:
        if layer_of(running.frame.f_code.co_filename) != "user":
            continue
        loops, names = _loops_around(running), _names_of(running)
        for position, loop in enumerate(loops):
            loader = _loader_of(loop, names)
            if loader is None:
                continue
            if not _draws_here(loop, running, stretch) or seen_of(loader) is not stretch.loader:
                return None
            batch = _counted(loop, names, stretch.number + given - 1)
            epoch = _epoch(loops[position + 1 :], names, callers)
            if batch is None or epoch is None or epoch[0] != epoch[1] + stretch.earlier:
                return None
            return LoopPosition(epoch[0], batch)
    return None


def _loops_around(running: Running) -> list[Loop]:
    """Return the loops of a frame's function whose body it is in, innermost first."""
    code = running.frame.f_code
    scope = scope_of(code)
    if scope is None:
        return []
    line = span_of(Site(code, running.instruction)).line
    return sorted(
        (
            node
            for node in inside(scope)
            if isinstance(node, LOOPS) and node.body[0].lineno <= line <= _end_of(node.body[-1])
        ),
        key=lambda loop: -loop.lineno,
    )


def _end_of(statement: ast.stmt) -> int:
    return statement.end_lineno or statement.lineno


def _names_of(running: Running) -> Mapping[str, Any]:
    return ChainMap(dict(borrowed_locals(running.frame)), running.frame.f_globals)


def _loader_of(loop: Loop, names: Mapping[str, Any]) -> DataLoader[Any] | None:
    """Return the loader that a loop goes over."""
    if not isinstance(loop, ast.For):
        return None
    found = look_up(_without_wrappers(loop.iter, names), names)
    if _is_of_progress_bar(type(found).__module__):
        found = stored_attribute(found, "iterable")
    return found if isinstance(found, DataLoader) else None


def _without_wrappers(node: ast.expr, names: Mapping[str, Any]) -> ast.expr:
    """Return `loader` of `enumerate(tqdm(loader))`."""
    while isinstance(node, ast.Call) and node.args:
        if not _is_enumerate(node, names) and not _is_progress_bar(node, names):
            break
        node = node.args[0]
    return node


def _is_enumerate(node: ast.Call, names: Mapping[str, Any]) -> bool:
    return _is_builtin(node.func, "enumerate", names)


def _is_builtin(node: ast.expr, name: str, names: Mapping[str, Any]) -> bool:
    return isinstance(node, ast.Name) and node.id == name and name not in names


def _is_progress_bar(node: ast.Call, names: Mapping[str, Any]) -> bool:
    return _is_of_progress_bar(getattr(look_up(node.func, names), "__module__", None))


def _is_of_progress_bar(module: Any) -> bool:
    return isinstance(module, str) and module.split(".")[0] == PROGRESS_BAR


def _draws_here(loop: Loop, running: Running, stretch: Stretch) -> bool:
    """Tell whether the batches of a stretch were asked for by the header of this loop."""
    code = running.frame.f_code
    if stretch.site.code is not code or code.co_flags & OUT_OF_ORDER:
        return False
    asked_at = span_of(stretch.site).line
    return isinstance(loop, ast.For) and loop.lineno <= asked_at < loop.body[0].lineno


def _counted(loop: Loop, names: Mapping[str, Any], number: int) -> int | None:
    """Return the number of a batch as `enumerate` counts it; None if the loop's variable says another one."""
    assert isinstance(loop, ast.For)
    call = loop.iter
    while isinstance(call, ast.Call) and call.args and _is_progress_bar(call, names):
        call = call.args[0]
    if not isinstance(call, ast.Call) or not _is_enumerate(call, names):
        return number
    start = [*call.args[1:2], *(key.value for key in call.keywords if key.arg == "start")]
    first = _number(start[0], names) if start else 0
    if first is None or not isinstance(loop.target, (ast.Tuple, ast.List)):
        return None
    counter = _number(loop.target.elts[0], names)
    return counter if counter == first + number else None


def _epoch(
    loops: list[Loop], names: Mapping[str, Any], callers: Iterator[Running]
) -> tuple[int, int] | None:
    """Return the value and the first value of the counter of the nearest loop; None if it is no counter."""
    while not loops:
        caller = next(callers, None)
        if caller is None or layer_of(caller.frame.f_code.co_filename) != "user":
            return None
        if caller.frame.f_code.co_flags & OUT_OF_ORDER:
            return None
        loops, names = _loops_around(caller), _names_of(caller)
    loop = loops[0]
    if not isinstance(loop, ast.For):
        return None
    value, first = _number(loop.target, names), _first_of(loop.iter, names)
    return None if value is None or first is None else (value, first)


def _first_of(node: ast.expr, names: Mapping[str, Any]) -> int | None:
    """Return where a loop over a range starts; None for other loops and for other strides than 1."""
    while isinstance(node, ast.Call) and len(node.args) == 1 and _is_progress_bar(node, names):
        if getattr(look_up(node.func, names), "__name__", "") == "trange":
            return 0
        node = node.args[0]
    if not isinstance(node, ast.Call) or not _is_builtin(node.func, "range", names):
        return None
    if len(node.args) == 1:
        return 0
    return _number(node.args[0], names) if len(node.args) == 2 else None


def _number(node: ast.expr, names: Mapping[str, Any]) -> int | None:
    found = node.value if isinstance(node, ast.Constant) else look_up(node, names)
    return found if type(found) is int else None
