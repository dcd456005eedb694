"""Lets two workers of a loader read the same row: do they draw the same random numbers?"""

from __future__ import annotations

import multiprocessing
from typing import Any

from torch.utils.data import DataLoader, Dataset, get_worker_info

from torchwhy.observe.probes.loaders.seen_loader import SeenLoader
from torchwhy.record.inputs.data_events import WorkersCompared
from torchwhy.replay.rehearsal.allowance import CannotAsk
from torchwhy.replay.rehearsal.data_code.random_lines import RandomLine
from torchwhy.replay.rehearsal.data_code.row_reading import digests_in, random_states_kept

WORKERS = 2
READINGS = 2  # of each worker
SECONDS = 20.0  # that a worker may take for a row


class SameRow(Dataset[Any]):
    """Gives digests of one and the same row of a dataset, and the worker that read it."""

    def __init__(self, dataset: Any, row: int) -> None:
        self.dataset = dataset
        self.row = row

    def __getitem__(self, _: int) -> str:
        return repr(sorted(digests_in(self.dataset[self.row])))

    def __len__(self) -> int:
        return WORKERS * READINGS


class WithDataset:
    """Starts a worker as the program does, with the program's dataset in its `get_worker_info`."""

    def __init__(self, start: Any) -> None:
        self.start = start

    def __call__(self, worker: int) -> None:
        """Run the program's own `worker_init_fn`."""
        info: Any = get_worker_info()
        if info is not None and isinstance(info.dataset, SameRow):
            object.__setattr__(info, "dataset", info.dataset.dataset)
        if self.start is not None:
            self.start(worker)


def compare_workers(loader: SeenLoader, dataset: Any, *, step: int) -> WorkersCompared:
    """Return whether rows are random, and whether two workers read the same random values."""
    if multiprocessing.get_start_method(allow_none=True) not in (None, "fork"):
        raise CannotAsk("the program does not fork its workers")
    row = int(loader.drawn[0][0])
    with random_states_kept():
        again = DataLoader(
            SameRow(dataset, row),
            batch_size=None,
            num_workers=WORKERS,
            worker_init_fn=WithDataset(loader.worker_start),
            timeout=SECONDS,
        )
        read = list(again)
        first, second = read[0::WORKERS], read[1::WORKERS]
        place = RandomLine().during(lambda: dataset[row])
    return WorkersCompared(
        step=step,
        loader=loader.number,
        row=row,
        is_random=first[0] != first[1],
        is_repeated=first == second,
        location=place,
    )
