"""What detectors propose: edits that mean what they say, and none where the place is not certain."""

from __future__ import annotations

import textwrap

import pytest

from tests.support.findings import said
from torchwhy.detect.fixes.models import modules
from torchwhy.detect.fixes.sizes import statements
from torchwhy.detect.fixes.training import loops, optimizers
from torchwhy.detect.fixes.values import data, exponentials, guards
from torchwhy.finding import Finding, SourceSpan
from torchwhy.source.edits import Source
from torchwhy.verify.candidates import proposals
from torchwhy.verify.diffs import apply, changed_files


def at(text, expression, **facts):
    """Return the program and a finding at the first place of an expression."""
    program = textwrap.dedent(text).lstrip("\n")
    lines = program.splitlines()
    line = next(number for number, one in enumerate(lines, start=1) if expression in one)
    column = lines[line - 1].index(expression)
    span = SourceSpan("t.py", line, line, column, column + len(expression), expression=expression)
    return Source("t.py", program), Finding(
        "name", "error", facts.pop("diagnosis", said("")), location=span, **facts
    )


def edited(source, fix):
    return apply(source.text, changed_files(fix.diff)["t.py"], file="t.py")


@pytest.mark.parametrize(
    ("written", "expression", "cured"),
    [
        ("torch.log(x)", "torch.log(x)", "torch.log(x.clamp_min(1e-8))"),
        ("(a + b).log()", "(a + b).log()", "(a + b).clamp_min(1e-8).log()"),
        ("np.log(x)", "np.log(x)", "np.log(np.maximum(x, 1e-8))"),
        ("math.log(x)", "math.log(x)", "math.log(max(x, 1e-8))"),
        ("torch.log1p(x)", "torch.log1p(x)", "torch.log1p(x.clamp_min(-1 + 1e-7))"),
        (
            "torch.log(F.softmax(z, dim=1))",
            "torch.log(F.softmax(z, dim=1))",
            "F.log_softmax(z, dim=1)",
        ),
        ("z.softmax(-1).log()", "z.softmax(-1).log()", "z.log_softmax(-1)"),
        (
            "torch.log(torch.sigmoid(z))",
            "torch.log(torch.sigmoid(z))",
            "torch.nn.functional.logsigmoid(z)",
        ),
        (
            "torch.log(torch.exp(z).sum(dim=1))",
            "torch.log(torch.exp(z).sum(dim=1))",
            "torch.logsumexp(z, dim=1)",
        ),
    ],
)
def test_logarithms(written, expression, cured):
    source, finding = at(
        f"import torch, math, numpy as np\nimport torch.nn.functional as F\ny = {written}\n",
        expression,
    )

    first = next(guards.for_log(finding.location, source))

    assert edited(source, first) == source.text.replace(written, cured)


def test_a_forward_pass_is_not_made_twice_to_get_at_its_logits():
    source, finding = at(
        """
        import torch
        p = torch.softmax(model(x), dim=1)
        loss = -torch.log(p).mean() + p.sum()
        """,
        "torch.log(p)",
    )

    named, clamped = guards.for_log(finding.location, source)

    assert edited(source, named) == source.text.replace(
        "p = torch.softmax(model(x), dim=1)",
        "logits = model(x)\np = torch.softmax(logits, dim=1)",
    ).replace("torch.log(p)", "torch.log_softmax(logits, dim=1)")
    assert clamped.hides


def test_names_changed_in_between_are_not_looked_through():
    source, finding = at(
        """
        import torch
        p = torch.softmax(z, dim=1)
        z = z + 1
        loss = -torch.log(p).mean()
        """,
        "torch.log(p)",
    )

    (fix,) = guards.for_log(finding.location, source)

    assert "log_softmax" not in fix.diff


@pytest.mark.parametrize(
    ("written", "cured"),
    [
        ("torch.sqrt(x)", "torch.sqrt(x + 1e-12)"),
        ("x.sum(1).sqrt()", "(x.sum(1) + 1e-12).sqrt()"),
        ("(a * b) ** 0.5", "(a * b + 1e-12) ** 0.5"),
        ("torch.pow(x, 0.5)", "torch.pow(x + 1e-12, 0.5)"),
        ("x.norm(dim=1)", "(x.pow(2).sum(dim=1) + 1e-12).sqrt()"),
    ],
)
def test_roots(written, cured):
    source, finding = at(f"import torch\ny = {written}\n", written)

    first = next(guards.for_root(finding.location, source))

    assert edited(source, first) == source.text.replace(written, cured)


def test_the_shift_of_a_softmax_is_not_proposed_for_other_exponentials():
    source, finding = at("import torch\np = 1 / (2 + torch.exp(-z))\n", "torch.exp(-z)")

    assert all("amax" not in fix.diff for fix in exponentials.for_exp(finding.location, source))


def test_a_layer_is_no_operand():
    source, finding = at(
        "class A:\n    def f(self, x):\n        return self.norm(x)\n", "self.norm(x)"
    )

    assert list(guards.for_division(finding.location, source)) == []
    assert list(guards.for_root(finding.location, source)) == []


def test_the_measured_stable_rate_is_tried_first():
    source, finding = at(
        "import torch\nopt = torch.optim.SGD(p, lr=3)\n", "torch.optim.SGD(p, lr=3)"
    )

    fix, *_ = optimizers.lower_rate(finding.location, source, stable_rate=0.2)

    assert "torch.optim.SGD(p, lr=0.1)" in edited(source, fix)


@pytest.mark.parametrize(
    ("made", "cured"),
    [
        ("torch.optim.SGD(p, lr=args.lr)", "torch.optim.SGD(p, lr=0.1 * args.lr)"),
        ("torch.optim.SGD(p, 0.5)", "torch.optim.SGD(p, 0.05)"),
        ('torch.optim.Adam(p, **{"lr": 0.05})', 'torch.optim.Adam(p, **{"lr": 0.005})'),
    ],
)
def test_rates_are_lowered_however_they_are_given(made, cured):
    source, finding = at(f"import torch\nopt = {made}\n", made)

    texts = [edited(source, fix) for fix in optimizers.lower_rate(finding.location, source)]

    assert source.text.replace(made, cured) in texts


def test_zero_grad_goes_before_backward_under_the_programs_own_name():
    source, finding = at(
        """
        import torch
        self.opt = torch.optim.SGD(p, lr=1)
        for x in data:
            loss = f(x)  # forward
            loss.backward()
            self.opt.step()
        """,
        "self.opt.step()",
    )

    (fix,) = loops.clear_gradients(finding.location, source)

    assert "    self.opt.zero_grad()\n    loss.backward()\n" in edited(source, fix)


def test_plain_lists_become_module_lists():
    source, finding = at(
        """
        from torch import nn
        class Net(nn.Module):
            def __init__(self):
                self.layers = [nn.Linear(1, 1) for _ in range(3)]  # three
        """,
        "self.layers = [nn.Linear(1, 1) for _ in range(3)]",
    )

    (fix,) = modules.registered([finding.location], source)

    assert "self.layers = nn.ModuleList([nn.Linear(1, 1) for _ in range(3)])  # three" in fix.diff


def test_an_in_place_write_keeps_its_meaning():
    source, finding = at("x *= a + b\n", "x *= a + b")

    (fix,) = statements.out_of_place(finding.location, source)

    assert edited(source, fix) == "x = x * (a + b)\n"


@pytest.mark.parametrize("infinity", ['float("-inf")', "-torch.inf", "-math.inf", "-np.inf"])
def test_every_way_to_write_minus_infinity_is_found(infinity):
    source = Source("t.py", f"m = s.masked_fill(mask, {infinity})\n")

    (fix,) = data.finite_mask(source)

    assert edited(source, fix) == "m = s.masked_fill(mask, -1e9)\n"


def test_nothing_is_proposed_for_a_changed_or_an_installed_file(tmp_path):
    place = SourceSpan("t.py", 2, 2, 4, 16, expression="torch.log(x)")
    finding = Finding("log-of-nonpositive", "error", said(""), location=place)
    (tmp_path / "t.py").write_text("import torch\ny = torch.exp(x)\n")
    installed = tmp_path / "site-packages"
    installed.mkdir()
    (installed / "t.py").write_text("import torch\ny = torch.log(x)\n")

    assert list(proposals(finding, tmp_path, {})) == []
    assert list(proposals(finding, installed, {})) == []
    (tmp_path / "t.py").write_text("import torch\ny = torch.log(x)\n")
    assert len(list(proposals(finding, tmp_path, {}))) == 1
