"""Puts the questions about the data at the end of a rehearsal."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from torch.utils.data import IterableDataset

from torchwhy.observe.probes.loaders.seen_loader import SeenLoader
from torchwhy.observe.recorder import Recorder
from torchwhy.observe.steps.training_state import TrainingState
from torchwhy.record.inputs.data_events import (
    EVALUATION_QUESTION,
    SAMPLER_QUESTION,
    VALUES_QUESTION,
    WORKERS_QUESTION,
)
from torchwhy.record.learning import Experiment
from torchwhy.replay.rehearsal.allowance import CannotAsk
from torchwhy.replay.rehearsal.data_code.copied_rows import repeated_in
from torchwhy.replay.rehearsal.data_code.reread_rows import reread
from torchwhy.replay.rehearsal.data_code.worker_draws import compare_workers

LONGEST_REASON = 300
Facts = dict[str, Any]


class DataRehearsal:
    """Asks the loaders that were seen; an exception of the program's own data code is a reason, not a fault."""

    def __init__(
        self, loaders: Sequence[SeenLoader], recorder: Recorder, state: TrainingState
    ) -> None:
        self._loaders = loaders
        self._recorder = recorder
        self._state = state

    def ask(self) -> None:
        """Put every question; the program stands still, and the hooks are off."""
        for slug, question in (
            (EVALUATION_QUESTION, self._evaluation),
            (WORKERS_QUESTION, self._workers),
            (SAMPLER_QUESTION, self._seen),
            (VALUES_QUESTION, self._values),
        ):
            self._recorder.write(
                Experiment(step=self._state.step, question=slug, answer=_answer(question))
            )

    def _seen(self) -> Facts:
        if not self._loaders:
            raise CannotAsk("the program draws no batch from a DataLoader")
        return {"loaders": len(self._loaders)}

    def _values(self) -> Facts:
        """Look for rows that occur several times in small datasets of the program's own classes."""
        facts = self._seen()
        for loader in self._loaders:
            dataset = rows_by_index(loader)
            if loader.trains and not loader.by_torch and dataset is not None:
                found = repeated_in(loader, dataset)
                if found is not None:
                    self._recorder.write(found)
        return facts

    def _evaluation(self) -> Facts:
        """Read rows of the evaluation data twice."""
        self._seen()
        asked = 0
        for loader in self._loaders:
            dataset = rows_by_index(loader)
            if loader.trains or not loader.after or dataset is None:
                continue
            rows, changed = reread(loader, dataset, step=self._state.step)
            asked += rows
            if changed is not None:
                self._recorder.write(changed)
        if not asked:
            raise CannotAsk("no dataset was read for evaluation only, by index")
        return {"rows": asked}

    def _workers(self) -> Facts:
        """Let two workers of each loader that has several read the same row."""
        several = [one for one in self._loaders if one.trains and one.workers > 1]
        if not several:
            raise CannotAsk("no loader that trains has several workers")
        asked = 0
        for loader in several:
            dataset = rows_by_index(loader)
            if dataset is not None:
                self._recorder.write(compare_workers(loader, dataset, step=self._state.step))
                asked += 1
        if not asked:
            raise CannotAsk("the loaders with several workers read a stream")
        return {"loaders": asked}


def rows_by_index(loader: SeenLoader) -> Any:
    """Return the dataset of a loader if it gives rows by index and some were drawn; else None."""
    dataset = loader.dataset() if loader.dataset is not None else None
    if dataset is None or isinstance(dataset, IterableDataset) or not loader.drawn:
        return None
    return dataset


def _answer(question: Callable[[], Facts]) -> Facts:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return question()
    except CannotAsk as reason:
        return {"refused": str(reason)}
    except Exception as problem:
        return {"refused": f"{type(problem).__name__}: {problem}"[:LONGEST_REASON]}
