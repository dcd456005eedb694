"""`torchwhy.integrations.huggingface.Why`: a callback that watches `trainer.train()` of Transformers.

Transformers has no event for an exception, so `Trainer.train` gets a block around it, which does nothing for a trainer
without this callback.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from torchwhy.errors import UsageError
from torchwhy.integrations.block import OnFailure
from torchwhy.integrations.framework_block import Framework, FrameworkBlock, Position
from torchwhy.integrations.run_trackers import TensorBoard, active_trackers
from torchwhy.integrations.shown_report import ShownReport

if TYPE_CHECKING:
    TrainerCallback = object
    Trainer: Any
else:
    try:
        from transformers import Trainer, TrainerCallback
    except ImportError:
        raise UsageError(
            "transformers is not installed: `pip install transformers accelerate`.",
            slug="missing-extra",
        ) from None

TRANSFORMERS = Framework(
    "Transformers", first=0, counter="global step", closely="Why(closely=True)"
)


class Why(TrainerCallback):
    """Watches the training of a `Trainer(callbacks=[Why()])`; the arguments are those of `torchwhy.watch`."""

    def __init__(
        self, *, on_failure: OnFailure = "raise", closely: bool = False, quiet: bool = False
    ) -> None:
        self.block = FrameworkBlock(
            TRANSFORMERS, on_failure=on_failure, closely=closely, quiet=quiet
        )
        self.callbacks: Sequence[Any] = ()  # of the trainer
        self._epoch = self._batch = 0
        _put_block_around_training()

    @property
    def report(self) -> ShownReport | None:
        """Return the report of the last training; None before its end."""
        return self.block.report

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:  # noqa: ARG002 - Transformers' signature
        """Note the trackers now: their run may have ended when training has."""
        self._epoch = -1
        if state.is_world_process_zero:
            writers = (getattr(one, "tb_writer", None) for one in self.callbacks)
            self.block.add_trackers(TensorBoard(one) for one in writers if one is not None)
            self.block.add_trackers(active_trackers())

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """Count epochs: those of `state` are fractions."""
        self._epoch = max(self._epoch + 1, int(state.epoch or 0))
        self._batch = 0

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """Note where training stands before the batches of an update."""
        self.block.note(lambda: Position(self._epoch, self._batch, state.global_step))
        self._batch += 1

    def on_substep_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """Count a batch whose gradients are accumulated."""
        self._batch += 1


def _put_block_around_training() -> None:
    bare = Trainer.train
    if hasattr(bare, "without_torchwhy"):
        return

    @functools.wraps(bare)
    def train(self: Any, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        callbacks = self.callback_handler.callbacks
        why = next((one for one in callbacks if isinstance(one, Why)), None)
        if why is None:
            return bare(self, *args, **kwargs)
        why.callbacks = callbacks
        with why.block.anew():
            return bare(self, *args, **kwargs)

    train.without_torchwhy = bare  # type: ignore[attr-defined]
    Trainer.train = train
