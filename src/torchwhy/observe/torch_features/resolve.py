"""Gets what the table names. Nothing here raises: a name that this torch or Python lacks makes its feature missing."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from torchwhy.observe.torch_features.feature import Feature
from torchwhy.observe.torch_features.table import FEATURES

ABSENT: Any = object()


@cache
def get(name: str) -> tuple[Any, ...] | None:
    """Return what the names of a feature stand for, in their order; None if one of them is missing."""
    values = tuple(value_of(spelled) for spelled in FEATURES[name].names)
    return None if any(value is ABSENT for value in values) else values


def is_there(name: str) -> bool:
    """Tell whether this torch and this Python have a feature."""
    return get(name) is not None


def missing() -> list[Feature]:
    """Return the features that this torch or this Python lacks."""
    return [feature for name, feature in FEATURES.items() if not is_there(name)]


def missing_names(feature: Feature) -> list[str]:
    """Return the names of a feature that are missing."""
    return [spelled for spelled in feature.names if value_of(spelled) is ABSENT]


def value_of(spelled: str) -> Any:
    """Return what one name stands for: an object, or True where there is none to hold; ABSENT if it is missing."""
    kind, _, path = spelled.rpartition(" ")
    try:
        if kind == "C":
            return True  # the accelerator would not have been built
        if kind == "module":
            return ABSENT if find_spec(path) is None else True
        return _value_at(path)
    except Exception:  # whatever a future torch raises when it is asked
        return ABSENT


def _value_at(path: str) -> Any:
    holder, is_instance, attribute = path.partition("().")
    if is_instance:
        return True if _is_set_by(_reached(holder), attribute) else ABSENT
    function, is_local, variable = path.partition(":")
    if is_local:
        return True if variable in _reached(function).__code__.co_varnames else ABSENT
    return _reached(path)


def _reached(path: str) -> Any:
    """Return what a dotted path leads to, modules imported on the way."""
    first, *rest = path.split(".")
    found: Any = import_module(first)
    walked = first
    for part in rest:
        walked = f"{walked}.{part}"
        if isinstance(found, ModuleType) and not hasattr(found, part):
            found = import_module(walked)
        else:
            found = getattr(found, part)
    return found


def _is_set_by(maker: Any, attribute: str) -> bool:
    """Tell whether instances of a class have an attribute, or a function sets it on something."""
    if not isinstance(maker, type):
        return attribute in maker.__code__.co_names
    return hasattr(maker, attribute) or any(
        attribute in getattr(base, "__annotations__", ())
        or attribute in getattr(getattr(base, "__init__", None), "__code__", _no_code).co_names
        for base in maker.__mro__
    )


_no_code = (lambda: None).__code__
