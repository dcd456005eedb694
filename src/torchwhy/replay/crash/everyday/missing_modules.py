"""Notes a package that torch itself tried to import, such as tensorboard."""

from __future__ import annotations

from torchwhy.replay.crash.frames.traceback_frames import TracebackFrame
from torchwhy.replay.crash.hidden.hidden_facts import HiddenFacts
from torchwhy.source.files import layer_of


def note_missing_module(frames: list[TracebackFrame], hidden: HiddenFacts) -> None:
    """Note that an `import` statement in torch's own code failed, and in which of its modules."""
    own = [frame for frame in frames if not frame.filename.startswith("<frozen importlib")]
    last = own[-1] if own else None
    if last is not None and layer_of(last.filename) == "torch" and last.code.co_name == "<module>":
        hidden.facts["importing"] = str(last.globals.get("__name__", "torch"))
