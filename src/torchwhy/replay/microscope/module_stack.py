"""Follows module calls: which module is running, by its path in the program, and the shapes that pass through."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

from torchwhy.observe.probes.batches import leaves_of
from torchwhy.observe.program.frames import Site, span_of, user_sites
from torchwhy.observe.program.names import Names
from torchwhy.observe.recorder import Recorder
from torchwhy.observe.torch_features.compiler import original_of
from torchwhy.observe.torch_features.interpreter import frame_at
from torchwhy.observe.torch_features.tensor_parts import is_tracing
from torchwhy.record.events import LeftOut, ModuleCalled
from torchwhy.replay.microscope.operations import name_of_dtype
from torchwhy.replay.observing.current_observation import CurrentObservation

MOST_SHAPES = 8
Sizes = list[tuple[torch.dtype, torch.Size]]
MOST_CALLS = 4000  # module calls recorded: one forward of a large model


class ModuleStack:
    """Follows module calls through torch's global forward hooks while it is installed.

    `on_call` is called before a module that no other module calls, `on_outermost` with that module, `on_output`
    with its path and output, and each of `on_model` with path, module, inputs and output.
    """

    def __init__(
        self,
        names: Names,
        recorder: Recorder,
        protect: Callable[..., Any],
        *,
        observation: CurrentObservation,
        on_call: Callable[[], object],
        on_outermost: Callable[[nn.Module], object],
        on_output: Callable[[str, Any], object],
        on_model: Sequence[Callable[[str, nn.Module, Any, Any], object]],
    ) -> None:
        self._names = names
        self._recorder = recorder
        self._observation = observation
        self._on_call = on_call
        self._on_outermost = on_outermost
        self._on_output = on_output
        self._on_model = on_model
        self._entered = protect("module probe", self._enter, computes=False)
        self._left = protect("module probe", self._leave, computes=False)
        self.stack: list[nn.Module] = []
        self._paths: dict[int, str] = {}
        self._handles: list[Any] = []
        self._told = 0
        self.step = 0
        self._thread = 0  # of the observation of a late optimizer
        self.tells = True  # writes `ModuleCalled` events
        self._called: dict[int, tuple[weakref.ref[nn.Module], int]] = {}  # with the thread
        self._callers: dict[int, weakref.ref[nn.Module]] = {}
        self._living: dict[int, weakref.ref[nn.Module]] = {}

    @property
    def is_running(self) -> bool:
        """Tell whether any module is."""
        return bool(self.stack)

    @property
    def path(self) -> str | None:
        """Return the path of the innermost running module."""
        return self._path(self.stack[-1]) if self.stack else None

    def tables(self) -> dict[str, Any]:
        """Return what gives the path of the running module, for the accelerator."""
        return {"running": self.stack, "paths": self._paths, "path_of": self._path}

    def install(self) -> None:
        """Start following."""
        if not self._handles:
            self._handles = [
                register_module_forward_pre_hook(self._entered),
                register_module_forward_hook(self._left, always_call=True),
            ]

    def remove(self) -> None:
        """Stop following."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self.stack.clear()

    def begin_anew(self) -> None:
        """Forget which modules ran: another observation begins, and their identities may belong to others by now."""
        self.tells, self._told = True, 0
        self._thread = threading.get_ident()
        self._paths.clear()
        self._called.clear()
        self._callers.clear()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Follow nothing inside: calls that we make are not the program's."""
        handles, self._handles = self._handles, []
        for handle in handles:
            handle.remove()
        try:
            yield
        finally:
            if handles:
                self.install()

    def _enter(self, module: nn.Module, inputs: Any) -> None:  # noqa: ARG002 - torch's signature
        if self._observation.number and threading.get_ident() != self._thread:
            return
        if original_of(module) is not module:
            return  # its original is called next
        if not self.stack:
            self._on_call()
        self._recognise(module)
        if not self.stack and id(module) not in self._paths:
            self._names.learn(frame_at(2))
            self._names.add_root(type(module).__name__, module)  # if no variable holds it
        if not self.stack:
            self._on_outermost(module)
        else:
            self._callers.setdefault(id(module), weakref.ref(self.stack[-1]))
        self.stack.append(module)
        if id(module) not in self._called:
            self._called[id(module)] = (weakref.ref(module), threading.get_ident())

    def _leave(self, module: nn.Module, inputs: Any, output: Any) -> None:
        if self._observation.number and threading.get_ident() != self._thread:
            return
        if self.stack and self.stack[-1] is module:
            self.stack.pop()
        elif any(running is module for running in self.stack):
            while self.stack and self.stack.pop() is not module:
                pass
        if output is None or is_tracing() or original_of(module) is not module:
            return
        if not self.stack:
            self._on_output(self._path(module), output)
            for tell in self._on_model:
                tell(self._path(module), module, inputs, output)
        if self.tells and self._told < MOST_CALLS:
            self._tell(module, inputs, output)

    def _tell(self, module: nn.Module, inputs: Any, output: Any) -> None:
        self._told += 1
        when = (self.step, self._observation.number)
        if self._told == MOST_CALLS:
            self._recorder.write(
                LeftOut(step=when[0], what="modules", kept=MOST_CALLS, look=when[1])
            )
        sites = user_sites(frame_at(3), limit=1)
        site = sites[0] if sites else None
        path, kind = self._path(module), type(module).__name__
        sizes = (_sizes(inputs), _sizes(output))
        self._recorder.postpone(partial(_event, when, path, kind, sizes, site))

    def path_of(self, module: nn.Module) -> str:
        """Return a module's path in the program's words."""
        self._recognise(module)
        return self._path(module)

    def caller_of(self, module: nn.Module) -> str | None:
        """Return the path of the module whose forward called this one first; None if none did."""
        self._recognise(module)
        reference = self._callers.get(id(module))
        caller = reference() if reference is not None else None
        return None if caller is None else self._path(caller)

    def has_run(self, module: nn.Module) -> bool:
        """Tell whether a module was called while we followed."""
        self._recognise(module)
        return id(module) in self._called

    def modules_outside(self, known: set[int]) -> list[nn.Module]:
        """Return the modules that ran and are not among `known`, e.g. those in a plain list.

        Modules that ran in another thread are left out, because it may be writing their gradients.
        """
        here = threading.get_ident()
        ran = [reference() for reference, thread in self._called.values() if thread == here]
        return [module for module in ran if module is not None and id(module) not in known]

    def _path(self, module: nn.Module) -> str:
        path = self._paths.get(id(module))
        if path is None:
            for name, root in self._names.roots():
                for local, part in root.named_modules():
                    prefix = "" if name == "self" else name
                    self._recognise(part)
                    self._paths.setdefault(
                        id(part), ".".join(filter(None, (prefix, local))) or name
                    )
            path = self._paths.setdefault(id(module), type(module).__name__)
        return path

    def _recognise(self, module: nn.Module) -> None:
        """Forget a freed module whose identity this one got.

        Freed modules are not noticed when they die: compiled code may be what lets go of them.
        """
        known = self._living.get(id(module))
        if known is None or known() is not module:
            for table in (self._paths, self._called, self._callers):
                table.pop(id(module), None)
            self._living[id(module)] = weakref.ref(module)


def _event(
    when: tuple[int, int], path: str, kind: str, sizes: tuple[Sizes, Sizes], site: Site | None
) -> ModuleCalled:
    inputs, outputs = (
        [f"{name_of_dtype(dtype)}{list(shape)}" for dtype, shape in each] for each in sizes
    )
    return ModuleCalled(
        step=when[0],
        look=when[1],
        path=path,
        kind=kind,
        inputs=inputs,
        outputs=outputs,
        location=span_of(site) if site is not None else None,
    )


def _sizes(values: Any) -> Sizes:
    if type(values) is torch.Tensor:
        return [(values.dtype, values.shape)]
    is_plain = type(values) is tuple and all(type(value) is torch.Tensor for value in values)
    leaves = values if is_plain else [leaf for _, leaf in leaves_of(values)]
    return [(leaf.dtype, leaf.shape) for leaf in leaves[:MOST_SHAPES]]
