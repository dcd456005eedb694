"""A batch came in bad: make it once more, here and under the microscope, to see which line of data code made the value.

Only in a program that is about to end: its dataset's own code runs again. A batch that is drawn anew at random,
and is fine the second time, tells nothing and changes nothing.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from torchwhy.observe import gradients, seeds, torch_compat
from torchwhy.observe.exceptions import user_location
from torchwhy.observe.probes.batches import Batch, leaves_of
from torchwhy.record.events import ArrayWarning, Birth
from torchwhy.replay.stage import Stage

if TYPE_CHECKING:
    import torch


def look_into_data_code(stage: Stage) -> None:
    """Give every bad batch the births that its making has; the microscope must be on."""
    if stage.session.on_failure != "stop" or not stage.microscope.is_on:
        return
    found = [
        birth
        for birth in stage.book.spoilers()
        if birth.origin == "batch" and birth.dataset_indices
    ]
    for batch in reversed(stage.context.batches()):
        own = [birth for birth in found if set(birth.dataset_indices) <= set(batch.indices or [])]
        if own:
            _make_again(stage, batch, own)
            return


def _make_again(stage: Stage, batch: Batch, sources: list[Birth]) -> None:
    iterator, states = batch.iterator(), seeds.take()
    if iterator is None:
        return
    sentinel = stage.session.sentinel
    in_update, sentinel.in_update = (
        sentinel.in_update,
        False,
    )  # what runs now is data code, in whatever hook we are
    _let_numpy_name_the_line(stage, batch)
    with suppress(
        Exception
    ):  # the dataset may refuse to be asked twice: then the batch stays where the value is told
        with stage.microscope:  # our hooks run unseen, even by it
            again = dict(leaves_of(torch_compat.fetch_again(iterator, batch.indices)))
        for source in sources:
            _connect(stage, source, again.get(source.field or ""))
    sentinel.in_update = in_update
    seeds.restore(states)


def _let_numpy_name_the_line(stage: Stage, batch: Batch) -> None:
    """Make the batch with NumPy raising where it would only warn: the traceback ends in the guilty expression."""
    numpy, iterator = sys.modules.get("numpy"), batch.iterator()
    if numpy is None or iterator is None:
        return
    try:
        with numpy.errstate(divide="raise", over="raise", invalid="raise"):
            torch_compat.fetch_again(iterator, batch.indices)
    except FloatingPointError as error:
        place = user_location(error.__traceback__)
        if place is not None:
            stage.session.write(
                ArrayWarning(step=stage.session.sentinel.step, message=str(error), location=place)
            )
    except Exception:  # noqa: S110 - the dataset may refuse to be asked again; then nothing is told
        pass


def _connect(stage: Stage, source: Birth, leaf: torch.Tensor | None) -> None:
    if leaf is None or gradients.is_finite(leaf):
        return
    births = [
        birth
        for birth in map(stage.book.get, stage.microscope.ledger.births_of(leaf))
        if birth is not None
    ]
    made = [birth.id for birth in births if birth.kind != "source" and birth.phase == "data"]
    if made:
        stage.book.descends(source, made)
