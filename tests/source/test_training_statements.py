from __future__ import annotations

import pytest
from torch.optim import lr_scheduler

from torchwhy.source.analyses import training_statements
from torchwhy.source.edits import Source


def ask(question, text, *arguments):
    files = [Source("train.py", text)]
    return [place.expression for place in question(files, *arguments)]


def test_every_scheduler_of_torch_is_known():
    kinds = {
        name
        for name, kind in vars(lr_scheduler).items()
        if isinstance(kind, type)
        and (issubclass(kind, lr_scheduler.LRScheduler) or "Scheduler" in name)
    }

    assert kinds <= training_statements.SCHEDULERS


def test_freezing_and_thawing_statements_are_told_apart():
    text = (
        "for p in body.parameters():\n    p.requires_grad = False\n"
        "head.requires_grad_()\nhead.bias.requires_grad_(train_bias)\n"
        "x = torch.zeros(3, requires_grad=True)\n"
    )

    assert ask(training_statements.freezing, text) == [
        "p.requires_grad = False",
        "head.bias.requires_grad_(train_bias)",
    ]
    assert ask(training_statements.thawing, text) == ["head.requires_grad_()"]


def test_method_that_is_named_and_not_called_is_found():
    text = "model.eval\nmodel.train()\nrun = model.eval\n"

    assert ask(training_statements.uncalled_methods, text) == ["model.eval"]


def test_rate_settings_and_schedules():
    text = (
        'for group in optimizer.param_groups:\n    group["lr"] *= 0.5\n'
        "schedule = torch.optim.lr_scheduler.StepLR(optimizer, 3)\nprint(group['lr'])\n"
    )

    assert ask(training_statements.rate_settings, text) == ['group["lr"] *= 0.5']
    assert len(ask(training_statements.schedules_made, text)) == 1


def test_statements_that_exchange_a_layer_are_found_outside_of_constructors():
    text = (
        "class Net:\n    def __init__(self):\n        self.head = 1\n"
        "model.head = nn.Linear(3, 2)\nmodel.body[2] = layer\nmodel.tail = 3\n"
        "model.load_state_dict(state, assign=True)\nmodel.load_state_dict(state)\n"
    )

    assert ask(training_statements.joining, text, {"head", "body"}) == [
        "model.head = nn.Linear(3, 2)",
        "model.body[2] = layer",
        "model.load_state_dict(state, assign=True)",
    ]


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        ("norm = p.grad.norm()", True),
        ('g = getattr(p, "grad")', True),
        ("h.register_hook(print)", True),
        ("torch.autograd.grad(y, x)", False),
        ("loss.backward()", False),
    ],
)
def test_reading_a_gradient_is_told_from_asking_for_one(text, reads):
    assert training_statements.reads_gradients([Source("train.py", text)]) is reads
