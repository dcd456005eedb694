"""The change that keeps a number or a bare tensor."""

from __future__ import annotations

import pytest

from torchwhy.detect.fixes.memory.detach import detached, fix_for
from torchwhy.finding import SourceSpan
from torchwhy.record.learning import Held


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("losses.append(loss)", "losses.append(loss.item())"),
        ("total += loss", "total += loss.item()"),
        ("total += loss * n", "total += (loss * n).item()"),
        ("total = total + loss", "total = total + loss.item()"),
        ("history['é'].append(loss)", "history['é'].append(loss.item())"),
        ("kept[step] = loss", "kept[step] = loss.item()"),
        ("self.sum += value / 2", "self.sum += (value / 2).item()"),
    ],
)
def test_plain_statements_are_rewritten(before, after):
    assert detached(before, "item") == after


@pytest.mark.parametrize(
    "statement",
    [
        "log.append((step, loss))",
        "kept += [loss]",
        "average = 0.9 * average + 0.1 * loss",
        "out, h = net(x, h)",
        "kept.extend(parts)",
        "not python",
    ],
)
def test_others_are_left_to_the_reader(statement):
    assert detached(statement, "item") is None


def held(**facts: object) -> Held:
    place = SourceSpan("train.py", 7, 7, 4, 23, expression="losses.append(loss)")
    given = {"name": "losses", "kind": "list", "tensors": 4, "with_graph": 4, "bytes": 16}
    line = "    losses.append(loss)  # keep"
    return Held(**{**given, "grown_at": place, "grown_line": line, **facts})


def test_a_list_that_is_read_keeps_tensors_because_its_reader_may_need_them():
    fix = fix_for(held(read_at=SourceSpan("train.py", 9)))

    assert "+    losses.append(loss.detach())  # keep\n" in fix.diff
    assert fix.safety == "safe"


def test_whole_outputs_are_kept_as_tensors():
    assert "losses.append(loss.detach())" in fix_for(held(bytes=4096)).diff


def test_what_is_differentiated_is_not_cut_blindly():
    assert fix_for(held(feeds_backward=True)).diff == ""


def test_without_a_place_there_is_only_advice():
    fix = fix_for(held(grown_at=None))

    assert fix.diff == ""
    assert fix.safety == "show-only"
