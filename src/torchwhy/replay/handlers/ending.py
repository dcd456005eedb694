"""What every handler does when the program ends, and when it has to leave."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchwhy.replay.crash.caught_exceptions import CaughtExceptions
from torchwhy.replay.microscope.dispatch_mode import Microscope
from torchwhy.replay.nonfinite.last_values import LastValues
from torchwhy.replay.parameters.parameter_watch import ParameterWatch
from torchwhy.replay.step.rewind import Rewind


class Ending:
    """Looks at what the program leaves behind, and takes everything off; a rerun has no rewind."""

    def __init__(
        self,
        microscope: Microscope,
        last_values: LastValues,
        *,
        parameter_watch: ParameterWatch,
        protect: Callable[..., Any],
        caught_exceptions: CaughtExceptions | None = None,
        rewind: Rewind | None = None,
    ) -> None:
        self._microscope = microscope
        self._last_values = last_values
        self._caught_exceptions = caught_exceptions
        self._rewind = rewind
        self._compare_parameters = protect("census probe", parameter_watch.at_exit)

    def at_exit(self) -> None:
        """Look at the last values of the program."""
        self._compare_parameters()
        if self._caught_exceptions is not None:
            self._caught_exceptions.end()
        is_idle = self._rewind is None or self._rewind.is_idle
        if self._rewind is not None:
            self._rewind.at_exit()
        if is_idle:
            self._last_values.look()
        self.leave()

    def leave(self) -> None:
        """Take everything off; also called in a forked child."""
        if self._caught_exceptions is not None:
            self._caught_exceptions.leave()
        self._microscope.leave()
        if self._rewind is not None:
            self._rewind.leave()
