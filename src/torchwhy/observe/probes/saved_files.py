"""Notes which files the program saves and loads, and what the step after a save or a start begins with.

All of it only in runs of `torchwhy check`: it hashes all weights and states once. What ranks save is noted in every
run, from their first step on.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.util
import os
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

from torchwhy.observe.devices import generator_states
from torchwhy.observe.hooks import Hooks
from torchwhy.observe.program.frames import Site, span_of
from torchwhy.observe.settings import Settings
from torchwhy.observe.torch_features.interpreter import frame_at
from torchwhy.record.events import Event
from torchwhy.record.wiring import FileLoaded, FileSaved, StateBeforeStep
from torchwhy.source.files import layer_of

MOST_LEAVES = 10_000  # of a loaded file; a checkpoint with more of them is looked at in part
FURTHER_STEPS = 12  # of a resumed run, which show whether its scheduler goes on or begins anew
MOST_FILES = 100  # of each kind; a program that saves at every step is known by then

Protect = Callable[..., Callable[..., Any]]


class SavedFiles:
    """Knows after which step a run that waits for a save has seen enough."""

    def __init__(
        self,
        settings: Settings,
        write: Callable[[Event], None],
        step: Callable[[], int],
        index_of: Callable[[Any], tuple[int, int]],
    ) -> None:
        self._part = settings.resume
        self._write = write
        self._step = step
        self._index_of = index_of
        self._saved = self._loaded = 0
        self._is_on = False
        self._waits = self._part == "resumed"  # for the step whose beginning is recorded
        self.last_step = settings.stop_after_step

    def install(self, hooks: Hooks, protect: Protect) -> None:
        """Put a wrapper around what saves and loads files."""
        self.note_saves(hooks, protect)
        loaded = protect("file probe", self._note_loaded)
        for module, _, load in _savers():
            hooks.replace_function(module, load, _noted_load(getattr(module, load), loaded))
        if self._part is not None:
            before = protect("file probe", self._before_step)
            hooks.add(register_optimizer_step_pre_hook(lambda o, *_: before(o)).remove)

    def note_saves(self, hooks: Hooks, protect: Protect) -> None:
        """Put a wrapper around what saves files, once."""
        if self._is_on:
            return
        self._is_on = True
        saved = protect("file probe", self._note_saved)
        for module, save, _ in _savers():
            hooks.replace_function(module, save, _noted_save(getattr(module, save), saved))

    def _note_saved(self, target: Any) -> None:
        path = _path_of(target)
        if path is None or self._saved >= MOST_FILES:
            return
        self._saved += 1
        self._write(FileSaved(step=self._step(), path=path, location=_place()))
        self._waits |= self._part == "interrupted" and self._step() > 0

    def _note_loaded(self, target: Any, content: Any) -> None:
        path = _path_of(target)
        if path is None or self._loaded >= MOST_FILES:
            return
        self._loaded += 1
        self._write(
            FileLoaded(
                step=self._step(),
                path=path,
                only_tensors=all(isinstance(one, torch.Tensor) for one in _leaves(content)),
                location=_place(),
            )
        )

    def _before_step(self, optimizer: torch.optim.Optimizer) -> None:
        if not self._waits:
            return
        self._waits = False
        self.last_step = self._step() + (FURTHER_STEPS if self._part == "resumed" else 0)
        parameters = [one for group in optimizer.param_groups for one in group["params"]]
        self._write(
            StateBeforeStep(
                step=self._step(),
                optimizer=self._index_of(optimizer)[0],
                weights=[_digest(one) for one in parameters],
                states=[_digest(optimizer.state.get(one) or "") for one in parameters],
                rates=[float(group["lr"]) for group in optimizer.param_groups if "lr" in group],
                random=_digest(_random_states()),
            )
        )


def _savers() -> Iterator[tuple[Any, str, str]]:
    yield torch, "save", "load"
    if importlib.util.find_spec("safetensors") is not None:
        yield importlib.import_module("safetensors.torch"), "save_file", "load_file"


def _noted_save(save: Callable[..., Any], note: Callable[[Any], Any]) -> Callable[..., Any]:
    @functools.wraps(save)
    def save_and_note(*args: Any, **kwargs: Any) -> Any:
        result = save(*args, **kwargs)
        note(args[1] if len(args) > 1 else kwargs.get("f", kwargs.get("filename")))
        return result

    return save_and_note


def _noted_load(load: Callable[..., Any], note: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    @functools.wraps(load)
    def load_and_note(*args: Any, **kwargs: Any) -> Any:
        result = load(*args, **kwargs)
        note(args[0] if args else kwargs.get("f", kwargs.get("filename")), result)
        return result

    return load_and_note


def _path_of(target: Any) -> str | None:
    """Return the path of a file, of an open one, too; None for a buffer in memory."""
    name = target if isinstance(target, (str, os.PathLike)) else getattr(target, "name", None)
    return os.fspath(Path(name).absolute()) if isinstance(name, (str, os.PathLike)) else None


def _place() -> Any:
    """Return the line of the program that saves or loads."""
    frame: FrameType | None = frame_at(1)
    while frame is not None and layer_of(frame.f_code.co_filename) != "user":
        frame = frame.f_back
    return None if frame is None else span_of(Site(frame.f_code, frame.f_lasti))


def _leaves(content: Any) -> Iterator[Any]:
    """Yield what the containers of a loaded file hold; runs no code of the program."""
    waiting, left = [content], MOST_LEAVES
    while waiting and left > 0:
        one = waiting.pop()
        left -= 1
        if isinstance(one, dict):
            waiting += one.values()
        elif isinstance(one, (list, tuple)):
            waiting += one
        else:
            yield one


def _digest(value: Any) -> str:
    """Return a short text that is the same in two processes for the same bits; "" for an empty one."""
    if isinstance(value, str) and not value:
        return ""
    made = hashlib.blake2b(digest_size=8)
    _add(made, value)
    return made.hexdigest()


def _add(made: Any, value: Any) -> None:
    if isinstance(value, torch.Tensor):
        made.update(f"{value.dtype}{list(value.shape)}".encode())
        plain = value.detach().to_dense() if value.layout is not torch.strided else value.detach()
        plain = plain.cpu().contiguous().reshape(-1).view(torch.uint8)
        made.update(plain.numpy() if "numpy" in sys.modules else bytes(plain.tolist()))
    elif isinstance(value, dict):
        for name in sorted(value, key=str):
            made.update(str(name).encode())
            _add(made, value[name])
    elif isinstance(value, (list, tuple)):
        for one in value:
            _add(made, one)
    else:
        made.update(repr(value).encode())


def _random_states() -> list[Any]:
    numpy: Any = getattr(sys.modules.get("numpy"), "random", None)
    of_torch = generator_states.take()
    states: list[Any] = [of_torch.cpu, random.getstate(), *of_torch.devices]
    return states if numpy is None else [*states, repr(numpy.get_state(legacy=True))]
