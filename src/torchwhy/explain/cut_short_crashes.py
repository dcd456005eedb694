"""A rank that its launcher ended while torchwhy still looked at its exception → a crash with what was noted at once."""

from __future__ import annotations

from dataclasses import replace

from torchwhy.detect.rules.message_kinds import PeerLost
from torchwhy.detect.rules.torch_messages import read
from torchwhy.record.crashes import Crash
from torchwhy.record.events import ExceptionSeen
from torchwhy.record.trace import Trace


def with_last_exception(trace: Trace) -> Trace:
    """Return the trace with a crash for an exception that ended the program and of which nothing else was written."""
    ended = [one for one in trace.of(ExceptionSeen) if one.caught is False]
    if not ended or any(not one.caught for one in trace.of(Crash)):
        return trace
    last = ended[-1]
    crash = Crash(
        step=last.step,
        type=last.type,
        message=last.message,
        location=last.location,
        raised_by="torch" if isinstance(read(last.message), PeerLost) else "python",
    )
    return replace(trace, events=(*trace.events, crash), _by_kind={})
