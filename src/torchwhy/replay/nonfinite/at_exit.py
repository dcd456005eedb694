"""What a program leaves behind: a bad loss it stopped at, bad weights of its last step, bad values without training."""

from __future__ import annotations

import torch

from torchwhy.observe.steps import gradients
from torchwhy.record.events import Alarm, Replayed
from torchwhy.record.numbers import encode
from torchwhy.replay.equipment import Stage


def look_at_the_end(stage: Stage) -> None:
    """Raise the alarm for what no step could tell, when the program ends without one."""
    sentinel = stage.session.sentinel
    last = sentinel.last_read
    if (
        last is not None
        and not gradients.is_finite(last)
        and not sentinel.dropped.one_more_is_usual
    ):
        _bad_loss_at_the_end(stage, last)
    elif sentinel.bad_scaled_losses > 1:
        stage.session.write(
            Alarm(
                step=sentinel.step, optimizer=None, what="loss", losses=sentinel.last_scaled_losses
            )
        )
    elif _bad_weights_at_the_end(stage):
        return
    elif (evaluation := stage.evaluations.alarm()) is not None:
        stage.session.write(evaluation)
    elif not sentinel.backwards and stage.microscope.is_on:
        stage.microscope.leave()
        stage.nonfinite_log.blame_noticed(stage.microscope.memory_writers.living_births())
        _values_without_training(stage)


def _bad_loss_at_the_end(stage: Stage, loss: torch.Tensor) -> None:
    """The program read a bad loss and went no further."""
    step = stage.session.sentinel.step
    stage.session.write(
        Alarm(step=step, optimizer=None, what="value", losses=[encode(float(loss.item()))])
    )
    if stage.microscope.is_on:
        stage.note_bad_losses([loss])
        stage.nonfinite_log.write_all()
        stage.session.write(
            Replayed(step=step, how="first-step", reproduced=stage.nonfinite_log.any_reached())
        )


def _bad_weights_at_the_end(stage: Stage) -> bool:
    """The last step wrote what no later step was there to stumble over."""
    sentinel = stage.session.sentinel
    for watched in sentinel.optimizers.all():
        pairs = zip(watched.names(), watched.parameters(), strict=True)
        bad = [name for name, parameter in pairs if not gradients.is_finite(parameter)]
        if bad and watched.steps:
            last = max(sentinel.step - 1, 0)
            stage.session.write(
                Alarm(
                    step=last, optimizer=watched.index, what="parameter", losses=[], names=bad[:8]
                )
            )
            return True
    return False


def _values_without_training(stage: Stage) -> None:
    if stage.nonfinite_log.any_reached():
        stage.session.write(Alarm(step=0, optimizer=None, what="value", losses=[]))
        stage.nonfinite_log.write_all()
        stage.session.write(Replayed(step=0, how="first-step", reproduced=True))
