"""`dataclass` as in the standard library, made in a tenth of the time: nothing is compiled before the first instance.

Before Python 3.13 the original compiles six functions for every frozen class, which takes half a millisecond. A run
meets two hundred such classes in two processes and makes instances of few. `fields`, `replace` and `asdict` of the
standard library work on these classes; options other than `eq` and `frozen` are not supported.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass  # noqa: PLC0414  # exported
else:

    def dataclass(cls=None, /, *, eq=True, frozen=False):  # noqa: ANN001, ANN201
        """Return the class as a dataclass; methods that it defines itself are kept."""
        if cls is None:
            return lambda one: _process(one, eq=eq, frozen=frozen)
        return _process(cls, eq=eq, frozen=frozen)


def _process(cls: type, *, eq: bool, frozen: bool) -> type:
    dataclasses.dataclass(init=False, repr=False, eq=False)(cls)
    fields = dataclasses.fields(cls)
    methods: dict[str, Any] = {
        "__init__": _late_init(cls, fields, frozen=frozen),
        "__repr__": _repr_of([one.name for one in fields if one.repr]),
    }
    if eq:
        values = _values_of([one.name for one in fields if one.compare])
        methods["__eq__"] = _eq_of(values)
        methods["__hash__"] = _hash_of(values) if frozen else None
    if frozen:
        names = frozenset(one.name for one in fields)
        methods |= {"__setattr__": _no_set(cls, names), "__delattr__": _no_delete(cls, names)}
    own = vars(cls)
    kept = {name for name in methods if name in own}
    if "__hash__" in kept and own["__hash__"] is None and "__eq__" in kept:
        kept.remove("__hash__")  # Python set it to None because the class has an `__eq__`.
    for name in methods.keys() - kept:
        setattr(cls, name, methods[name])
    return cls


def _late_init(
    cls: type, fields: tuple[dataclasses.Field[Any], ...], *, frozen: bool
) -> Callable[..., None]:
    """Return an `__init__` that puts the compiled one in its place when it is called for the first time."""

    def late_init(self: Any, *arguments: Any, **named: Any) -> None:
        real = _compiled_init(cls, fields, frozen=frozen)
        cls.__init__ = real  # type: ignore[misc]
        real(self, *arguments, **named)

    return late_init


def _compiled_init(
    cls: type, fields: tuple[dataclasses.Field[Any], ...], *, frozen: bool
) -> Callable[..., None]:
    missing = object()
    names: dict[str, Any] = {"_missing": missing, "_set": object.__setattr__}
    parameters, body = ["self"], []
    for number, one in enumerate(fields):
        value = one.name
        if one.default_factory is not dataclasses.MISSING:
            names[f"_factory{number}"] = one.default_factory
            made = f"_factory{number}()"
            value = f"{made} if {one.name} is _missing else {one.name}" if one.init else made
            parameters += [f"{one.name}=_missing"] if one.init else []
        elif one.default is not dataclasses.MISSING:
            names[f"_default{number}"] = one.default
            parameters += [f"{one.name}=_default{number}"] if one.init else []
            value = one.name if one.init else f"_default{number}"
        elif one.init:
            parameters.append(one.name)
        else:
            continue
        body.append(
            f"_set(self, {one.name!r}, {value})" if frozen else f"self.{one.name} = {value}"
        )
    body += ["self.__post_init__()"] if hasattr(cls, "__post_init__") else []
    text = f"def __init__({', '.join(parameters)}):\n " + "\n ".join(body or ["pass"])
    exec(text, names)  # noqa: S102  # names of fields are identifiers
    made_init: Callable[..., None] = names["__init__"]
    made_init.__qualname__ = f"{cls.__qualname__}.__init__"
    return made_init


def _repr_of(names: list[str]) -> Callable[[Any], str]:
    def show(self: Any) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__qualname__}({shown})"

    return show


def _values_of(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    if len(names) > 1:
        return attrgetter(*names)
    return lambda one: tuple(getattr(one, name) for name in names)


def _eq_of(values: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any, object], Any]:
    def equals(self: Any, other: object) -> Any:
        if other.__class__ is self.__class__:
            return values(self) == values(other)
        return NotImplemented

    return equals


def _hash_of(values: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any], int]:
    def digest(self: Any) -> int:
        return hash(values(self))

    return digest


def _no_set(cls: type, names: frozenset[str]) -> Callable[[Any, str, Any], None]:
    def refuse(self: Any, name: str, value: Any) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)  # type: ignore[arg-type]

    return refuse


def _no_delete(cls: type, names: frozenset[str]) -> Callable[[Any, str], None]:
    def refuse(self: Any, name: str) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)  # type: ignore[arg-type]

    return refuse
