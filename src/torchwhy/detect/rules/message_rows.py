"""A row of the table of torch's messages: a wording, the kind of message it is, and an example."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import field
from functools import cached_property
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from torchwhy.detect.rules.message_kinds import TorchMessage
from torchwhy.plain_data import dataclass

# If several rows match a message, the most specific one counts.
GENERAL, USUAL, SPECIAL = range(3)


@dataclass(frozen=True)
class Row:
    """One wording of one kind of message; its named groups become the fields of the kind.

    `example` is a message as torch gives it. `since` and `until` are releases of torch where known; after `until`,
    torch no longer contains the text. `fields` are the same for every message of the row.
    """

    kind: type[TorchMessage]
    pattern: str
    example: str
    specificity: int = USUAL
    since: str = ""
    until: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.pattern)

    @cached_property
    def _readers(self) -> dict[str, Callable[[str], Any]]:
        """Return the function that converts the text of each field."""
        return {name: _reader(hint) for name, hint in get_type_hints(self.kind).items()}

    def read(self, message: str) -> TorchMessage | None:
        """Return the message as data, None if it has another wording."""
        found = self._compiled.search(message)
        if found is None:
            return None
        texts = {**found.groupdict(), **self.fields}
        told = {name: text for name, text in texts.items() if text is not None}
        return self.kind(**{name: self._readers[name](text) for name, text in told.items()})


def _reader(hint: Any) -> Callable[[str], Any]:
    if get_origin(hint) in (UnionType, Union):
        hint = next(one for one in get_args(hint) if one is not NoneType)
    return _numbers if get_origin(hint) is list else hint


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",") if number.strip()]
