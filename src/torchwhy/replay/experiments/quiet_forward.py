"""Calls a model of the program without side effects, or refuses to.

Everything that a forward may change is restored: modes, attributes of modules, buffers, random states, printed output.
A model whose code reaches beyond that (globals, hooks, objects of its own) is not called.
"""

from __future__ import annotations

import contextlib
import dataclasses
import dis
import io
import random
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn

from torchwhy.observe.devices import generator_states
from torchwhy.observe.torch_features.module_parts import has_foreign_hooks
from torchwhy.observe.torch_features.tensor_parts import version_of
from torchwhy.source.files import layer_of

MOST_BYTES = 64 * 2**20  # of the buffers, which are copied
DEEPEST = 3  # functions of the program followed from a forward
PLAIN = (
    int,
    float,
    complex,
    str,
    bytes,
    bool,
    type(None),
    torch.Tensor,
    nn.Module,
    torch.dtype,
    torch.device,
    torch.Size,
)
CODE = (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType, type)
WRAPPERS = {
    "DistributedDataParallel",
    "FullyShardedDataParallel",
    "DataParallel",
    "OptimizedModule",
    "ScriptModule",
}
TELLING = {
    "open",
    "save",
    "add_scalar",
    "add_histogram",
    "backward",
    "put",
    "sleep",
    "input",
    "system",
    "Popen",
    "write",
}
CHANGES_NAMES = {"STORE_GLOBAL", "DELETE_GLOBAL"}


def why_not(model: nn.Module) -> str | None:
    """Return why we must not call a model, None if we may."""
    if sum(buffer.numel() * buffer.element_size() for buffer in model.buffers()) > MOST_BYTES:
        return "its buffers are large"
    own = __name__.partition(".")[0]
    for module in model.modules():
        kind = type(module)
        if kind.__name__ in WRAPPERS or isinstance(module, torch.jit.ScriptModule):
            return f"it is a {kind.__name__}"
        if has_foreign_hooks(module, own):
            return "it has hooks"
        forward = getattr(kind.forward, "original", kind.forward)
        if layer_of(getattr(getattr(forward, "__code__", None), "co_filename", "")) == "user":
            reason = _reaches_out(forward, DEEPEST) or _holds_objects(module)
            if reason is not None:
                return reason
    return None


def _holds_objects(module: nn.Module) -> str | None:
    for name, value in vars(module).items():
        if not _is_plain(value):
            return f"it holds `{name}`, a {type(value).__name__}"
    return None


def _is_plain(value: Any, depth: int = 2) -> bool:
    if (
        isinstance(value, (*PLAIN, *CODE))
        or dataclasses.is_dataclass(value)
        or isinstance(value, types.SimpleNamespace)
    ):
        return True
    if isinstance(value, dict):
        return depth == 0 or all(_is_plain(item, depth - 1) for item in value.values())
    if isinstance(value, (list, tuple, set, frozenset)):
        return depth == 0 or all(_is_plain(item, depth - 1) for item in value)
    return type(value).__name__ == "Namespace" or type(value).__module__.startswith("torch.nn")


def _reaches_out(function: Any, depth: int) -> str | None:
    """Return what in a function's code changes or uses objects outside of the model."""
    code = getattr(function, "__code__", None)
    if code is None or depth == 0:
        return None
    if TELLING & set(code.co_names):
        return f"its code calls {min(TELLING & set(code.co_names))}"
    if code.co_freevars and any(
        i.opname == "STORE_DEREF" and i.argval in code.co_freevars
        for i in dis.get_instructions(code)
    ):
        return "its code changes a variable outside"
    names = function.__globals__
    for instruction in dis.get_instructions(code):
        if instruction.opname in CHANGES_NAMES:
            return "its code changes a global variable"
        if instruction.opname != "LOAD_GLOBAL" or instruction.argval not in names:
            continue
        value = names[instruction.argval]
        if isinstance(value, types.FunctionType) and layer_of(value.__code__.co_filename) == "user":
            reason = _reaches_out(value, depth - 1)
            if reason is not None:
                return reason
        elif not isinstance(value, (*PLAIN, *CODE)) and not (
            isinstance(value, tuple) and _is_plain(value)
        ):
            return f"its code uses the global `{instruction.argval}`, a {type(value).__name__}"
    return None


@contextlib.contextmanager
def unnoticed(model: nn.Module) -> Iterator[Callable[[], None]]:
    """Put a model into evaluation mode and restore everything afterwards; yields a reset of the random states."""
    states = _random_states()
    modules = list(model.modules())
    attributes = [(module, dict(vars(module)), _copies(vars(module))) for module in modules]
    buffers = [
        (b, version_of(b), b.detach().clone()) for b in model.buffers() if not b.is_inference()
    ]
    try:
        for module in modules:
            vars(module)["training"] = False
        with (
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
            torch.no_grad(),
        ):
            yield lambda: _set_random_states(states)
    finally:
        for module, values, contents in attributes:
            _restore(module, values, contents)
        for buffer, version, copy in buffers:
            if version_of(buffer) != version:
                with torch.no_grad():
                    buffer.copy_(copy)
        _set_random_states(states)


def _copies(attributes: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value.copy()
        for name, value in attributes.items()
        if isinstance(value, (list, dict, set))
    }


def _restore(module: nn.Module, values: dict[str, Any], contents: dict[str, Any]) -> None:
    own = vars(module)
    for name in [name for name in own if name not in values]:
        del own[name]
    own.update(values)
    for name, content in contents.items():
        held = own[name]
        if isinstance(held, list):
            held[:] = content
        elif isinstance(held, dict):
            changed = list(held) != list(content) or any(
                held[key] is not content[key] for key in content
            )
            if changed:
                held.clear()
                held.update(content)
        elif held != content:
            held.clear()
            held.update(content)


def _random_states() -> tuple[Any, ...]:
    numpy = sys.modules.get("numpy")
    return (
        generator_states.take(),
        random.getstate(),
        numpy.random.get_state() if numpy is not None else None,
    )


def _set_random_states(states: tuple[Any, ...]) -> None:
    states[0].put_back()
    random.setstate(states[1])
    numpy = sys.modules.get("numpy")
    if numpy is not None and states[2] is not None:
        numpy.random.set_state(states[2])
