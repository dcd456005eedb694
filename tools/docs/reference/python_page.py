"""The reference of the Python API, from signatures and docstrings of the public names."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterator
from typing import Any

import torchwhy
from tools.docs.markdown import fence, table

PAGE = "reference/python-api.md"
INTRODUCTION = """# Python API

Made from the docstrings of the public names, `torchwhy.__all__`. [From Python](python.md) shows how they are used.
"""


def python_page() -> str:
    """Return the page: a section for each public name."""
    names = [name for name in sorted(torchwhy.__all__, key=str.lower) if not name.startswith("__")]
    return "\n".join([INTRODUCTION, *(part for name in names for part in _name(name))])


def _name(name: str) -> Iterator[str]:
    thing = getattr(torchwhy, name)
    yield f"\n## torchwhy.{name}\n"
    yield fence(f"{_kind(thing)}{name}{_signature(thing)}", "python")
    yield _doc(thing)
    if inspect.isclass(thing):
        yield from _class(thing)


def _kind(thing: Any) -> str:
    if not inspect.isclass(thing):
        return ""
    return "exception " if issubclass(thing, BaseException) else "class "


def _signature(thing: Any) -> str:
    """Return the parameters as they are written; those of data classes are in the table of fields."""
    if inspect.isclass(thing) and _fields(thing):
        return ""
    try:
        return re.sub(r"torchwhy\.[\w.]*\.(\w+)", r"\1", str(inspect.signature(thing))).replace(
            "'", ""
        )
    except ValueError:
        return ""


def _doc(thing: Any) -> str:
    return f"{inspect.getdoc(thing) or ''}\n".replace("<", "&lt;")


def _fields(thing: type) -> list[tuple[str, str]]:
    if dataclasses.is_dataclass(thing):
        return [(one.name, str(one.type)) for one in dataclasses.fields(thing)]
    annotations = inspect.get_annotations(thing)
    names = getattr(thing, "__struct_fields__", ())
    return [(name, str(annotations.get(name, ""))) for name in names]


def _class(thing: type) -> Iterator[str]:
    fields = [(f"`{name}`", f"`{kind}`") for name, kind in _fields(thing)]
    if fields:
        yield table(["field", "type"], fields)
    members = [
        (f"`{name}`" if isinstance(member, property) else f"`{name}()`", _first_line(member))
        for name, member in vars(thing).items()
        if not name.startswith("_") and (isinstance(member, property) or inspect.isfunction(member))
    ]
    if members:
        yield table(["property or method", ""], members)


def _first_line(member: Any) -> str:
    return (inspect.getdoc(member) or "").partition("\n")[0].replace("<", "&lt;")
