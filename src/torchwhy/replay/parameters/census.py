"""Records every parameter at an optimizer's first step: is it used, does it get a gradient, is it trained?"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
import torch
from torch import nn

from torchwhy.finding import SourceSpan
from torchwhy.observe.optimizers.watched_optimizers import WatchedOptimizer, WatchedOptimizers
from torchwhy.observe.program.frames import span_of
from torchwhy.observe.program.names import Names
from torchwhy.observe.recorder import Recorder
from torchwhy.observe.steps.check import Check
from torchwhy.observe.steps.training_state import TrainingState
from torchwhy.observe.torch_features.tensor_parts import gradient_of, values_of_sparse
from torchwhy.record.events import LeftOut
from torchwhy.record.learning import LEAF, ParameterCensus, ParameterSeen
from torchwhy.replay.microscope.dispatch_mode import Microscope
from torchwhy.replay.microscope.measures import has_nonzero, rows_equal, weight_size
from torchwhy.replay.microscope.module_stack import ModuleStack
from torchwhy.replay.microscope.operations import Operation
from torchwhy.replay.observing.current_observation import CurrentObservation
from torchwhy.replay.parameters.loose_leaves import loose_leaves
from torchwhy.replay.parameters.owners import Owners, current_owners
from torchwhy.replay.parameters.parameter_memory import ParameterMemory
from torchwhy.replay.parameters.parameter_watch import ParameterWatch
from torchwhy.replay.parameters.unheeded_attributes import unheeded_by_parameter

RANDOM = {
    "uniform_", "normal_", "rand", "randn", "rand_like", "randn_like", "trunc_normal_", "erfinv_", "uniform", "normal",
    "bernoulli_", "exponential_", "clamp_", "mul_", "mul", "add_", "div", "sub",
}  # fmt: skip
CONSTANT = {
    "fill_", "zero_", "zeros", "ones", "full", "zeros_like", "ones_like", "full_like", "lift_fresh", "eye",
}  # fmt: skip
QR = {"linalg_qr", "qr"}
DEEPEST = 8  # operations between a QR decomposition and the copy: signs, a transpose
LOADED = {"copy_", "set_", "_to_copy", "clone"}
MOST_TOLD = 4000  # parameters recorded, odd ones first


class Census:
    """Writes one `ParameterCensus` per optimizer, and passes odd parameters to the watch."""

    def __init__(
        self,
        microscope: Microscope,
        modules: ModuleStack,
        *,
        observation: CurrentObservation,
        names: Names,
        optimizers: WatchedOptimizers,
        memory: ParameterMemory,
        watch: ParameterWatch,
        recorder: Recorder,
        state: TrainingState,
    ) -> None:
        self._microscope = microscope
        self._modules = modules
        self._observation = observation
        self._names = names
        self._optimizers = optimizers
        self._memory = memory
        self._watch = watch
        self._recorder = recorder
        self._state = state
        self._unheeded: dict[int, str] = {}

    def write(self, check: Check, *, optimizers: set[int]) -> None:
        """Write the state of every known parameter just before an optimizer's first step.

        The observation of a late optimizer covers only the parameters that concern it; `optimizers` are those that
        belong to it.
        """
        watched = check.watched
        if watched is None:
            return
        owners = current_owners(self._names, self._modules, self._optimizers)
        self._unheeded = unheeded_by_parameter(root for _, root in self._names.roots())
        seen = self._registered(watched, owners)
        if self._observation.number:
            seen = self._concerned(seen, owners, optimizers=optimizers)
        self._place_idle_parts(seen)
        loose = {id(p): (path, name, p) for path, name, p in owners.loose()}
        for key, (path, name, parameter) in loose.items():
            if key not in seen and key not in owners.parts_by_parameter:
                entry = self._describe(name, parameter, owners)
                seen[key] = msgspec.structs.replace(entry, inside=path, owner="Parameter")
        leaves = loose_leaves(self._microscope, owners.held)
        for name, leaf in leaves.items():
            if id(leaf) not in seen:
                entry = self._describe(name, leaf, owners)
                seen[id(leaf)] = msgspec.structs.replace(entry, owner=LEAF)
        others = [*(parameter for _, _, parameter in loose.values()), *leaves.values()]
        parameters = owners.parameters | {id(parameter): parameter for parameter in others}
        self._follow_odd_ones(seen, parameters)
        self._memory.remember(seen, parameters)
        odd_first = sorted(seen.values(), key=lambda p: p.in_optimizer and p.gradient == "nonzero")
        if len(odd_first) > MOST_TOLD:
            number = self._observation.number
            self._recorder.write(
                LeftOut(step=check.step, what="parameters", kept=MOST_TOLD, look=number)
            )
        self._write(watched, step=check.step, entries=odd_first[:MOST_TOLD])

    def _registered(self, watched: WatchedOptimizer, owners: Owners) -> dict[int, ParameterSeen]:
        """Return the parameters of an optimizer, of known models, and of modules that ran outside of these."""
        names, modules = self._names.parameters(), self._modules
        seen: dict[int, ParameterSeen] = {}
        for name, parameter in zip(watched.names(), watched.parameters(), strict=True):
            seen[id(parameter)] = self._describe(name, parameter, owners)
        for path, parameter in owners.registered():
            if id(parameter) not in seen:
                name = names.get(id(parameter), path)
                seen[id(parameter)] = self._describe(name, parameter, owners)
        for module in owners.unowned:
            for local, parameter in module.named_parameters():
                if id(parameter) not in seen:
                    name = f"{modules.path_of(module)}.{local}"
                    entry = self._describe(name, parameter, owners)
                    seen[id(parameter)] = msgspec.structs.replace(
                        entry,
                        inside=modules.caller_of(module),
                        owner=type(module).__name__,
                        made_at=self._made_outside(module, parameter)
                        or entry.made_at
                        or self._memory.place_of(module),
                    )
        return seen

    def _concerned(
        self, seen: dict[int, ParameterSeen], owners: Owners, *, optimizers: set[int]
    ) -> dict[int, ParameterSeen]:
        """Return the parameters that concern a late optimizer: its own, and new ones that it should train.

        Parameters that an earlier optimizer trained may rest or pass gradients through.
        """
        own = [watched for watched in owners.optimizers if watched.index in optimizers]
        held = {id(p) for watched in own for p in watched.parameters()}
        found: dict[int, ParameterSeen] = {}
        for key, entry in seen.items():
            parameter = owners.parameters[key]
            was_trained = self._memory.was_trained(parameter, optimizers=optimizers)
            rests = not entry.used and entry.gradient == "none"
            is_frozen = entry.used and not entry.requires_grad
            if key in held:
                is_old = was_trained or self._memory.was_used(parameter)
                concerns = not rests or not is_old or not entry.registered
            else:
                concerns = is_frozen or (entry.gradient != "none" and not was_trained)
            if concerns:
                found[key] = entry
        return found

    def _place_idle_parts(self, seen: dict[int, ParameterSeen]) -> None:
        """Place the parameters of an unused part where that part was made, not inside of its class."""
        idle = {key for key, one in seen.items() if one.in_optimizer and not one.used}
        if not idle:
            return
        for _, root in self._names.roots():
            waiting = list(root.children())
            while waiting:
                part = waiting.pop()
                own = {id(parameter): parameter for parameter in part.parameters()}
                if not own or not idle.issuperset(own):
                    waiting += part.children()
                    continue
                for key, parameter in own.items():
                    place = self._made_outside(part, parameter) or seen[key].made_at
                    seen[key] = msgspec.structs.replace(seen[key], made_at=place)

    def _write(self, watched: WatchedOptimizer, *, step: int, entries: list[ParameterSeen]) -> None:
        """Write the event: the parameters, and the optimizer's groups."""
        self._recorder.write(
            ParameterCensus(
                step=step,
                optimizer=watched.index,
                parameters=entries,
                backwards=self._state.backwards,
                decays=_decays(watched),
                look=self._observation.number,
                **_schedule(watched),
            )
        )

    def _follow_odd_ones(
        self, seen: dict[int, ParameterSeen], parameters: dict[int, torch.Tensor]
    ) -> None:
        """Watch parameters whose gradient is unused, optimizer parameters without a gradient, and frozen ones."""
        number = self._observation.number
        for key, entry in seen.items():
            is_odd = entry.in_optimizer == (entry.gradient == "none") and entry.requires_grad
            is_left_out = entry.used and not entry.requires_grad
            is_left_out = is_left_out and (not entry.in_optimizer or bool(number))
            if (is_odd or is_left_out) and key in parameters:
                self._watch.follow(entry.name, parameters[key], observation=number)

    def _describe(self, name: str, parameter: torch.Tensor, owners: Owners) -> ParameterSeen:
        owner = owners.parts_by_parameter.get(id(parameter))
        is_registered = owner is not None or not isinstance(parameter, nn.Parameter)
        writer = self._writer(parameter)
        entry = ParameterSeen(
            name=name,
            shape=list(parameter.shape),
            in_optimizer=id(parameter) in owners.held,
            requires_grad=bool(parameter.requires_grad),
            used=id(parameter) in self._microscope.used_parameters,
            gradient=self._gradient(parameter),
            registered=is_registered,
            owner=type(owner.module).__name__ if owner else None,
            module=owner.path if owner else None,
            model=owner.model if owner else None,
            training=bool(owner.module.training) if owner else True,
            written_by=_kind_of(writer),
            made_at=_place_of(writer),
            rows_equal=rows_equal(parameter),
            rms=weight_size(parameter),
            unheeded=self._unheeded.get(id(parameter)),
        )
        if self._observation.number:
            return self._memory.complete(parameter, entry, owner.module if owner else None)
        return entry

    def _writer(self, parameter: torch.Tensor) -> Operation | None:
        """Return the operation that wrote a parameter last."""
        entry = self._microscope.memory_writers.entry(parameter)
        return entry.last_operation if entry is not None else None

    def _made_outside(self, module: nn.Module, parameter: torch.Tensor) -> SourceSpan | None:
        """Return the user's expression that made a module, outside of the module's own class."""
        writer = self._writer(parameter)
        own = {
            getattr(function, "__code__", None)
            for kind in type(module).__mro__
            for function in vars(kind).values()
        }
        sites = writer.sites if writer is not None else ()
        return next((span_of(site) for site in sites if site.code not in own), None)

    def _gradient(self, parameter: torch.Tensor) -> Literal["none", "zero", "nonzero"]:
        gradient = gradient_of(parameter)
        if self._observation.number and not self._memory.has_arrived(parameter):
            return "none"  # it is left over from before the observation
        if gradient is None or gradient.is_meta:
            return "none"
        values = values_of_sparse(gradient) if gradient.is_sparse else gradient
        return "nonzero" if has_nonzero(values) else "zero"


def _decays(watched: WatchedOptimizer) -> dict[str, float]:
    """Return the weight decay of each parameter by name, if some groups differ from the default."""
    optimizer = watched.optimizer
    groups = optimizer.param_groups if optimizer is not None else []
    usual = optimizer.defaults.get("weight_decay") if optimizer is not None else None
    if all(group.get("weight_decay") == usual for group in groups):
        return {}
    names = dict(zip(map(id, watched.parameters()), watched.names(), strict=True))
    return {
        names[id(parameter)]: float(group["weight_decay"])
        for group in groups
        if isinstance(group.get("weight_decay"), int | float)
        for parameter in group["params"][:MOST_TOLD]
        if id(parameter) in names
    }


def _schedule(watched: WatchedOptimizer) -> dict[str, Any]:
    """Return the rates that an optimizer with a schedule was made with."""
    optimizer = watched.optimizer
    groups = optimizer.param_groups if optimizer is not None else []
    rates = [float(group["initial_lr"]) for group in groups if "initial_lr" in group]
    return {"initial_rates": rates} if rates else {}


def _place_of(writer: Operation | None) -> SourceSpan | None:
    site = writer.place() if writer is not None else None
    return span_of(site) if site else None


def _is_orthogonal(copy: Operation) -> bool:
    """Tell whether a copy takes the result of a QR decomposition, as `orthogonal_` does."""
    source = copy.inputs[-1] if copy.inputs else None
    for _ in range(DEEPEST):
        if source is None or source.info.base in QR:
            return source is not None
        source = next((above for above in source.inputs if above is not None), None)
    return False


def _kind_of(
    writer: Operation | None,
) -> Literal["random", "constant", "loaded", "unknown"]:
    """Tell what kind of values an operation writes into a parameter."""
    operation = writer
    while operation is not None and operation.info.base == "_to_copy" and operation.inputs:
        operation = operation.inputs[0]  # a move to another device or dtype keeps the values
    base = operation.info.base if operation is not None else ""
    if base in RANDOM or (operation is not None and base == "copy_" and _is_orthogonal(operation)):
        return "random"
    if base in CONSTANT:
        return "constant"
    return "loaded" if base in LOADED else "unknown"
