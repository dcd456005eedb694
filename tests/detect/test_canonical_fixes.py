"""Canonical cures come before crude ones, and a crude one says that it hides."""

from __future__ import annotations

import textwrap

import pytest

from tests.detect.test_cures import at, edited
from torchwhy.detect.fixes.models.checkpoints import not_reentrant
from torchwhy.detect.fixes.training.accumulated import divided
from torchwhy.detect.fixes.training.freezing import thawed_layer
from torchwhy.detect.fixes.training.turns import second_loss_apart
from torchwhy.detect.fixes.values import exponentials, guards, masked
from torchwhy.source.edits import Source

BCE = "F.binary_cross_entropy(torch.sigmoid(z), y)"


@pytest.mark.parametrize(
    ("text", "expression", "wanted"),
    [
        (f"loss = {BCE}\n", BCE, "loss = F.binary_cross_entropy_with_logits(z, y)\n"),
        (
            "p = torch.sigmoid(net(x))\nloss = F.binary_cross_entropy(p, y)\n",
            "F.binary_cross_entropy(p, y)",
            "p = net(x)\nloss = F.binary_cross_entropy_with_logits(p, y)\n",
        ),
        (
            "net = Sequential(Linear(4, 1), Sigmoid())\nrate = BCELoss()\nloss = rate(net(x), y)\n",
            "rate(net(x), y)",
            "net = Sequential(Linear(4, 1))\nrate = BCEWithLogitsLoss()\nloss = rate(net(x), y)\n",
        ),
        ("h = p * torch.log(p)\n", "torch.log(p)", "h = torch.xlogy(p, p)\n"),
        ("h = p * torch.log(p / q)\n", "torch.log(p / q)", "h = torch.xlogy(p, p / q)\n"),
    ],
)
def test_a_logarithm_is_first_computed_from_what_cannot_underflow(text, expression, wanted):
    source, finding = at(f"import torch\n{text}", expression)

    first = next(guards.for_log(finding.location, source))

    assert edited(source, first) == f"import torch\n{wanted}"
    assert not first.hides


def test_probabilities_that_are_used_elsewhere_stay():
    source, finding = at(
        "import torch\np = torch.sigmoid(z)\nloss = F.binary_cross_entropy(p, y)\nhit = p > 0.5\n",
        "F.binary_cross_entropy(p, y)",
    )

    assert all(fix.hides for fix in guards.for_log(finding.location, source))


def test_a_value_that_was_written_into_is_not_computed_anew():
    source, finding = at(
        "import torch\np = torch.softmax(z, 1)\np[3] = 0\nloss = -torch.log(p).mean()\n",
        "torch.log(p)",
    )

    assert all(fix.hides for fix in guards.for_log(finding.location, source))


def test_softplus_stands_for_its_formula():
    source, finding = at(
        "import torch\nloss = torch.log(1 + torch.exp(z)).mean()\n", "torch.exp(z)"
    )

    first, *others = exponentials.for_exp(finding.location, source)

    assert "torch.nn.functional.softplus(z).mean()" in edited(source, first)
    assert all(fix.hides for fix in others)


def test_a_clamp_hides_unless_rounding_or_a_mask_explains_the_operand():
    source, finding = at("import torch\ny = torch.log(a - b)\n", "torch.log(a - b)")
    place = finding.location

    assert [fix.hides for fix in guards.for_log(place, source)] == [True]
    assert [fix.hides for fix in guards.for_log(place, source, by_rounding=True)] == [False]
    assert [fix.hides for fix in masked.for_masked(place, source)] == [False]


def test_eps_under_a_root_comes_before_a_clamp_which_hides():
    source, finding = at("import torch\ny = torch.sqrt(a)\n", "torch.sqrt(a)")

    eps, clamp = guards.for_root(finding.location, source)

    assert ("a + 1e-12" in eps.title, eps.hides) == (True, False)
    assert ("clamp_min" in clamp.title, clamp.hides) == (True, True)


LOOP = """
for i, (x, y) in enumerate(loader):
    loss = criterion(net(x), y)
    {backward}
    if (i + 1) % every == 0:
        opt.step()
        opt.zero_grad()
"""


@pytest.mark.parametrize(
    ("backward", "wanted"),
    [
        ("loss.backward()", "(loss / every).backward()"),
        ("scaler.scale(loss).backward()", "scaler.scale(loss / every).backward()"),
    ],
)
def test_an_accumulated_loss_is_divided_by_the_number_the_program_names(backward, wanted):
    source = Source("t.py", LOOP.format(backward=backward))

    (fix,) = divided(None, source, passes=64)

    assert edited(source, fix) == LOOP.format(backward=wanted)


def test_a_loss_of_one_pass_is_not_divided():
    source = Source("t.py", LOOP.format(backward="loss.backward()"))

    assert list(divided(None, source, passes=1)) == []


TURNS = textwrap.dedent(
    """\
    for batch in loader:
        q = critic(batch)
        gain = target - q
        critic_loss = gain.pow(2).mean()
        action = actor(batch)
        actor_loss = -(action * gain).mean()
        critic_loss.backward()
        critic_opt.step()
        actor_loss.backward()
        actor_opt.step()
    """
)


def test_the_second_loss_is_computed_after_the_step_or_from_detached_values():
    source, finding = at(TURNS, "critic_opt.step()")

    after, cut = second_loss_apart(finding.location, source, call="actor_loss.backward()")

    moved = "    action = actor(batch)\n    actor_loss = -(action * gain).mean()\n"
    assert edited(source, after) == TURNS.replace(moved, "").replace(
        "    actor_loss.backward()", f"{moved}    actor_loss.backward()"
    )
    assert "-(action * gain.detach()).mean()" in edited(source, cut)


def test_a_new_layer_is_trained_and_the_freezing_stays():
    text = "net.fc = Linear(8, 2)\nfor p in net.parameters():\n    p.requires_grad = False\n"
    source, finding = at(text, "p.requires_grad = False")

    before, after = thawed_layer(finding.location, source, frozen=["net.fc.weight", "net.fc.bias"])

    assert edited(source, before).endswith("p.requires_grad = False\nnet.fc = Linear(8, 2)\n")
    assert edited(source, after) == f"{text}net.fc.requires_grad_(True)\n"


def test_checkpoints_are_made_not_reentrant():
    source = Source("t.py", "h = checkpoint(body, x, use_reentrant=True)\n")

    (fix,) = not_reentrant(source)

    assert edited(source, fix) == "h = checkpoint(body, x, use_reentrant=False)\n"
