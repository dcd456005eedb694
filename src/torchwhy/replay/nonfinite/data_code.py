"""A batch came in bad: make it once more, here and under the microscope, to see which line of data code made the value.

Only in a program that is about to end: its dataset's own code runs again. A batch that is drawn anew at random,
and is fine the second time, tells nothing and changes nothing.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING, Any

from torchwhy.observe.probes.batches import Batch, leaves_of
from torchwhy.observe.program import seeds
from torchwhy.observe.program.exceptions import user_location
from torchwhy.observe.steps import gradients
from torchwhy.observe.torch_features.loader_parts import fetch_again
from torchwhy.record.events import ArrayWarning, Birth
from torchwhy.replay.equipment import Stage
from torchwhy.replay.nonfinite import stream
from torchwhy.replay.nonfinite.stream import MakeBatch

if TYPE_CHECKING:
    import torch


def look_into_data_code(stage: Stage) -> None:
    """Give every bad batch the births that its making has; the microscope must be on."""
    if stage.session.on_failure != "stop" or not stage.microscope.is_on:
        return
    found = [birth for birth in stage.nonfinite_log.spoilers() if birth.origin == "batch"]
    for batch in reversed(stage.context.batches()):
        iterator = batch.iterator()
        if iterator is not None and stream.is_stream(iterator):
            if found:
                _refetch(stage, found, stream.reader_of(iterator))
            return
        own = [birth for birth in found if _is_of(birth, batch)]
        if own and iterator is not None:
            _refetch(stage, own, _by_index(iterator, batch.indices))
            return


def _is_of(birth: Birth, batch: Batch) -> bool:
    return bool(birth.dataset_indices) and set(birth.dataset_indices) <= set(batch.indices or [])


def _by_index(iterator: Any, indices: list[int] | None) -> MakeBatch:
    def make(looking: AbstractContextManager[Any]) -> Any:
        with looking:
            return fetch_again(iterator, indices)

    return make


def _refetch(stage: Stage, sources: list[Birth], make: MakeBatch) -> None:
    states = seeds.take()
    sentinel = stage.session.sentinel
    in_update, sentinel.in_update = (
        sentinel.in_update,
        False,
    )  # what runs now is data code, in whatever hook we are
    _let_numpy_name_the_line(stage, make)
    began = stage.microscope.seen
    with suppress(
        Exception
    ):  # the dataset may refuse to be asked twice: then the batch stays where the value is told
        # Our hooks run unseen, even by the microscope, which is therefore put on for this alone.
        refetched = dict(leaves_of(make(stage.microscope)))
        for source in sources:
            _connect(stage, source, refetched.get(source.field or ""), began=began)
    sentinel.in_update = in_update
    seeds.restore(states)


def _let_numpy_name_the_line(stage: Stage, make: MakeBatch) -> None:
    """Make the batch with NumPy raising where it would only warn: the traceback ends in the guilty expression."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return
    try:
        make(numpy.errstate(divide="raise", over="raise", invalid="raise"))
    except FloatingPointError as error:
        place = user_location(error.__traceback__)
        if place is not None:
            stage.session.write(
                ArrayWarning(step=stage.session.sentinel.step, message=str(error), location=place)
            )
    except Exception:  # noqa: S110 - the dataset may refuse to be asked again; then nothing is told
        pass


def _connect(stage: Stage, source: Birth, leaf: torch.Tensor | None, *, began: int) -> None:
    if leaf is None or gradients.is_finite(leaf):
        return
    births = [
        birth
        for birth in map(stage.nonfinite_log.get, stage.microscope.memory_writers.births_of(leaf))
        if birth is not None
    ]
    made = [birth.id for birth in births if birth.kind != "source" and birth.order > began]
    if made:
        stage.nonfinite_log.descends(source, made)
