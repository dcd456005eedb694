"""A diagnosis is data: what was measured. Its sentences derive from its fields, and no code reads them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from typing_extensions import Self, dataclass_transform

    from torchwhy.finding import Evidence
else:  # Python 3.10 has none, and only type checkers read it

    def dataclass_transform(**_):  # noqa: ANN003, ANN201, D103
        return lambda decorated: decorated


WORD = re.compile(r"(?<!^)(?=[A-Z])")
FIELDS = "__dataclass_fields__"  # what marks a dataclass
Shape = list[int]  # reads as [32, 10] in a sentence

# A class counts as made when all of it is: another thread must not meet one with fields and no `__init__` yet.
_making = Lock()
_ready: set[type] = set()


@dataclass_transform(frozen_default=True, kw_only_default=True)
class FrozenFields:
    """Subclasses are frozen dataclasses from their first instance on: a healthy run makes none of three hundred."""

    def __new__(cls, **_: Any) -> Self:
        """Make the class and its bases dataclasses, the base first."""
        if cls not in _ready:
            with _making:
                for kind in reversed(cls.__mro__):
                    if issubclass(kind, FrozenFields) and FIELDS not in vars(kind):
                        dataclass(frozen=True, kw_only=True)(kind)
                _ready.add(cls)
        return super().__new__(cls)


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Diagnosis(FrozenFields):
    """What a cause measured, one subclass per kind of judgement; subclasses are frozen dataclasses.

    `message` and `advice` are templates that name fields and properties: `"{name} was {value:.3g}"`. Where a
    template is not enough, a subclass overrides `sentence` or `remedies`. Fields hold numbers, strings, spans of
    the source and sequences of these, so that `facts` can stand in report.json.
    """

    message: ClassVar[str] = ""
    headline: ClassVar[str] = (
        ""  # the message without step, sample and values, if that is another sentence
    )
    advice: ClassVar[str] = ""

    @property
    def sentence(self) -> str:
        """Return the message of the finding."""
        return self.fill(self.message)

    @property
    def headline_words(self) -> str:
        """Return the message without what a report shows beside it: the step, the sample and the operands' values."""
        return self.fill(self.headline) if self.headline else self.sentence

    @property
    def remedies(self) -> tuple[str, ...]:
        """Return what to change, in words, the likeliest first."""
        return (self.fill(self.advice),) if self.advice else ()

    def evidence(self) -> Iterator[Evidence]:
        """Yield the measured facts that prove it, the strongest first."""
        yield from ()

    def facts(self) -> dict[str, Any]:
        """Return the fields as plain data, as they stand in report.json."""
        values = {one.name: _plain(getattr(self, one.name)) for one in fields(self)}
        return {"kind": self.kind(), **values}

    @classmethod
    def kind(cls) -> str:
        """Return the name of the judgement, `reshape-mixes`."""
        return WORD.sub("-", cls.__name__).lower()

    def __str__(self) -> str:
        """Return the sentence, so that one diagnosis can stand in the template of another."""
        return self.sentence

    def fill(self, template: str) -> str:
        """Return a template with the fields and properties it names."""
        return template.format_map(_Attributes(self))


class Stored(Diagnosis):
    """A diagnosis read back from report.json: its words and facts, without its class."""

    text: str
    data: Mapping[str, Any]
    short: str = ""
    message = "{text}"

    @property
    def headline_words(self) -> str:
        """Return the headline as it was stored; older reports have none."""
        return self.short or self.text

    def facts(self) -> dict[str, Any]:
        """Return the facts as they were stored."""
        return dict(self.data)


class _Attributes(dict[str, Any]):
    """Looks names of a template up in an object, one by one, when they are asked for."""

    def __init__(self, owner: object) -> None:
        super().__init__()
        self._owner = owner

    def __missing__(self, name: str) -> Any:
        return getattr(self._owner, name)


def _plain(value: Any) -> Any:
    """Return a field as JSON can hold it: non-finite numbers as words, as everywhere in a report."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, Diagnosis):
        return value.facts()
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, Sequence):
        return [_plain(one) for one in value]
    raise TypeError(f"a diagnosis cannot hold a {type(value).__name__}")
