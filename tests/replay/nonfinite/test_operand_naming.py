"""Operands are named by the frame that issues the operation: the user's, or that of a library beside it."""

from __future__ import annotations

import os

import pytest

from tests.support.children import SOURCE, Zygote
from tests.support.run_program import ProgramText, run_program

LIBRARY = """import torch


def squashed(values, scale):
    raw_scale = scale - 1
    return values / torch.relu(raw_scale)


def logged(values):
    return torch.log(values)


class Kernel(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.raw_length = torch.nn.Parameter(torch.tensor(-200.0))

    def forward(self, points):
        length = torch.nn.functional.softplus(self.raw_length)
        return points / length
"""
# Each line is a program of its own; `w` is its parameter.
PROGRAMS = {
    "inside-a-library": "library.squashed(x * w, scales)",
    "handed-to-a-library": "library.logged(w * x)",
    "layer-of-a-library": "kernel(x) * w",
    "distribution": "torch.distributions.Normal(x, w - w, validate_args=False).log_prob(targets)",
    "thin-function": "torch.nn.functional.gaussian_nll_loss(x * w, targets, zeros, eps=0.0)",
    "layer-of-torch": "torch.nn.Softsign()(x * w) / zeros",
    "constant-argument": "torch.std(x * w + ones, 0, False) / zeros[0]",
}
PROGRAM = """import library
import torch

torch.manual_seed(0)
w = torch.nn.Parameter(torch.ones(()))
kernel = library.Kernel()
x, targets, zeros, scales = torch.zeros(8), torch.ones(8), torch.zeros(8), torch.ones(8)
ones = torch.ones(8)
optimizer = torch.optim.SGD([w], lr=0.1)
for step in range(2):
    loss = {expression}
    optimizer.zero_grad()
    loss.mean().backward()
    optimizer.step()
"""


@pytest.fixture(scope="module")
def findings(tmp_path_factory):
    """Return the first finding of each program; an installed package is recognised by its dist-info."""
    site = tmp_path_factory.mktemp("site")
    (site / "library-1.0.dist-info").mkdir()
    (site / "library").mkdir()
    (site / "library" / "__init__.py").write_text(LIBRARY)
    zygote = Zygote(PYTHONPATH=os.pathsep.join([str(SOURCE), str(site)]))
    found = {}
    for name, expression in PROGRAMS.items():
        program = ProgramText(name, PROGRAM.format(expression=expression))
        outcome = run_program(program, zygote=zygote, folder=tmp_path_factory.mktemp(name))
        found[name] = outcome.report.findings[0]
    zygote.close()
    return found


def test_a_library_names_what_it_made_itself(findings):
    finding = findings["inside-a-library"]

    assert finding.message.startswith(
        "values / torch.relu(raw_scale) in library/__init__.py:6 (called from train.py:11) divides by zero: "
        "torch.relu(raw_scale) was exactly 0"
    )
    assert finding.location.line == 11
    assert finding.evidence[0].location.file == "library/__init__.py"
    assert finding.evidence[0].location.line == 6
    assert all("values" not in fix.title for fix in finding.fixes)


def test_a_tensor_that_the_program_hands_over_keeps_its_name(findings):
    assert findings["handed-to-a-library"].message.startswith(
        "library.logged(w * x) takes the logarithm of 0: w * x was 0"
    )


def test_a_layer_of_a_library_names_its_own_values(findings):
    message = findings["layer-of-a-library"].message

    assert "points / length in library/__init__.py:20 (called from train.py:11)" in message
    assert "length was exactly 0" in message


def test_a_distribution_names_its_own_values(findings):
    message = findings["distribution"].message

    assert "torch/distributions/normal.py" in message
    assert "targets was" not in message
    assert "called from train.py:11" in message


def test_an_argument_that_torch_passes_on_keeps_its_name(findings):
    message = findings["thin-function"].message

    assert "zeros was 0" in message
    assert "targets was" not in message
    assert "x * w was" not in message


@pytest.mark.parametrize("name", ["layer-of-torch", "constant-argument"])
def test_a_division_in_the_program_is_named_by_it(findings, name):
    message = findings[name].message

    assert "torch/" not in message
    assert "False" not in message.partition(": ")[2]
    assert "zeros" in message
