"""Cures that leave the rest of the program its meaning: states through time, divisors of both signs, one variance."""

from __future__ import annotations

from tests.detect.test_cures import at
from tests.detect.test_cures_by_style import (
    first_change_at,
    first_lines,
)
from torchwhy.detect.fixes.memory import memory
from torchwhy.detect.fixes.models import graphs
from torchwhy.detect.fixes.sizes import shapes
from torchwhy.detect.fixes.sizes.statements import any_batch_size
from torchwhy.detect.fixes.training import building, loss_scales
from torchwhy.detect.fixes.values import bounds, guards
from torchwhy.source.edits import Source

THROUGH_TIME = """\
for chunk in series:
    loss = 0
    for x in chunk:
        h = cell(x, h)
        loss = loss + head(h).mean()
    loss.backward()
"""
LIKELIHOOD = """\
import torch
def nll(mu, var, y):
    return (torch.log(6.28 * var) + (y - mu) ** 2 / var).mean()
"""


def test_a_state_is_cut_before_the_loop_through_time_and_not_in_it():
    source, finding = at(THROUGH_TIME, "cell(x, h)")
    statement = source.statement_at(finding.location.line)

    assert first_lines(memory.cut_state(source, statement, "h")) == ["h = h.detach()"]


def test_of_a_dictionary_the_item_is_carried_and_not_the_dictionary():
    text = "def step(x):\n    out, memory['h'] = rnn(x, memory['h'])\n    out.backward()\n"

    lines = first_change_at(
        graphs.carried_state,
        text,
        "rnn(x",
        name="memory",
    )

    assert lines == ["out, memory['h'] = rnn(x, memory['h'].detach())"]


def test_a_divisor_of_both_signs_is_not_clamped():
    lines = first_change_at(guards.for_division, "y = g / x\n", "g / x", lowest=-1.5, highest=2.25)

    assert lines == ["y = g / (x + 1e-8)"]


def test_a_variance_is_bounded_once_for_its_logarithm_and_its_division():
    lines = first_change_at(bounds.for_every_use, LIKELIHOOD, "torch.log(6.28 * var)")

    assert lines == ["var = var.clamp_min(1e-6)"]


def test_a_norm_does_not_bound_the_vector_it_is_taken_of():
    text = "import torch\ndef f(v):\n    return v / v.norm() + torch.log(v.norm())\n"

    assert first_change_at(bounds.for_every_use, text, "torch.log(v.norm())") is None


def test_a_loss_scale_of_ones_own_is_lowered_where_it_is_written():
    text = "SCALE = 2.0 ** 20\n(loss * SCALE).backward()\n"

    lines = first_lines(loss_scales.smaller(Source("t.py", text)))

    assert lines == ["SCALE = 1024.0"]


def test_both_states_of_a_recurrent_layer_take_the_size_of_the_batch():
    text = "def forward(x):\n    h = torch.zeros(1, 12, 5)\n    c = torch.zeros(1, 12, 5)\n    return f(x, h, c)\n"

    lines = first_change_at(
        shapes.sized_by_batch,
        text,
        "torch.zeros(1, 12, 5)",
        name="h",
        usual=12,
        rows_of="x",
        part="h[:, : len(x)]",
    )

    assert lines == ["h = torch.zeros(1, x.shape[0], 5)", "c = torch.zeros(1, x.shape[0], 5)"]


def test_a_state_that_is_made_before_the_batch_is_cut_to_its_size():
    text = "h = torch.zeros(1, 12, 5)\nfor x in loader:\n    f(x, h)\n"

    lines = first_change_at(
        shapes.sized_by_batch,
        text,
        "torch.zeros(1, 12, 5)",
        name="h",
        usual=12,
        rows_of="x",
        part="h[:, : len(x)]",
    )

    assert lines == ["f(x, h[:, : len(x)])"]


def test_a_view_that_infers_the_width_takes_its_rows_from_the_batch():
    text = "def forward(self, x):\n    return self.fc(self.conv(x).view(32, -1))\n"

    lines = first_change_at(any_batch_size, text, "self.conv(x).view(32, -1)")

    assert lines == ["return self.fc(self.conv(x).view(x.size(0), -1))"]


def test_a_module_gets_its_forgotten_init():
    text = "class Net(nn.Module):\n    def __init__(self):\n        self.a = nn.Linear(4, 2)\n"

    lines = first_change_at(building.initialised, text, "self.a")

    assert lines == ["super().__init__()"]
