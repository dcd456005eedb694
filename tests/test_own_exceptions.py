"""What a program raises itself is its own business: no finding, whatever tensors are about."""

from __future__ import annotations

import textwrap

import pytest

from tests.support.run_program import Outcome, ProgramText

TRAINS = """
    import sys
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(3):
        loss = model(torch.randn(6, 4)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    {ending}
"""
ENDINGS = {
    "raises": 'raise ValueError("bad config")',
    "raises-its-own-type": 'raise type("Done", (Exception,), {})()',
    "asserts": 'assert loss.item() < 0, "the loss must be negative"',
    "exits": "sys.exit(3)",
    "interrupted": "raise KeyboardInterrupt",
    "looks-up": 'print({"a": 1}["b"])',
    "divides": "print(1 / 0)",
}
PROGRAMS = [
    ProgramText(f"own-exception-{name}", textwrap.dedent(TRAINS).format(ending=ending))
    for name, ending in ENDINGS.items()
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.id)
def test_own_exception_is_not_reported(program: ProgramText, outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes[program.id]

    assert outcome.ended.exit_code != 0
    assert outcome.report.findings == (), outcome.describe()
