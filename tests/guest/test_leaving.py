"""When the watch ends inside a living process, torch is what it was before."""

from __future__ import annotations

from tests.guest.pairs import Pairs, names_us


def test_no_patch_is_left_after_the_end(pairs: Pairs) -> None:
    left = pairs.run("watched_inside", watched=False)

    assert left.ended.exit_code == 0, left.stderr
    assert names_us(left.stderr) == []
    assert left.stdout.splitlines() == ["True True", "[]", "[]", "[]"]
