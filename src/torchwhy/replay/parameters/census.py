"""Every parameter at an optimizer's first step: is it used, does it get a gradient, does somebody update it?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec
import torch
from torch import nn

from torchwhy.finding import SourceSpan
from torchwhy.observe.program.frames import span_of
from torchwhy.observe.steps.sentinel import Check
from torchwhy.observe.torch_features.tensor_parts import values_of_sparse
from torchwhy.record.learning import LEAF, ParameterCensus, ParameterSeen
from torchwhy.replay.microscope.measures import has_nonzero, rows_equal, weight_size
from torchwhy.replay.microscope.operations import Operation
from torchwhy.replay.parameters.loose_leaves import loose_leaves
from torchwhy.replay.parameters.owners import Owners, current_owners

if TYPE_CHECKING:
    from torchwhy.observe.steps.watched_optimizers import WatchedOptimizer
    from torchwhy.replay.equipment import Stage

RANDOM = {
    "uniform_", "normal_", "rand", "randn", "rand_like", "randn_like", "trunc_normal_", "erfinv_", "uniform", "normal",
    "bernoulli_", "exponential_", "clamp_", "mul_", "mul", "add_", "div", "sub",
}  # fmt: skip
CONSTANT = {
    "fill_",
    "zero_",
    "zeros",
    "ones",
    "full",
    "zeros_like",
    "ones_like",
    "full_like",
    "lift_fresh",
    "eye",
}
QR = {"linalg_qr", "qr"}
DEEPEST = 8  # operations between that decomposition and the copy: signs, a transpose
LOADED = {"copy_", "set_", "_to_copy", "clone"}
MOST_TOLD = 400  # parameters told of; a larger model is told of in part, its odd ones first


def write_census(stage: Stage, check: Check, *, observation: set[int]) -> None:
    """Write the state of every known parameter just before an optimizer's first step.

    In a look at a later phase only that of those it is about: `phase` are the optimizers that belong to it.
    """
    watched = check.watched
    if watched is None:
        return
    owners = current_owners(stage)
    seen = _registered(stage, watched, owners)
    if stage.observation:
        seen = _concerned(stage, seen, owners, observation=observation)
    _place_idle_parts(stage, seen)
    loose = {id(p): (path, name, p) for path, name, p in owners.loose()}
    for key, (path, name, parameter) in loose.items():
        if key not in seen and key not in owners.owners:
            entry = _describe(stage, name, parameter, owners)
            seen[key] = msgspec.structs.replace(entry, inside=path, owner="Parameter")
    leaves = loose_leaves(stage, owners.held)
    for name, leaf in leaves.items():
        if id(leaf) not in seen:
            entry = _describe(stage, name, leaf, owners)
            seen[id(leaf)] = msgspec.structs.replace(entry, owner=LEAF)
    others = [*(parameter for _, _, parameter in loose.values()), *leaves.values()]
    parameters = owners.parameters | {id(parameter): parameter for parameter in others}
    _follow_odd_ones(stage, seen, parameters)
    stage.parameter_memory.remember(seen, parameters)
    odd_first = sorted(seen.values(), key=lambda p: p.in_optimizer and p.gradient == "nonzero")
    _write(stage, watched, step=check.step, entries=odd_first[:MOST_TOLD])


def _registered(
    stage: Stage, watched: WatchedOptimizer, owners: Owners
) -> dict[int, ParameterSeen]:
    """Return the parameters of an optimizer, of known models, and of modules that ran and no known model reaches."""
    names, seen = stage.session.names.parameters(), {}
    for name, parameter in zip(watched.names(), watched.parameters(), strict=True):
        seen[id(parameter)] = _describe(stage, name, parameter, owners)
    for path, parameter in owners.registered():
        if id(parameter) not in seen:
            name = names.get(id(parameter), path)
            seen[id(parameter)] = _describe(stage, name, parameter, owners)
    for module in owners.unowned:
        for local, parameter in module.named_parameters():
            if id(parameter) not in seen:
                name = f"{stage.modules.path_of(module)}.{local}"
                entry = _describe(stage, name, parameter, owners)
                seen[id(parameter)] = msgspec.structs.replace(
                    entry,
                    inside=stage.modules.caller_of(module),
                    owner=type(module).__name__,
                    made_at=_place_of_making(stage, module, parameter)
                    or entry.made_at
                    or stage.parameter_memory.place_of(module),
                )
    return seen


def _concerned(
    stage: Stage, seen: dict[int, ParameterSeen], owners: Owners, *, observation: set[int]
) -> dict[int, ParameterSeen]:
    """Return the parameters that a later phase is about: those of its optimizers, and new ones that it makes use of.

    What was trained in a phase before may rest, or be passed through: nobody need train it again.
    """
    own = [watched for watched in owners.optimizers if watched.index in observation]
    held = {id(p) for watched in own for p in watched.parameters()}
    found: dict[int, ParameterSeen] = {}
    for key, entry in seen.items():
        parameter = owners.parameters[key]
        was_trained = stage.parameter_memory.was_trained(parameter, observation=observation)
        rests = not entry.used and entry.gradient == "none"
        is_frozen = entry.used and not entry.requires_grad
        if key in held:
            is_old = was_trained or stage.parameter_memory.was_used(parameter)
            concerns = not rests or not is_old or not entry.registered
        else:
            concerns = is_frozen or (entry.gradient != "none" and not was_trained)
        if concerns:
            found[key] = entry
    return found


def _place_idle_parts(stage: Stage, seen: dict[int, ParameterSeen]) -> None:
    """Place the parameters of a part that is not used at all where that part was made, not inside of its class."""
    idle = {key for key, one in seen.items() if one.in_optimizer and not one.used}
    if not idle:
        return
    for _, root in stage.session.names.roots():
        waiting = list(root.children())
        while waiting:
            part = waiting.pop()
            own = {id(parameter): parameter for parameter in part.parameters()}
            if not own or not idle.issuperset(own):
                waiting += part.children()
                continue
            for key, parameter in own.items():
                place = _place_of_making(stage, part, parameter) or seen[key].made_at
                seen[key] = msgspec.structs.replace(seen[key], made_at=place)


def _write(
    stage: Stage, watched: WatchedOptimizer, *, step: int, entries: list[ParameterSeen]
) -> None:
    """Write the event: the parameters, and what the groups of the optimizer tell besides."""
    stage.session.write(
        ParameterCensus(
            step=step,
            optimizer=watched.index,
            parameters=entries,
            backwards=stage.session.sentinel.backwards,
            decays=_decays(watched),
            look=stage.observation,
            **_schedule(watched),
        )
    )


def _decays(watched: WatchedOptimizer) -> dict[str, float]:
    """Return the weight decay of each parameter by name, where some groups have one of their own."""
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


def _follow_odd_ones(
    stage: Stage, seen: dict[int, ParameterSeen], parameters: dict[int, torch.Tensor]
) -> None:
    """Keep an eye on those with a gradient that nobody uses, those that somebody holds in vain, and frozen ones."""
    for key, entry in seen.items():
        is_odd = entry.in_optimizer == (entry.gradient == "none") and entry.requires_grad
        is_left_out = entry.used and not entry.requires_grad
        is_left_out = is_left_out and (not entry.in_optimizer or bool(stage.observation))
        if (is_odd or is_left_out) and key in parameters:
            stage.parameter_watch.follow(entry.name, parameters[key], observation=stage.observation)


def _describe(stage: Stage, name: str, parameter: torch.Tensor, owners: Owners) -> ParameterSeen:
    owner = owners.owners.get(id(parameter))
    entry = ParameterSeen(
        name=name,
        shape=list(parameter.shape),
        in_optimizer=id(parameter) in owners.held,
        requires_grad=bool(parameter.requires_grad),
        used=id(parameter) in stage.microscope.used_parameters,
        gradient=_gradient(stage, parameter),
        registered=id(parameter) in owners.owners or not isinstance(parameter, nn.Parameter),
        owner=type(owner.module).__name__ if owner else None,
        module=owner.path if owner else None,
        model=owner.model if owner else None,
        training=bool(owner.module.training) if owner else True,
        written_by=_writer(stage, parameter),
        made_at=_place_of_writer(stage, parameter),
        rows_equal=rows_equal(parameter),
        rms=weight_size(parameter),
    )
    if stage.observation:
        return stage.parameter_memory.complete(parameter, entry, owner.module if owner else None)
    return entry


def _place_of_writer(stage: Stage, parameter: torch.Tensor) -> SourceSpan | None:
    entry = stage.microscope.memory_writers.entry(parameter)
    site = entry.last_operation.place() if entry is not None and entry.last_operation else None
    return span_of(site) if site else None


def _place_of_making(stage: Stage, module: nn.Module, parameter: torch.Tensor) -> SourceSpan | None:
    """Return the user's expression that made a module: outside of the module's own class."""
    entry = stage.microscope.memory_writers.entry(parameter)
    sites = entry.last_operation.sites if entry is not None and entry.last_operation else ()
    own = {
        getattr(function, "__code__", None)
        for kind in type(module).__mro__
        for function in vars(kind).values()
    }
    return next((span_of(site) for site in sites if site.code not in own), None)


def _gradient(stage: Stage, parameter: torch.Tensor) -> Literal["none", "zero", "nonzero"]:
    gradient = parameter.grad
    if stage.observation and not stage.parameter_memory.has_arrived(parameter):
        return "none"  # it is left over from the phase before
    if gradient is None or gradient.is_meta:
        return "none"
    values = values_of_sparse(gradient) if gradient.is_sparse else gradient
    return "nonzero" if has_nonzero(values) else "zero"


def _is_orthogonal(copy: Operation) -> bool:
    """Tell whether what was copied comes out of a QR decomposition: `orthogonal_` draws into a tensor of its own."""
    source = copy.inputs[-1] if copy.inputs else None
    for _ in range(DEEPEST):
        if source is None or source.info.base in QR:
            return source is not None
        source = next((above for above in source.inputs if above is not None), None)
    return False


def _writer(
    stage: Stage, parameter: torch.Tensor
) -> Literal["random", "constant", "loaded", "unknown"]:
    entry = stage.microscope.memory_writers.entry(parameter)
    operation = entry.last_operation if entry is not None else None
    while operation is not None and operation.info.base == "_to_copy" and operation.inputs:
        operation = operation.inputs[0]  # the move to another device or type changes nothing
    base = operation.info.base if operation is not None else ""
    if base in RANDOM or (operation is not None and base == "copy_" and _is_orthogonal(operation)):
        return "random"
    if base in CONSTANT:
        return "constant"
    return "loaded" if base in LOADED else "unknown"
