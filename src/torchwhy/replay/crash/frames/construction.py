"""Finds in the source where a layer was made, and where its sizes are written; runs nothing."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from dataclasses import replace

from torch import nn

from torchwhy.finding import SourceSpan
from torchwhy.observe.program.names import Names
from torchwhy.observe.program.user_modules import user_files
from torchwhy.observe.torch_features.module_parts import parts_in
from torchwhy.source.analyses import constructors
from torchwhy.source.analyses.constructors import Written
from torchwhy.source.calls import first_call, own_function
from torchwhy.source.edits import Source
from torchwhy.source.files import layer_of, loaded

CONTAINERS = (nn.Sequential, nn.ModuleList, nn.ModuleDict)
DEEPEST = 12  # steps from a layer up through its owners


class Builder:
    """Finds the constructor expressions of the modules in a program."""

    def __init__(self, names: Names, files: list[str]) -> None:
        self._owners: dict[int, tuple[nn.Module, str]] = {}
        self._roots: dict[int, str] = {}
        texts = map(loaded, dict.fromkeys([*files, *user_files()]))
        self._files = [source for source in texts if source is not None]
        for name, root in names.roots():
            self._roots[id(root)] = name
            for parent in root.modules():
                for attribute, child in parts_in(parent).items():
                    if child is not None:
                        self._owners.setdefault(id(child), (parent, attribute))

    def only_call_of(self, kind: str) -> SourceSpan | None:
        """Return the one place in the user's files where a class is called by name; None where there are several."""
        return constructors.only_call(self._files, kind)

    def made_at(self, module: nn.Module, depth: int = 0) -> Written | None:
        """Return the expression that made a module."""
        if depth > DEEPEST:
            return None
        found = None
        owner = self._owners.get(id(module))
        if owner is None:
            found = self._of_variable(module)
        elif isinstance(owner[0], CONTAINERS):
            whole = self.made_at(owner[0], depth + 1)
            found = _part(whole, owner[0], owner[1]) if whole is not None else None
        else:
            found = self._of_attribute(module, *owner)
        if found is None or _contradicts(found, module) or not _may_make(found, module):
            return self._only_candidate(module) or found
        return found

    def number_at(
        self,
        module: nn.Module,
        setting: str,
        *,
        is_fed: Callable[[nn.Module], bool],
        depth: int = 0,
    ) -> Written | None:
        """Return the expression of one of a module's numbers.

        A number that the module's owner gets as an argument is followed to where the owner is made, if `is_fed` says
        that the owner's own input does not fit; otherwise the owner itself is wrong.
        """
        made = self.made_at(module)
        if made is None or depth > DEEPEST:
            return None
        written = argument_of(made, module, setting)
        if written is None:
            return None
        return self._followed(written, module, is_fed=is_fed, depth=depth)

    def _followed(
        self,
        written: Written,
        module: nn.Module,
        *,
        is_fed: Callable[[nn.Module], bool],
        depth: int,
    ) -> Written:
        """Follow a number out of the function or the constructor that got it as a parameter."""
        names = written.names_from_outside()
        owner = self._owners.get(id(module))
        if written.caller is not None and written.function is not None:
            if owner is not None and isinstance(owner[0], CONTAINERS) and not is_fed(owner[0]):
                return written
            for name in names:
                outer = written.given_by_caller(name)
                if outer is not None and depth < DEEPEST:
                    return self._followed(outer, module, is_fed=is_fed, depth=depth + 1)
            return written
        while owner is not None and isinstance(owner[0], CONTAINERS):
            owner = self._owners.get(id(owner[0]))
        if owner is None or not is_fed(owner[0]):
            return written
        for name in names:
            found = self.number_at(owner[0], name, is_fed=is_fed, depth=depth + 1)
            if found is not None:
                return found
        return written

    def _of_attribute(self, module: nn.Module, parent: nn.Module, attribute: str) -> Written | None:
        """Return what the parent's class assigns to the attribute that holds the module."""
        return self._best(class_assignments(type(parent), attribute), module)

    def _of_variable(self, module: nn.Module) -> Written | None:
        """Return what the program assigns to the variable that holds an outermost module."""
        return self._best(self._assigned(module), module)

    def _best(self, assigned: list[Written], module: nn.Module) -> Written | None:
        """Return the last assignment that can have made a module, followed into the function that builds it."""
        found = [
            one for each in assigned for one in constructors.made_by_function(each, self._files)
        ]
        fitting = [one for one in found if not _contradicts(one, module)]
        named = [one for one in fitting if _may_make(one, module)]
        return next(reversed(named or fitting), None)

    def _assigned(self, module: nn.Module) -> list[Written]:
        name = self._roots.get(id(module))
        for source in self._files if name is not None else []:
            found = constructors.assigned(source, f"{name}", f"self.{name}")
            if found:
                return found
        return []

    def _only_candidate(self, module: nn.Module) -> Written | None:
        """Return the one constructor call in the user's files that fits the module's class and numbers."""
        found = [
            one
            for one in constructors.calls_of(self._files, type(module).__name__)
            if not _contradicts(one, module)
        ]
        best = found[0] if len(found) == 1 else _most_exact(found, module)
        if best is None or best.function is None:
            return best
        return replace(best, caller=self._caller_of(module, best.function.name))

    def _caller_of(self, module: nn.Module, function: str) -> Written | None:
        """Return the call of a function that made the outermost container of a module."""
        holder, owner = module, self._owners.get(id(module))
        while owner is not None and isinstance(owner[0], CONTAINERS):
            holder, owner = owner[0], self._owners.get(id(owner[0]))
        found = (
            self._assigned(holder) if owner is None else class_assignments(type(owner[0]), owner[1])
        )
        for written in found:
            call = first_call(written.node)
            if own_function(call) == function:
                return Written(written.source, call, written.scope)
        return None


def class_assignments(kind: type, attribute: str) -> list[Written]:
    """Return what the methods of a class of the user's assign to an attribute of `self`."""
    return [
        written
        for base in kind.__mro__
        if (source := _text_of(base)) is not None
        for written in constructors.assigned_by_methods(source, base.__name__, attribute)
    ]


def argument_of(made: Written, module: nn.Module, setting: str) -> Written | None:
    """Return the expression that a module's constructor call passes for one parameter."""
    return made.argument(constructor_names(module), setting)


def constructor_names(module: nn.Module) -> list[str]:
    """Return the parameters of a module's constructor; a recurrent layer passes all of them to its base class."""
    try:
        if isinstance(module, nn.RNNBase):
            return list(inspect.signature(nn.RNNBase.__init__).parameters)[2:]
        return list(inspect.signature(type(module).__init__).parameters)[1:]
    except (TypeError, ValueError):
        return []


def _may_make(written: Written, module: nn.Module) -> bool:
    """Tell whether a call names the module's class."""
    return constructors.may_make(written.node, type(module).__name__)


def _contradicts(written: Written, module: nn.Module) -> bool:
    """Tell whether a plain number in the call is not the number that the module has."""
    return any(has != says for has, says in _numbers(written, module))


def _numbers(written: Written, module: nn.Module) -> list[tuple[int, int]]:
    names = constructor_names(module)
    return list(constructors.spelled_numbers(written.node, names, vars(module)))


def _most_exact(found: list[Written], module: nn.Module) -> Written | None:
    """Return the candidate that spells out more of the module's numbers than any other."""
    scored = sorted(found, key=lambda one: -_agreement(one, module))
    if not scored or (
        len(scored) > 1 and _agreement(scored[0], module) == _agreement(scored[1], module)
    ):
        return None
    return scored[0]


def _agreement(written: Written, module: nn.Module) -> int:
    return sum(has == says for has, says in _numbers(written, module))


def _part(whole: Written, container: nn.Module, key: str) -> Written | None:
    """Return what made the part of a container that a key names."""
    parts = list(parts_in(container))
    return constructors.part_of(whole, parts.index(key)) if key in parts else None


def _text_of(kind: type) -> Source | None:
    """Return the file of a class of the user's."""
    filename = getattr(sys.modules.get(kind.__module__), "__file__", None)
    is_users = isinstance(filename, str) and layer_of(filename) == "user"
    return loaded(filename) if is_users else None
