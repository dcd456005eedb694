"""Our `dataclass` does what the one of the standard library does."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from dataclasses import FrozenInstanceError, asdict, field, fields, replace

import pytest

from torchwhy import plain_data


def _classes(dataclass):
    @dataclass(frozen=True)
    class Base:
        """A base."""

        name: str
        sizes: list[int] = field(default_factory=list)
        share: float = 0.5
        hidden: int = field(default=3, repr=False, compare=False)

        @property
        def shout(self) -> str:
            return self.name.upper()

    @dataclass(frozen=True)
    class Derived(Base):
        """A derived one."""

        kept: dict[str, int] = field(default_factory=dict, init=False)
        last: str = "z"

    @dataclass
    class Open:
        """One that may change."""

        count: int = 0

        def __post_init__(self) -> None:
            self.twice = 2 * self.count

    @dataclass(eq=False)
    class Single:
        """One that equals only itself."""

        value: int

        def __repr__(self) -> str:
            return "mine"

    return Base, Derived, Open, Single


BOTH = pytest.mark.parametrize("dataclass", [dataclasses.dataclass, plain_data.dataclass])


@BOTH
def test_values_defaults_and_text(dataclass):
    base, derived, changeable, single = _classes(dataclass)

    one = derived("a", share=2.0, last="b")

    assert repr(one).endswith("Derived(name='a', sizes=[], share=2.0, kept={}, last='b')")
    assert (one.hidden, one.shout, changeable(2).twice) == (3, "A", 4)
    assert [each.name for each in fields(one)] == [
        "name", "sizes", "share", "hidden", "kept", "last",
    ]  # fmt: skip
    assert asdict(base("a", [1])) == {"name": "a", "sizes": [1], "share": 0.5, "hidden": 3}
    assert repr(single(1)) == "mine"
    assert base("a").sizes is not base("a").sizes
    with pytest.raises(TypeError, match="unexpected keyword argument 'other'"):
        base("a", other=1)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'name'"):
        base()


@BOTH
def test_equality_and_hash(dataclass):
    base, derived, changeable, single = _classes(dataclass)

    assert base("a", (1,)) == base("a", (1,), hidden=4)
    assert hash(base("a", (1,))) == hash(base("a", (1,), hidden=4))
    assert base("a") != base("b")
    assert base("a") != derived("a")
    assert changeable(1) == changeable(1)
    assert changeable.__hash__ is None
    assert single(1) != single(1)
    assert isinstance(hash(single(1)), int)


@BOTH
def test_frozen_ones_change_only_by_replacement(dataclass):
    _, derived, changeable, _ = _classes(dataclass)
    one = derived("a")

    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'name'"):
        one.name = "b"
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'name'"):
        del one.name

    assert replace(one, name="b").name == "b"
    assert copy.copy(one) == one
    assert replace(changeable(1), count=5).twice == 10


@plain_data.dataclass(frozen=True)
class Kept:
    """It is pickled by its name."""

    value: int


def test_a_pickled_one_comes_back_equal():
    assert pickle.loads(pickle.dumps(Kept(3))) == Kept(3)
