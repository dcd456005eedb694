"""Finds the lines that write the tensors of a copy, between two steps: by the in-place methods that they look up."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import torch

from torchwhy.observe.descriptors import NotedOnAccess
from torchwhy.observe.hooks import Hooks
from torchwhy.observe.program.frames import Site
from torchwhy.observe.torch_features.interpreter import frame_at
from torchwhy.observe.torch_features.tensor_parts import storage_key
from torchwhy.source.files import layer_of

GROUP = "copy writers"
METHODS = ("copy_", "lerp_", "add_", "mul_", "sub_", "div_", "set_")


class CopyWriters:
    """Replaces a few methods of tensors while one step is made."""

    def __init__(self, hooks: Hooks) -> None:
        self._hooks = hooks
        self._names: dict[int, str] = {}
        self._sites: dict[str, Site] = {}

    def watch(self, copies: dict[str, list[torch.Tensor]]) -> None:
        """Note from now on who writes these tensors."""
        self._sites = {}
        self._names = {
            key: name
            for name, tensors in copies.items()
            for tensor in tensors
            if (key := storage_key(tensor)) is not None
        }
        for method in METHODS:
            stand_in = NotedOnAccess(getattr(torch.Tensor, method), self._noted)
            self._hooks.replace(torch.Tensor, method, stand_in, group=GROUP)

    def end(self) -> dict[str, Site]:
        """Take the methods off; return the last line that wrote each copy."""
        self._hooks.remove_group(GROUP)
        self._names = {}
        return self._sites

    def _noted(self, tensor: Any) -> None:
        with suppress(Exception):  # a tensor subclass of the program
            name = self._names.get(storage_key(tensor) or 0)
            frame = frame_at(2)
            if name is not None:
                while frame.f_back is not None and layer_of(frame.f_code.co_filename) == "torch":
                    frame = frame.f_back
                self._sites[name] = Site(frame.f_code, frame.f_lasti)
