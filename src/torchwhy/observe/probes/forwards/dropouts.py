"""Finds dropout that is active in evaluation: a function does not know the mode of the module that calls it.

Also measures what goes into normalisation layers, which use their running statistics there. The first forward of a
model in eval mode at each place runs under a dispatch mode of our own, for that call only; training pays nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any

import torch

from torchwhy.observe.probes.states.norm_statistics import NormLook
from torchwhy.observe.program.frames import Site, span_of
from torchwhy.observe.torch_features.interpreter import frame_at
from torchwhy.observe.torch_features.mode_stack import DispatchMode, is_profiling, put_on, take_off
from torchwhy.observe.torch_features.tensor_parts import is_tracing
from torchwhy.record.event import Event
from torchwhy.record.learning import DropoutInEvaluation
from torchwhy.source.files import layer_of

NEEDS = ("dispatch-mode", "dispatch-stack", "module-call")
DRAWS = {"bernoulli_", "bernoulli", "native_dropout", "_fused_dropout"}
WHOLE = {"dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout"}
WORDS = ("dropout", "scaled_dot_product_attention")  # names of functions that drop values
LAYERS = os.path.join("nn", "modules", "dropout.py")  # noqa: PTH118 - part of a name, not a path
MOST_TOLD = 8

_current: list[Callable[..., None]] = []  # ends the watch over the forward that is running


class Watch(DispatchMode):
    """Notes the places that drop values, and what goes into normalisation layers."""

    def __init__(self, norms: NormLook) -> None:
        super().__init__()
        self.norms = norms
        self.sites: dict[Site, None] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = func.__name__.partition(".")[0]
        with suppress(Exception):  # a layer of the program that is no usual one
            self.norms.saw(name, args)
        if len(self.sites) < MOST_TOLD and drops(name, args, kwargs):
            site = dropping_site(frame_at(1))
            if site is not None:
                self.sites[site] = None
        return self.run(func, args, kwargs)


def drops(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Tell whether an operation drops values at random; in inference mode a function is one operation."""
    if name in WHOLE:
        probability, switch = ([*args[1:3], *[kwargs.get("train", False)] * 2])[:2]
        return bool(switch) and float(kwargs.get("p", probability)) > 0
    if name == "scaled_dot_product_attention":
        given = args[4] if len(args) > 4 else kwargs.get("dropout_p", 0.0)
        return float(given) > 0
    return name in DRAWS


def dropping_site(frame: FrameType | None) -> Site | None:
    """Return the place in the program that calls dropout as a function; None for layers and for other draws."""
    named = False
    while frame is not None and layer_of(frame.f_code.co_filename) == "torch":
        if frame.f_code.co_filename.endswith(LAYERS):
            return None  # a layer in train mode inside of a model in eval mode, which the program switched
        named = named or "dropout" in frame.f_code.co_name
        frame = frame.f_back
    if frame is None:
        return None
    site = Site(frame.f_code, frame.f_lasti)
    text = span_of(site).expression or ""
    return site if named or any(word in text for word in WORDS) else None


def look_once(
    model: torch.nn.Module, tell: Callable[[Event], object], *, path: str, step: int
) -> None:
    """Watch the forward that is about to begin; called while the module's call looks up its `forward`.

    A hook on the model takes the mode off again, also when the forward raises.
    """
    if is_tracing() or torch.compiler.is_compiling() or is_profiling():
        return
    watch = Watch(NormLook(model))

    def over(*_: Any) -> None:
        _current.clear()
        handle.remove()
        take_off(watch)
        for site in watch.sites:
            tell(DropoutInEvaluation(step=step, path=path, location=span_of(site)))
        watch.norms.tell(tell, path=path, step=step)

    handle = model.register_forward_hook(over, always_call=True)
    put_on(watch)
    _current[:] = [over]


def end_watch() -> None:
    """Stop watching a forward that is still running."""
    for over in tuple(_current):
        over()
