"""`torchwhy.integrations.ignite.attach`: watches `engine.run` of Ignite."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from torchwhy.errors import UsageError
from torchwhy.integrations.block import OnFailure, watch
from torchwhy.integrations.framework_block import Framework, FrameworkBlock, Position
from torchwhy.integrations.run_trackers import TensorBoard

if TYPE_CHECKING:
    Events: Any
else:
    try:
        from ignite.engine import Events
    except ImportError:
        raise UsageError(
            "ignite is not installed: `pip install pytorch-ignite`.", slug="missing-extra"
        ) from None

IGNITE = Framework("Ignite", first=1, counter="iteration", closely="attach(engine, closely=True)")


def attach(
    engine: Any,
    *,
    logger: Any = None,
    on_failure: OnFailure = "raise",
    closely: bool = False,
    quiet: bool = False,
) -> watch:
    """Watch every run of an engine that trains; the returned object has the `report` of the last one.

    `logger` is a logger of Ignite with a TensorBoard writer. Runs of W&B and MLflow are found without it. The other
    arguments are those of `torchwhy.watch`.
    """
    block = FrameworkBlock(IGNITE, on_failure=on_failure, closely=closely, quiet=quiet)
    bare = engine.run

    @functools.wraps(bare)
    def run(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        writer = getattr(logger, "writer", logger)
        with block.anew([TensorBoard(writer)] if hasattr(writer, "add_text") else []):
            return bare(*args, **kwargs)

    # Exceptions and interruptions pass here; Ignite's event for them would have to raise them again.
    engine.run = run
    engine.add_event_handler(Events.ITERATION_STARTED, _note, block)
    return block


def _note(engine: Any, block: FrameworkBlock) -> None:
    """Note where training stands; every batch is an iteration."""
    state = engine.state
    length = state.epoch_length or state.iteration
    block.note(lambda: Position(state.epoch, (state.iteration - 1) % length + 1, state.iteration))
