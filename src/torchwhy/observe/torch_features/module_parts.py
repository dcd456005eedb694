"""What a module is made of: its tables of parameters and parts, its hooks, and how torch calls it."""

from __future__ import annotations

import dis
import functools
from collections.abc import Callable, Mapping
from operator import attrgetter
from types import FrameType
from typing import Any

import torch
from torch import nn

from torchwhy.observe.torch_features.interpreter import frame_at
from torchwhy.observe.torch_features.of_torch import HOOKS
from torchwhy.observe.torch_features.resolve import get, is_there

_has_tables = is_there("module-tables")
_has_hooks = is_there("module-hooks")
_CALL = get("module-call")

CALL_NAME = "_wrapped_call_impl" if _CALL is not None else ""  # the first frame of every call
TABLES = ("_parameters", "_buffers", "_modules")
# Attributes of every module that hold what the program put there: its parts and its hooks.
HOLDING = frozenset({"_modules", *(f"_{kind}" for kind in HOOKS)})


def _named_parameters(module: nn.Module) -> dict[str, nn.Parameter]:
    return dict(module.named_parameters(recurse=False, remove_duplicate=False))


def _named_children(module: nn.Module) -> dict[str, nn.Module]:
    return dict(module.named_children())


# What a module itself holds, by name. Asked of every module of a model, so without a function of ours in between.
parameters_in: Callable[[nn.Module], Mapping[str, nn.Parameter | None]] = (
    attrgetter("_parameters") if _has_tables else _named_parameters
)
parts_in: Callable[[nn.Module], Mapping[str, nn.Module | None]] = (
    attrgetter("_modules") if _has_tables else _named_children
)


def is_built(module: nn.Module) -> bool:
    """Tell whether `nn.Module.__init__` has run: a subclass may call other modules before it."""
    return (
        not _has_tables or "_modules" in vars(module) or isinstance(module, torch.jit.ScriptModule)
    )


def stored_in(module: nn.Module, name: str) -> tuple[Any] | None:
    """Return what a module's tables hold under a name, in a tuple; None if they hold nothing under it."""
    tables = [vars(module).get(table, {}) for table in TABLES] if _has_tables else _tables(module)
    return next(((table[name],) for table in tables if name in table), None)


def _tables(module: nn.Module) -> list[dict[str, Any]]:
    """Return the same by torch's public methods."""
    found = (
        nn.Module.named_parameters(module, recurse=False),
        nn.Module.named_buffers(module, recurse=False),
        nn.Module.named_children(module),
    )
    return [dict(one) for one in found]


def stored_part(holder: Any, name: str) -> Any:
    """Return the part of that name that something holds as modules do, None if it has none."""
    if _has_tables:
        return getattr(holder, "__dict__", {}).get("_modules", {}).get(name)
    return dict(holder.named_children()).get(name) if isinstance(holder, nn.Module) else None


def stored_buffers(module: nn.Module) -> Mapping[str, Any]:
    """Return the buffers that a module itself holds; nothing where its `__init__` was not called."""
    return vars(module).get("_buffers", {}) if _has_tables else _tables(module)[1]


def is_initialised(module: nn.Module) -> bool:
    """Tell whether the `__init__` of torch's class has run."""
    return not _has_tables or "_parameters" in vars(module)


def held_by_attribute(name: str, value: Any) -> list[tuple[str, Any]] | None:
    """Return what the program put into an attribute that every module has; None for another attribute."""
    if name == "_modules" and _has_tables:
        return [(child, part) for child, part in list(value.items()) if part is not None]
    if name.endswith("_hooks") and name in HOLDING:
        return [("hook", hook) for hook in list(value.values())]
    return None


def module_call_code() -> Any:
    """Return the code of a module's call; inside of it a nested function runs the hooks, when there are any."""
    return None if _CALL is None else _CALL[0].__code__


@functools.lru_cache(maxsize=1)
def unhooked_call() -> tuple[int, int]:
    """Return the instruction and line at which a module without hooks calls its `forward`."""
    code = module_call_code()
    call = next((i for i in dis.get_instructions(code) if i.opname == "CALL_FUNCTION_EX"), None)
    offset = call.offset if call is not None else 0
    lines = [line for start, end, line in code.co_lines() if start <= offset < end and line]
    return offset, lines[0] if lines else code.co_firstlineno


def has_own_hooks(module: Any) -> bool:
    """Tell whether a module has hooks of its own, or might have."""
    return not _has_hooks or any(getattr(module, f"_{kind}", None) for kind in HOOKS)


def has_foreign_hooks(module: Any, own_package: str) -> bool:
    """Tell whether a module's call would run hooks even without those of `own_package`, or might."""
    if has_own_hooks(module):
        return True
    tables = (get("module-hooks") or ())[len(HOOKS) :]
    hooks = [hook for table in tables for hook in table.values()]
    return any(not str(getattr(hook, "__module__", "")).startswith(own_package) for hook in hooks)


def note_loads(
    replace: Callable[..., Any],
    noting: Callable[[Any, Callable[[Any], None]], Any],
    noted: Callable[[nn.Module, FrameType], None],
) -> None:
    """Call `noted` with a module that begins to load a state, and the frame of its `load_state_dict`.

    Torch loads the tensors of a module by a method of that module; the outermost module is the one that was asked to.
    """
    code = nn.Module.load_state_dict.__code__

    def begun(module: Any) -> None:
        frame = frame_at(2).f_back
        if frame is not None and frame.f_code is code:
            noted(module, frame)

    original = (get("state-loading") or (None,))[0]
    replace(nn.Module, "_load_from_state_dict", noting(original, begun))
