"""Counts in which mode the models run (train or eval, with or without gradients), per place in the program."""

from __future__ import annotations

import linecache
import sys
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import field
from functools import partial
from types import CodeType, FrameType
from typing import Any, Protocol

import torch
from torch import nn

from torchwhy.observe.descriptors import Forward
from torchwhy.observe.hooks import Hooks
from torchwhy.observe.native.records import ModesRecord
from torchwhy.observe.probes.forwards import dropouts
from torchwhy.observe.probes.forwards.tallies import Called, EndedTallies, Place, Switch, Tally
from torchwhy.observe.program.frames import Site, span_of, user_sites
from torchwhy.observe.program.names import Names, borrowed_locals
from torchwhy.observe.torch_features.autograd_nodes import (
    current_node,
    next_node_number,
    number_of_node,
)
from torchwhy.observe.torch_features.compiler import is_compiling
from torchwhy.observe.torch_features.layer_kinds import DROPOUTS, NORMS
from torchwhy.observe.torch_features.module_parts import module_call_code
from torchwhy.plain_data import dataclass
from torchwhy.record.events import Event
from torchwhy.record.learning import ForwardModes
from torchwhy.source.files import layer_of

GROUP = "modes"
NEEDS = ("node-numbers",)
MOST_TALLIES = 64  # places counted; a program that calls its models from more is counted in part
RECENT = (
    256  # forwards remembered until the next backward pass: a decoder may run once for each word
)
MOST_CALLERS = 3  # frames of the program around the one that calls a model
LOOKS = 8  # backward passes whose graph is searched for a forward before it counts as evaluation
SELDOM = 3  # forwards that fed a backward pass for each one that did not
MOST_NODES = 5000  # of a graph that is searched
INPUTS_COMPARED = 16  # forwards without gradients whose input is compared with the one before

_MODULE_CALL = module_call_code()


class Position(Protocol):
    """Where the run is: optimizer steps and backward passes so far."""

    step: int
    backwards: int


@dataclass
class ModeCounter(ModesRecord):
    """Counts forwards of watched models: a few lookups per forward of a model, none per layer."""

    write: Callable[[Event], None]
    position: Position
    names: Names
    switch_of: Callable[[nn.Module], Switch | None]
    failed: Callable[[Exception], object]
    iteration_lost: Callable[[], object]
    _counts: bool = True
    _sees_dropout: bool = True
    _hooks: Hooks = field(default_factory=Hooks)
    _descriptor: Callable[..., Any] = Forward
    _tallies: dict[Called, Tally] = field(default_factory=dict)
    _torch_codes: dict[int, CodeType] = field(default_factory=dict)
    _models: dict[int, str] = field(default_factory=dict)
    _living: dict[int, weakref.ref[nn.Module]] = field(default_factory=dict)
    _ended: EndedTallies = field(default_factory=EndedTallies)
    _classes: set[type] = field(default_factory=set)
    _recent: deque[tuple[Tally, int]] = field(default_factory=lambda: deque(maxlen=RECENT))

    def install(
        self, hooks: Hooks, descriptor: Callable[..., Any], *, counts: bool, sees_dropout: bool
    ) -> None:
        """Take what replaces the `forward` of a watched class, and what this torch allows to see."""
        self._hooks, self._descriptor = hooks, descriptor
        self._counts, self._sees_dropout = counts, sees_dropout

    def watch_known_models(self) -> None:
        """Count the forwards of every model that the program has a name for from now on."""
        waiting = list(self.names.roots()) if self._counts else []
        while waiting:
            path, model = waiting.pop(0)
            giver = next((kind for kind in type(model).__mro__ if "forward" in vars(kind)), None)
            if giver is nn.Module:
                # A list of models, or one whose methods have names of their own: its parts are called.
                waiting += [(f"{path}.{name}", part) for name, part in model.named_children()]
            else:
                self._watch(path, model)

    def _watch(self, path: str, model: nn.Module) -> None:
        kind = type(model)
        # Every module is `self` to its own code; its class says which one it is.
        self._models[id(model)] = kind.__name__ if path == "self" else path
        if id(model) not in self._living:
            self._living[id(model)] = weakref.ref(model, partial(self._let_go, id(model)))
        holder = next((base for base in kind.__mro__ if "forward" in vars(base)), None)
        if holder is None or holder in self._classes:
            return
        self._classes.add(holder)
        self._hooks.replace(
            holder,
            "forward",
            self._descriptor(vars(holder)["forward"], self.noted, self._models),
            group=GROUP,
        )

    def _let_go(self, identity: int, _: object) -> None:
        """Forget the identity of a model that is gone. The next model of its name continues its counts."""
        try:
            self._living.pop(identity, None)
            self._models.pop(identity, None)
            for called in list(self._tallies):
                if called[0] == identity:
                    self._ended.add(called, self._tallies.pop(called))
        except Exception as problem:
            self._models.clear()
            self.failed(problem)

    def backward_ran(self, roots: list[torch.Tensor]) -> None:
        """Credit a backward pass to the forwards that these losses descend from."""
        recent = self._recent
        if not recent:
            return
        if len(recent) == 1 and recent[0][0].feeds:
            recent.pop()[0].backwards += 1
            return
        entries = list(recent)
        if _has_lost_one(entries):
            self.iteration_lost()
        if waiting := {tally for tally, _ in entries if not tally.feeds and tally.looks < LOOKS}:
            _find_feeding(entries, roots)
            for tally in waiting:
                tally.looks += 1
        # A forward that this pass did not use may feed the next one: a generator's output goes into two losses.
        self._recent = deque((entry for entry in entries if not entry[0].feeds), maxlen=RECENT)
        for tally in {id(tally): tally for tally, _ in entries if tally.feeds}.values():
            tally.backwards += 1

    def gradient_ran(self, roots: list[torch.Tensor]) -> None:
        """Note which forwards `torch.autograd.grad` goes through; they may feed the next loss as well."""
        if all(tally.feeds or tally.asked >= LOOKS for tally, _ in self._recent):
            return
        entries = list(self._recent)
        waiting = {tally for tally, _ in entries if not tally.feeds and tally.asked < LOOKS}
        _find_feeding(entries, roots)
        # Inner steps ask often before the loss that the other forwards feed.
        for tally in waiting:
            tally.asked += 1

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Count nothing inside: calls that we make are not the program's."""
        models = dict(self._models)
        self._models.clear()
        try:
            yield
        finally:
            # One may have gone meanwhile.
            self._models.update({one: path for one, path in models.items() if one in self._living})

    def end(self) -> None:
        """Count no more; what was counted before the first step may be all that would have been seen of a loop."""
        if not self.position.step:
            self._tallies.clear()
            self._ended.clear()
        self._models.clear()
        self._living.clear()
        self._recent.clear()
        self._counts = False
        dropouts.end_watch()

    def forwards(self) -> int:
        """Return how many forwards were counted so far."""
        return sum(tally.count for tally in [*self._ended, *self._tallies.values()])

    def tell(self) -> None:
        """Write every tally."""
        for tally in [*self._ended, *self._tallies.values()]:
            place = tally.place
            switch = place.switch
            self.write(
                ForwardModes(
                    step=self.position.step,
                    path=place.path,
                    training=place.training,
                    grad=place.grad,
                    count=tally.count,
                    # A forward that fed only `torch.autograd.grad`, after training, has no credit yet.
                    backwards=max(tally.backwards, int(tally.feeds)),
                    first_step=place.first_step,
                    last_step=tally.last_step,
                    mode_layers=place.layers,
                    location=span_of(place.site) if place.site else None,
                    called_from=[span_of(site) for site in place.callers],
                    steps=tally.steps,
                    discarded=is_whole_statement(place.site),
                    repeats=tally.repeats,
                    switched=switch.name if switch else None,
                    switched_at=span_of(switch.site) if switch and switch.site else None,
                    freshly=place.freshly,
                )
            )
        self._tallies.clear()
        self._ended.clear()

    def noted(self, model: Any, caller: FrameType) -> None:
        """Count the forward that torch's module call at `caller` is about to make."""
        try:
            path = self._models[id(model)]
            wrapper = caller.f_back if caller.f_code is _MODULE_CALL else None
            frame = wrapper.f_back if wrapper is not None else None
            if frame is not None:
                # The usual case in few lookups: the user's frame called the module, and did so before.
                grad = torch.is_grad_enabled()
                key = (id(model), model.training, grad, id(frame.f_code), frame.f_lasti)
                tally = self._tallies.get(key)
                if tally is not None and (grad or tally.count >= INPUTS_COMPARED):
                    self._count(tally, grad=grad)
                    return
            self._noted(path, model, caller)
        except Exception as problem:
            self._models.clear()
            self.failed(problem)

    def _count(self, tally: Tally, *, grad: bool) -> None:
        tally.count += 1
        step = self.position.step
        if step != tally.last_step:
            tally.last_step = step
            tally.steps += 1
        if grad:
            self._recent.append((tally, next_node_number()))

    def _noted(self, path: str, model: Any, caller: FrameType) -> None:
        if caller.f_code is not _MODULE_CALL and layer_of(caller.f_code.co_filename) == "torch":
            return  # an export or a trace reads the signature of `forward`
        frame: FrameType | None = caller
        while frame is not None:
            code = frame.f_code
            if id(code) not in self._torch_codes:
                if layer_of(code.co_filename) != "torch":
                    break
                self._torch_codes[id(code)] = code
            frame = frame.f_back
        if frame is None:
            return
        grad = torch.is_grad_enabled()
        # A code object by its identity, because hashing one takes Python two microseconds.
        key = (id(model), model.training, grad, id(code), frame.f_lasti)
        tally = self._tallies.get(key)
        step = self.position.step
        if tally is None:
            if _refreshes_statistics(caller):
                return
            if is_compiling():
                return  # an export runs the model on tensors without values
            if current_node() is not None:
                return  # a checkpoint recomputes what it did not keep; that forward is counted already
            tally = self._ended.go_on_from((path, *key[1:]))
            if tally is None and len([*self._ended, *self._tallies]) >= MOST_TALLIES:
                return
            tally = self._tallies[key] = tally or self._new(path, model, frame, grad=grad)
            is_called = caller.f_code is _MODULE_CALL
            if step and not model.training and is_called and self._sees_dropout:
                dropouts.look_once(model, self.write, path=path, step=step)
        if not grad and tally.count < INPUTS_COMPARED:
            _compare_input(tally, caller, same_step=tally.last_step == step)
        self._count(tally, grad=grad)

    def _new(self, path: str, model: nn.Module, frame: FrameType, *, grad: bool) -> Tally:
        sites = user_sites(frame, limit=1 + MOST_CALLERS)
        switch = self.switch_of(model)
        if switch is not None and switch.name == "train" and not model.training:
            switch = switch._replace(name="eval")  # `train(False)`: noted before it was called
        place = Place(
            path=path,
            training=bool(model.training),
            grad=grad,
            layers=mode_layers(model),
            site=sites[0] if sites else None,
            callers=sites[1:],
            first_step=self.position.step,
            switch=switch,
            code=frame.f_code,
            freshly=switch is not None and switch.backwards == self.position.backwards,
        )
        return Tally(place)


def mode_layers(model: nn.Module) -> list[str]:
    """Return the layers of a model that behave differently in training and evaluation, with their state."""
    found = []
    for name, part in model.named_modules():
        if isinstance(part, DROPOUTS) and part.p > 0:
            found.append(f"{name} Dropout(p={part.p:g}) {'train' if part.training else 'eval'}")
        elif isinstance(part, NORMS) and part.track_running_stats:
            found.append(f"{name} {type(part).__name__} {'train' if part.training else 'eval'}")
    return found[:16]


def _has_lost_one(entries: list[tuple[Tally, int]]) -> bool:
    """Tell whether a training forward had no backward pass, in a loop where nearly every one has."""
    if len(entries) != 2 or entries[0][0] is not entries[1][0]:
        return False
    tally = entries[0][0]
    return tally.feeds and tally.backwards >= SELDOM * (tally.count - tally.backwards - 1)


def _find_feeding(recent: list[tuple[Tally, int]], roots: list[torch.Tensor]) -> None:
    """Mark the forwards that made a node of the losses' graph; autograd numbers its nodes in order."""
    numbers = _node_numbers(roots)
    if numbers is None:
        for tally, _ in recent:
            tally.feeds = True  # the graph is too large to search
        return
    ends = [began for _, began in recent[1:]] + [sys.maxsize]
    for place, (tally, began) in enumerate(recent):
        end = next((later for later in ends[place:] if later > began), sys.maxsize)
        tally.feeds = tally.feeds or any(began <= number < end for number in numbers)


def _node_numbers(roots: list[torch.Tensor]) -> set[int] | None:
    """Return the numbers of all nodes of a graph, None if there are too many."""
    waiting = [root.grad_fn for root in roots if root.grad_fn is not None]
    seen = set(waiting)
    while waiting:
        for below, _ in waiting.pop().next_functions:
            if below is not None and below not in seen:
                if len(seen) >= MOST_NODES:
                    return None
                seen.add(below)
                waiting.append(below)
    return {number_of_node(node) for node in seen if not hasattr(node, "variable")}


def _refreshes_statistics(frame: FrameType | None) -> bool:
    """Tell whether torch itself runs the model, to update its running statistics."""
    while frame is not None and layer_of(frame.f_code.co_filename) == "torch":
        if frame.f_code.co_name == "update_bn":
            return True
        frame = frame.f_back
    return False


def _compare_input(tally: Tally, frame: FrameType | None, *, same_step: bool) -> None:
    arguments = borrowed_locals(frame).get("args", ()) if frame is not None else ()
    given = next((value for value in arguments if isinstance(value, torch.Tensor)), None)
    before = tally.input() if tally.input is not None else None
    if same_step and given is not None and before is given:
        tally.repeats += 1
    tally.input = weakref.ref(given) if given is not None else None


def is_whole_statement(site: Site | None) -> bool:
    """Tell whether the expression at a place is a whole statement, which discards its result."""
    place = span_of(site) if site is not None else None
    if site is None or place is None or place.column is None or place.end_column is None:
        return False
    first = linecache.getline(site.code.co_filename, place.line)
    last = linecache.getline(site.code.co_filename, place.end_line or place.line)
    return not first[: place.column].strip() and not last[place.end_column :].split("#")[0].strip()
