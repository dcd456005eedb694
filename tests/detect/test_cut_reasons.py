"""Why a graph was cut, told by the kind of the cut and the text of the program."""

from __future__ import annotations

import pytest

from torchwhy.detect.views.crash.cut_reasons import reason_of


@pytest.mark.parametrize(
    ("kind", "expression", "reason"),
    [
        ("item", "loss.item()", "`.item()` returns a plain number"),
        ("gt", "p.gt(0)", "a comparison has no derivative"),
        ("no_grad", "with torch.no_grad():  # fast", "`with torch.no_grad():` keeps no graph"),
        ("no_grad", "with torch.no_grad(): y = f(x)", "`with torch.no_grad():` keeps no graph"),
        ("no_grad", "with timer(), torch.no_grad():", "`with torch.no_grad():` keeps no graph"),
        ("no_grad", "torch.no_grad()", "`@torch.no_grad()` keeps no graph"),
        (
            "as_tensor",
            "torch.as_tensor(v)",
            "`torch.as_tensor(…)` makes a new tensor from plain numbers",
        ),
    ],
)
def test_a_cut_has_its_reason(kind, expression, reason):
    assert reason_of(kind, expression) == reason


def test_a_switch_in_a_variable_is_told():
    reason = reason_of("no_grad", "with ctx:", switch="torch.no_grad()")

    assert reason == "`with ctx:` keeps no graph, because `ctx` is `torch.no_grad()`"
