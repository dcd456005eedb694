"""How two sets of keys are related is found by comparing them, whatever the names."""

from __future__ import annotations

import pytest

from torchwhy.replay.crash.everyday.loaded_states import surplus_segment

PLAIN = {"body.0.weight": [8, 4], "body.0.bias": [8], "head.weight": [1, 8], "head.bias": [1]}


def renamed(change):
    return {change(key): size for key, size in PLAIN.items()}


@pytest.mark.parametrize("prefix", ["module.", "_orig_mod.", "module._orig_mod.", "net.inner."])
def test_part_at_the_start_of_all_keys_is_found(prefix):
    found = surplus_segment(renamed(lambda key: prefix + key), PLAIN)

    assert (found.what, found.fits) == (prefix, 4)


def test_part_in_the_middle_of_some_keys_is_found():
    found = surplus_segment(renamed(lambda key: key.replace("body.", "body._orig_mod.")), PLAIN)

    assert (found.what, found.fits) == ("_orig_mod.", 4)


@pytest.mark.parametrize(
    "other",
    [
        {"a.weight": [3, 3], "a.bias": [3]},
        {f"module.{key}": [9, 9] for key in PLAIN},  # other sizes: the part is not what is wrong
        {},
    ],
)
def test_unrelated_states_have_no_such_part(other):
    assert surplus_segment(other, PLAIN) is None
