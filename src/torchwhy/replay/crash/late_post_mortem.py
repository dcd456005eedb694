"""The post-mortem of a process that may never need one: its thirty modules are imported with the first exception."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from torchwhy.record.crashes import Crash
from torchwhy.replay.crash.frames.traceback_frames import TracebackFrame

if TYPE_CHECKING:
    from torchwhy.replay.crash.post_mortem import PostMortem


class LatePostMortem:
    """Makes the `Crash` event of an exception, as `PostMortem` does, which it builds then."""

    def __init__(self, build: Callable[[], PostMortem]) -> None:
        self._build = build
        self._post_mortem: PostMortem | None = None

    def of(
        self, error: BaseException, frames: list[TracebackFrame], *, caught: bool = False
    ) -> Crash:
        """Return the `Crash` of an exception."""
        if self._post_mortem is None:
            self._post_mortem = self._build()
        return self._post_mortem.of(error, frames, caught=caught)
