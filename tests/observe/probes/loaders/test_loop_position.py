"""Which epoch and batch a failing step is told to be in, and where nothing is told because it is not certain."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest

from tests.support.children import shared_zygote
from tests.support.run_program import Outcome, ProgramText, run_program
from torchwhy.finding import LoopPosition
from torchwhy.report.model import from_json
from torchwhy.report.wording import when_and_which

PRELUDE = """
import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
data = TensorDataset(torch.rand(20, 4), torch.rand(20, 1))
loader = DataLoader(data, batch_size=4)  # five batches
other = DataLoader(TensorDataset(torch.rand(20, 4), torch.rand(20, 1)), batch_size=4)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)


def loss_of(x, y, breaks=False):
    return ((model(x) - y) ** 2).mean() * (float("inf") if breaks else 1.0)


def train(x, y, breaks=False):
    optimizer.zero_grad()
    loss_of(x, y, breaks).backward()
    optimizer.step()


def evaluate():
    with torch.no_grad():
        for x, y in other:
            loss_of(x, y)

"""

TOLD = {
    "enumerated": (
        """
        for epoch in range(3):
            for i, (x, y) in enumerate(loader):
                train(x, y, (epoch, i) == (1, 3))
        """,
        LoopPosition(1, 3),
    ),
    "plain": (
        """
        seen = 0
        for epoch in range(3):
            for x, y in loader:
                seen += 1
                train(x, y, seen == 13)
        """,
        LoopPosition(2, 2),
    ),
    "counted_from_one": (
        """
        for epoch in range(1, 4):
            for i, (x, y) in enumerate(loader, start=1):
                train(x, y, (epoch, i) == (2, 3))
        """,
        LoopPosition(2, 3),
    ),
    "resumed": (
        """
        first = 7
        for epoch in range(first, 10):
            for i, (x, y) in enumerate(loader):
                train(x, y, (epoch, i) == (8, 0))
        """,
        LoopPosition(8, 0),
    ),
    "epoch_in_a_function": (
        """
        def train_epoch(epoch, batches):
            for i, (x, y) in enumerate(batches):
                train(x, y, (epoch, i) == (2, 1))

        def main():
            for epoch in range(3):
                train_epoch(epoch, loader)
                evaluate()

        main()
        """,
        LoopPosition(2, 1),
    ),
    "accumulated": (
        """
        for epoch in range(3):
            for i, (x, y) in enumerate(loader):
                if i == 4:
                    break
                loss_of(x, y, (epoch, i) == (1, 2)).backward()
                if i % 2:
                    optimizer.step()
                    optimizer.zero_grad()
        """,
        LoopPosition(1, 3, first_batch=2),
    ),
    "left_early": (
        """
        for epoch in range(3):
            for i, (x, y) in enumerate(loader):
                if i == 3:
                    break
                train(x, y, (epoch, i) == (2, 1))
        """,
        LoopPosition(2, 1),
    ),
    "evaluated_inside": (
        """
        x, y = next(iter(loader))  # a look at the data
        for epoch in range(3):
            for i, (x, y) in enumerate(loader):
                train(x, y, (epoch, i) == (1, 4))
                if i % 2:
                    evaluate()
        """,
        LoopPosition(1, 4),
    ),
    "raises": (
        """
        for epoch in range(3):
            for i, (x, y) in enumerate(loader):
                train(x[:, :3] if (epoch, i) == (1, 2) else x, y)
        """,
        LoopPosition(1, 2),
    ),
    "raises_at_once": (
        """
        for epoch in range(3):
            for x, y in loader:
                train(x[:, :3], y)
        """,
        LoopPosition(0, 0),
    ),
    "workers": (
        """
        if __name__ == "__main__":
            several = DataLoader(data, batch_size=4, num_workers=1, prefetch_factor=4)
            for epoch in range(2):
                for i, (x, y) in enumerate(several):
                    train(x, y, (epoch, i) == (1, 1))
        """,
        LoopPosition(1, 1),
    ),
    "progress_bar": (
        """
        from tqdm import tqdm

        for epoch in tqdm(range(3)):
            bar = tqdm(loader)
            for i, (x, y) in enumerate(bar):
                train(x, y, (epoch, i) == (1, 3))
        """,
        LoopPosition(1, 3),
    ),
    "progress_bar_outside": (
        """
        from tqdm import tqdm

        for epoch in range(3):
            for i, (x, y) in tqdm(enumerate(loader)):
                train(x, y, (epoch, i) == (1, 3))
        """,
        LoopPosition(1, 3),
    ),
}
SILENT = {
    "no_loader": """
        for epoch in range(3):
            for i in range(5):
                train(*data[4 * i : 4 * i + 4], (epoch, i) == (1, 3))
        """,
    "two_loaders": """
        for epoch in range(3):
            for i, (a, b) in enumerate(zip(loader, other)):
                train(a[0], b[1], (epoch, i) == (1, 3))
        """,
    "second_loader_inside": """
        for epoch in range(3):
            further = iter(other)
            for i, (x, y) in enumerate(loader):
                train(x, next(further)[1], (epoch, i) == (1, 3))
        """,
    "same_loader_inside": """
        for epoch in range(3):
            for i, (x, y) in enumerate(loader):
                z, _ = next(iter(loader))
                train(z, y, (epoch, i) == (0, 3))
        """,
    "next_of_an_iterator": """
        for epoch in range(3):
            batches = iter(loader)
            for i in range(5):
                x, y = next(batches)
                train(x, y, (epoch, i) == (1, 3))
        """,
    "generator_that_fetches_ahead": """
        def ahead():
            batches = iter(loader)
            ready = next(batches)
            for coming in batches:
                yield ready
                ready = coming
            yield ready

        for epoch in range(3):
            for i, (x, y) in enumerate(ahead()):
                train(x, y, (epoch, i) == (1, 3))
        """,
    "repeated_for_ever": """
        from itertools import cycle

        batches = cycle(loader)
        for epoch in range(3):
            for i, (x, y) in enumerate(batches):
                train(x, y, i == 8)
        """,
    "no_epochs": """
        for i, (x, y) in enumerate(loader):
            train(x, y, i == 3)
        """,
    "passes_that_are_no_epochs": """
        for fold in range(2):
            for epoch in range(2):
                for i, (x, y) in enumerate(loader):
                    train(x, y, (fold, epoch, i) == (1, 1, 3))
        """,
    "loader_made_anew": """
        for epoch in range(3):
            for i, (x, y) in enumerate(fresh := DataLoader(data, batch_size=4)):
                train(x, y, (epoch, i) == (1, 3))
        """,
    "step_over_two_epochs": """
        done = 0
        for epoch in range(3):
            for i, (x, y) in enumerate(loader):
                loss_of(x, y, (epoch, i) == (0, 4)).backward()
                done += 1
                if done % 2 == 0:
                    optimizer.step()
                    optimizer.zero_grad()
        """,
    "raises_in_evaluation": """
        for epoch in range(2):
            for x, y in loader:
                train(x, y)
            for x, y in other:
                loss_of(x[:, :3], y)
        """,
    "while_loop": """
        epoch = 0
        while epoch < 3:
            for i, (x, y) in enumerate(loader):
                train(x, y, (epoch, i) == (1, 3))
            epoch += 1
        """,
}
PROGRESS_BAR = """
class tqdm:
    def __init__(self, iterable):
        self.iterable = iterable

    def __iter__(self):
        for item in self.iterable:
            yield item
"""


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    """Run all programs once."""
    bodies = {**{name: body for name, (body, _) in TOLD.items()}, **SILENT}
    programs = [
        ProgramText(name, PRELUDE + dedent(body), beside=(("tqdm.py", PROGRESS_BAR),))
        for name, body in bodies.items()
    ]
    found, zygote = {}, shared_zygote()
    for program in programs:
        folder = tmp_path_factory.mktemp(program.id)
        found[program.id] = run_program(program, zygote=zygote, folder=folder)
    return found


@pytest.mark.parametrize("name", TOLD)
def test_epoch_and_batch_are_told_as_the_program_counts_them(
    outcomes: dict[str, Outcome], name: str
) -> None:
    cause = outcomes[name].cause

    assert cause is not None, indent(outcomes[name].describe(), "  ")
    assert cause.position == TOLD[name][1], indent(outcomes[name].describe(), "  ")
    assert f"({cause.position})" in when_and_which(cause)[0]


@pytest.mark.parametrize("name", SILENT)
def test_an_uncertain_position_is_not_told(outcomes: dict[str, Outcome], name: str) -> None:
    cause = outcomes[name].cause

    assert cause is not None, indent(outcomes[name].describe(), "  ")
    assert cause.step is not None
    assert cause.position is None


def test_the_position_is_part_of_the_stored_report(outcomes: dict[str, Outcome]) -> None:
    report = outcomes["accumulated"].report

    stored = report.to_json()

    assert stored["findings"][0]["position"] == {"epoch": 1, "batch": 3, "first_batch": 2}
    assert from_json(stored).findings[0].position == report.findings[0].position


def test_no_probe_failed(outcomes: dict[str, Outcome]) -> None:
    notes = {name: one.report.all_notes for name, one in outcomes.items()}

    assert not [note for told in notes.values() for note in told if "failed and was" in note]
