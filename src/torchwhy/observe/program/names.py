"""Names parameters and buffers after the program's variables that hold their modules."""

from __future__ import annotations

import inspect
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from types import FrameType
from typing import Any

import torch
from torch import nn

from torchwhy.observe.torch_features.compiler import original_of
from torchwhy.observe.torch_features.module_parts import is_built, parameters_in, parts_in
from torchwhy.observe.torch_features.tensor_parts import storage_key
from torchwhy.source.files import layer_of

DEEPEST = 100  # modules nested in each other
MOST_FRAMES = 12  # a training loop sits at most this deep below the frame that made the model
WRAPPED = "_wrapped_module"  # Under such a name torch's wrappers (FSDP, checkpointing) hold the program's module.
TAKES_SNAPSHOT = frozenset(
    {"locals", "vars", "f_locals"}
)  # names in code that takes a snapshot of its variables


class Names:
    """Finds modules in the variables of running frames and names their tensors after them."""

    def __init__(self, visit: Callable[[], int] = lambda: 0) -> None:
        self._visit = visit  # the number of the visit, within which no model changes
        self._told: tuple[int, dict[int, str]] = (0, {})
        self._additions = 0
        # With the thread in whose variables each was found.
        self._roots: list[tuple[str, weakref.ref[nn.Module], int]] = []
        # By identity, which another module may get when one is gone.
        self._known: dict[int, weakref.ref[nn.Module]] = {}

    def learn(self, frame: FrameType | None) -> None:
        """Look for modules in the user's frames from here outwards, then in those of libraries.

        A library that was given a model has a name of its own for it, which the program never uses.
        """
        of_libraries: list[FrameType] = []
        for _ in range(MOST_FRAMES * 8):
            if frame is None:
                break
            layer = layer_of(frame.f_code.co_filename)
            if layer == "user":
                self._learn_from(frame)
            elif layer == "library":
                of_libraries.append(frame)
            frame = frame.f_back
        for one in of_libraries:
            self._learn_from(one)

    def _learn_from(self, frame: FrameType) -> None:
        for name, module in _modules_in(frame):
            self.add_root(name, module)

    def add_root(self, name: str, module: nn.Module) -> None:
        """Remember a module under the name of the variable that holds it, unless it is part of a known one."""
        module = original_of(module)
        known = self._known.get(id(module))
        if known is not None and known() is module:
            return
        parts = {id(part): weakref.ref(part) for part in module.modules()}
        self._roots = [
            known
            for known in self._roots
            if (held := known[1]()) is not None and id(held) not in parts
        ]
        self._roots.append((name, weakref.ref(module), threading.get_ident()))
        self._told = (0, {})
        self._additions += 1
        self._known |= parts

    @property
    def edition(self) -> tuple[int, int]:
        """Return what differs when a parameter may have got another name: models were added, or are gone."""
        return self._additions, sum(1 for _ in self.roots())

    def roots(self) -> Iterator[tuple[str, nn.Module]]:
        """Yield the outermost modules that still live, with the name of their variable.

        Models that another thread trains are left out: torch writes their gradients without Python's lock.
        """
        here = threading.get_ident()
        for name, reference, thread in self._roots:
            module = reference()
            if module is not None and (thread == here or not _is_at_work(thread)):
                yield name, module

    def parameters(self) -> dict[int, str]:
        """Return names by the parameter's identity, prefixed by the variable if several models train."""
        visit = self._visit()
        if visit and self._told[0] == visit:
            return self._told[1]
        owners = [(name, found) for name, root in self.roots() if (found := parameters_of(root))]
        told = {
            id(parameter): _joined(name, local, prefix=len(owners) > 1)
            for name, found in owners
            for local, parameter in found
        }
        self._told = (visit, told)
        return told

    def buffers(self) -> dict[str, torch.Tensor]:
        """Return the buffers of all known modules by name."""
        owners = list(self.roots())
        return {
            _joined(name, local, prefix=len(owners) > 1): buffer
            for name, module in owners
            for local, buffer in module.named_buffers()
        }

    def by_memory(self) -> dict[int, tuple[str, str]]:
        """Return (kind, name) of every parameter and buffer by the key of its memory."""
        found: dict[int, tuple[str, str]] = {}
        for name, buffer in self.buffers().items():
            key = storage_key(buffer)
            if key is not None:
                found[key] = ("buffer", name)
        names = self.parameters()
        for _, module in self.roots():
            for parameter in module.parameters():
                key = storage_key(parameter)
                if key is not None:
                    found[key] = ("parameter", names.get(id(parameter), "a parameter"))
        return found

    def path_of(self, module: nn.Module) -> str:
        """Return a module's path in the program, `net.head.0`; its class name if unknown."""
        for name, root in self.roots():
            for local, part in root.named_modules():
                if part is module:
                    path = _joined(name, local, prefix=name != "self")
                    # Every module is `self` to its own code; its class says which one it is.
                    return type(module).__name__ if path == "self" else path
        return type(module).__name__


def _is_at_work(thread: int) -> bool:
    """Tell whether a thread other than the main one still runs."""
    main = threading.main_thread().ident
    return thread != main and any(one.ident == thread for one in threading.enumerate())


def parameters_of(module: nn.Module) -> list[tuple[str, nn.Parameter]]:
    """Return what `named_parameters` yields, each as often as it is held; ten times as fast, because it runs often."""
    if type(module).named_parameters is not nn.Module.named_parameters:
        return list(module.named_parameters(remove_duplicate=False))
    found: list[tuple[str, nn.Parameter]] = []
    _collect(module, "", found)
    return found


def _collect(module: nn.Module, prefix: str, found: list[tuple[str, nn.Parameter]]) -> None:
    if prefix.count(".") > DEEPEST:
        return  # a module that holds itself
    for name, parameter in parameters_in(module).items():
        if parameter is not None:
            found.append((prefix + name, parameter))
    for name, part in parts_in(module).items():
        if part is not None:
            _collect(part, f"{prefix}{name}.", found)


def _joined(variable: str, local: str, *, prefix: bool) -> str:
    if WRAPPED in local:
        local = ".".join(part for part in local.split(".") if not part.endswith(WRAPPED))
    if not prefix or variable == "self":
        return local or variable
    return f"{variable}.{local}" if local else variable


def _modules_in(frame: FrameType) -> Iterator[tuple[str, nn.Module]]:
    with_names = borrowed_locals(frame)
    for name, value in with_names.items():
        if _is_module(value) and not _is_torch_own(value, name):
            yield name, value
        elif name == "self" and not issubclass(type(value), (nn.Module, torch.Tensor)):
            yield from _modules_held_by(value)
    if frame.f_code.co_name != "<module>":
        for name, value in list(frame.f_globals.items()):
            if _is_module(value):
                yield name, value


def _is_module(value: Any) -> bool:
    """Tell whether something is a module, by its type: `isinstance` would ask a proxy for its `__class__`."""
    return issubclass(type(value), nn.Module) and is_built(value)


def _is_torch_own(module: nn.Module, name: str) -> bool:
    return name.startswith("_") and not list(module.children())


def _modules_held_by(holder: Any) -> Iterator[tuple[str, nn.Module]]:
    attributes = getattr(holder, "__dict__", None)
    if isinstance(attributes, dict):
        for name, value in list(attributes.items()):
            if _is_module(value):
                yield name, value


def borrowed_locals(frame: FrameType) -> Mapping[str, Any]:
    """Return a frame's variables and leave the frame as it was; nothing if that is impossible.

    Before Python 3.13, reading `f_locals` of a function leaves a snapshot in the frame that would keep the user's
    tensors alive, so we empty it. A function that takes the snapshot itself (`settings = locals()`) would see its copy
    change, so we do not read it. The locals of a module or class are its real namespace.
    """
    if sys.version_info >= (3, 13) or not frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        return dict(frame.f_locals)
    if not TAKES_SNAPSHOT.isdisjoint(frame.f_code.co_names):
        return {}
    variables = frame.f_locals
    copy = dict(variables)
    variables.clear()
    return copy


def forget_snapshot(frame: FrameType) -> None:
    """Empty the snapshot of a function's variables that reading `f_locals` left in its frame.

    Not inside of a trace function: Python copies the snapshot back into the variables after it.
    """
    if sys.version_info < (3, 13):
        borrowed_locals(frame)
