"""`torchwhy.integrations.lightning.Why`: a callback that watches `trainer.fit`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torchwhy.errors import UsageError
from torchwhy.integrations.block import OnFailure
from torchwhy.integrations.closure_steps import ClosureSteps
from torchwhy.integrations.framework_block import Framework, FrameworkBlock, Position
from torchwhy.integrations.run_trackers import tracker_of
from torchwhy.integrations.shown_report import ShownReport

if TYPE_CHECKING:
    Callback = object
else:
    try:
        from lightning.pytorch.callbacks import Callback
    except ImportError:
        try:
            from pytorch_lightning.callbacks import Callback
        except ImportError:
            raise UsageError(
                "lightning is not installed: `pip install lightning`.", slug="missing-extra"
            ) from None

LIGHTNING = Framework("Lightning", first=0, counter="global step", closely="Why(closely=True)")


class Why(Callback):
    """Watches the training of a `Trainer(callbacks=[Why()])`; the arguments are those of `torchwhy.watch`."""

    def __init__(
        self, *, on_failure: OnFailure = "raise", closely: bool = False, quiet: bool = False
    ) -> None:
        super().__init__()
        self._block = FrameworkBlock(LIGHTNING, on_failure=on_failure, closely=closely, quiet=quiet)

        self._closures = ClosureSteps()  # Lightning runs `training_step` inside `optimizer.step`

    @property
    def report(self) -> ShownReport | None:
        """Return the report of the last training; None before its end."""
        return self._block.report

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:  # noqa: ARG002 - Lightning's signature
        """Begin to watch."""
        loggers = trainer.loggers if trainer.is_global_zero else ()
        trackers = (found for one in loggers if (found := tracker_of(one)) is not None)
        self._closures.put_on_first()
        self._block.anew(trackers).__enter__()
        if self._block.is_watching:
            self._closures.put_on_last()
        else:
            self._closures.take_off()

    def on_train_batch_start(
        self,
        trainer: Any,
        pl_module: Any,  # noqa: ARG002
        batch: Any,  # noqa: ARG002
        batch_idx: int,
    ) -> None:
        """Note where training stands."""
        self._block.note(lambda: Position(trainer.current_epoch, batch_idx, trainer.global_step))

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:  # noqa: ARG002
        """Explain the exception that ends training; Lightning raises it again."""
        self._closures.take_off()
        self._block.end(exception)

    def on_fit_end(self, trainer: Any, pl_module: Any) -> None:  # noqa: ARG002
        """Report what was found."""
        self._closures.take_off()
        self._block.end(None)
