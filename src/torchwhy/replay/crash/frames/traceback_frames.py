"""The frames of a traceback: whose code they run, at which expression, and with which variables."""

from __future__ import annotations

import dis
from collections.abc import Mapping
from types import CodeType, FrameType, TracebackType
from typing import Any

from torchwhy.observe.program.frames import Site, span_of
from torchwhy.plain_data import dataclass
from torchwhy.replay.microscope.expressions import node_at
from torchwhy.source.files import Layer, layer_of, loaded
from torchwhy.source.values import Node

MOST_FRAMES = 400  # of a runaway recursion, only the two ends are read

MOST_WRAPPINGS = 5  # exceptions raised from exceptions that are unwrapped


@dataclass(frozen=True, eq=False)
class TracebackFrame:
    """One frame of the traceback, at the instruction that raised or called what raised."""

    live: FrameType
    instruction: int
    layer: Layer

    @property
    def code(self) -> CodeType:
        """Return the code that the frame runs."""
        return self.live.f_code

    @property
    def filename(self) -> str:
        """Return the file of that code."""
        return self.live.f_code.co_filename

    @property
    def globals(self) -> dict[str, Any]:
        """Return the global variables that the frame sees."""
        return self.live.f_globals

    @property
    def site(self) -> Site:
        """Return the place for `span_of`."""
        return Site(self.code, self.instruction)

    @property
    def variables(self) -> Mapping[str, Any]:
        """Return the frame's local variables."""
        return self.live.f_locals

    @property
    def node(self) -> Node | None:
        """Return the syntax of the expression it was executing, with its place in the file where that is readable."""
        span = span_of(self.site)
        source = loaded(self.filename)
        found = source.syntax_at(span) if source is not None and span.column is not None else None
        return found or node_at(self.site)

    @property
    def is_at_raise(self) -> bool:
        """Tell whether the frame was executing a `raise` or a failed `assert`."""
        code = self.code.co_code
        if not 0 <= self.instruction < len(code):
            return False
        return dis.opname[code[self.instruction]] in ("RAISE_VARARGS", "RERAISE")

    @property
    def is_at_raise_of_user(self) -> bool:
        """Tell whether the frame was executing a `raise` or `assert` of the program's own."""
        return self.layer == "user" and self.is_at_raise


def frames_of(trace: TracebackType | None) -> list[TracebackFrame]:
    """Return the frames of a traceback, outermost first."""
    found = []
    while trace is not None:
        frame = trace.tb_frame
        found.append(TracebackFrame(frame, trace.tb_lasti, layer_of(frame.f_code.co_filename)))
        trace = trace.tb_next
    if len(found) > MOST_FRAMES:
        return found[: MOST_FRAMES // 2] + found[-MOST_FRAMES // 2 :]
    return found


def told_error(error: BaseException) -> BaseException:
    """Return the exception to explain: torch's original, if the program only wrapped it in one of its own."""
    seen = error
    for _ in range(MOST_WRAPPINGS):
        frames = frames_of(seen.__traceback__)
        inner = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)
        if inner is None or not frames or not frames[-1].is_at_raise_of_user:
            break
        seen = inner
    frames = frames_of(seen.__traceback__)
    is_torchs = bool(frames) and (frames[-1].layer == "torch" or is_torch_error(seen))
    return seen if is_torchs and not frames[-1].is_at_raise_of_user else error


def blamed(frames: list[TracebackFrame]) -> TracebackFrame | None:
    """Return the innermost frame of the user's own code, else of a library."""
    for layer in ("user", "library"):
        for frame in reversed(frames):
            if frame.layer == layer:
                return frame
    return None


def below(frames: list[TracebackFrame], frame: TracebackFrame) -> list[TracebackFrame]:
    """Return the frames that `frame` called, outermost first."""
    return frames[frames.index(frame) + 1 :] if frame in frames else []


def is_torch_error(error: BaseException) -> bool:
    """Tell whether an exception is of a kind that torch's C++ code raises."""
    return isinstance(error, (RuntimeError, NotImplementedError)) or type(
        error
    ).__module__.startswith("torch")


def place_of(frame: TracebackFrame | None) -> Any:
    """Return the source span of a frame's expression."""
    return span_of(frame.site) if frame is not None else None
