"""Hooks come off in any order, and leave alone what the program put on top of them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from torchwhy.observe.hooks import Hooks


@pytest.mark.parametrize("groups", [("first", "second"), ("second", "first")])
def test_two_groups_on_one_attribute_come_off_in_any_order(groups: tuple[str, str]) -> None:
    place = SimpleNamespace(save="torch's own")
    hooks = Hooks()
    hooks.replace(place, "save", "of the first", group="first")
    hooks.replace(place, "save", "of the second", group="second")

    for group in groups:
        hooks.remove_group(group)

    assert place.save == "torch's own"
    assert len(hooks) == 0


def test_a_hook_on_top_stays_when_the_one_below_goes() -> None:
    place = SimpleNamespace(save="torch's own")
    hooks = Hooks()
    hooks.replace(place, "save", "below", group="below")
    hooks.replace(place, "save", "on top", group="on top")

    hooks.remove_group("below")

    assert place.save == "on top"


def test_what_the_program_put_on_top_of_a_hook_stays() -> None:
    place = SimpleNamespace(excepthook="Python's own")
    hooks = Hooks()
    hooks.replace(place, "excepthook", "ours")
    place.excepthook = "the program's"

    hooks.remove_all()

    assert place.excepthook == "the program's"


def test_an_inherited_attribute_is_inherited_again() -> None:
    class Base:
        value = 1

    class Heir(Base):
        pass

    hooks = Hooks()
    hooks.replace(Heir, "value", 2)

    hooks.remove_all()

    assert "value" not in vars(Heir)
    assert Heir.value == 1
