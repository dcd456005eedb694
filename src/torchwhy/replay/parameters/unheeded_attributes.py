"""Finds attributes that a program sets as if to freeze parameters, and that torch does not read.

`module.requires_grad = False` and `parameter.require_grad = False` make a new attribute and freeze nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torch import nn

READ = "requires_grad"  # of a tensor; a module only has the method `requires_grad_`
MISSPELT = {
    "require_grad",
    "required_grad",
    "requires_grads",
    "require_grads",
    "requiresgrad",
    "requires_gradient",
    "requires_gradients",
    "require_gradient",
}


def unheeded_by_parameter(roots: Iterable[nn.Module]) -> dict[int, str]:
    """Return the attribute by the identity of each parameter that it should have frozen."""
    found: dict[int, str] = {}
    for root in roots:
        for module in root.modules():
            name = _set_to_false(module, {READ, *MISSPELT})
            if name is not None and (_uses(type(module), name) or _is_partly_frozen(module)):
                name = None  # an option of the class, or the parameters were frozen in another way, too
            own = list(module.parameters(recurse=name is not None))
            found |= {id(parameter): name for parameter in own if name is not None}
            for parameter in own:
                misspelt = _set_to_false(parameter, MISSPELT)
                if misspelt is not None:
                    found[id(parameter)] = misspelt
    return found


def _uses(kind: type[nn.Module], attribute: str) -> bool:
    """Tell whether a method of a module's class names the attribute."""
    return any(
        attribute in code.co_names
        for base in kind.__mro__
        if base is not nn.Module and issubclass(base, nn.Module)
        for method in vars(base).values()
        if (code := getattr(method, "__code__", None)) is not None
    )


def _is_partly_frozen(module: nn.Module) -> bool:
    return any(not parameter.requires_grad for parameter in module.parameters())


def _set_to_false(holder: Any, names: set[str]) -> str | None:
    """Return the first of these names that is an attribute of the object itself, with the value False."""
    own = getattr(holder, "__dict__", None)
    if not isinstance(own, dict) or not own.keys() & names:
        return None
    return next((name for name in sorted(names) if own.get(name, True) is False), None)
