"""The order of the calls that lead to a step: backward, clip, zero_grad, step."""

from __future__ import annotations

from itertools import pairwise

from torchwhy.record.learning import CallSeen


def late_clip(calls: list[CallSeen]) -> CallSeen | None:
    """Return the clip that runs before the backward pass of this step, if it is the only one."""
    names = [call.name for call in calls]
    if names[-1:] != ["step"] or not {"clip", "zero_grad", "backward"} <= set(names):
        return None
    clip, clear, backward = (names.index(name) for name in ("clip", "zero_grad", "backward"))
    return calls[clip] if clip < clear < backward and "clip" not in names[backward:] else None


def clip_between_passes(calls: list[CallSeen]) -> list[CallSeen]:
    """Return the clips if one line clips the same parameters after each of several backward passes of one line.

    Nothing clears the gradients between them.
    """
    names = [call.name for call in calls]
    first = names.index("backward") if "backward" in names else len(names)
    passes = [
        call for call in calls[first:] if call.name in ("backward", "clip", "zero_grad", "step")
    ]
    clips = [call for call in passes if call.name == "clip"]
    in_turn = ["backward", "clip"] * len(clips) + ["step"]
    lines = {_line(call) for call in passes if call.name == "backward"}
    is_one_line = len(lines) == 1 == len({_line(call) for call in clips})
    is_limit = not any(call.used or "inf" in str(call.target) for call in clips)
    is_same = all(call.again for call in clips[1:])
    found = len(clips) > 1 and is_same and [call.name for call in passes] == in_turn
    return clips if found and is_one_line and is_limit else []


def cleared_between(calls: list[CallSeen]) -> CallSeen | None:
    """Return the last `zero_grad` if it comes between the last `backward` and the step."""
    names = [call.name for call in calls]
    if "backward" not in names or "zero_grad" not in names or names[-1] != "step":
        return None
    last = len(names) - 1 - names[::-1].index("zero_grad")
    backward = len(names) - 1 - names[::-1].index("backward")
    return calls[last] if last > backward else None


def cleared_each_time(calls: list[CallSeen], optimizer: int) -> tuple[int, CallSeen | None]:
    """Return the number of backward passes before a step, and the `zero_grad` that clears each of them but the last.

    The latter is None unless there are several passes from one line, and one line clears all but the last.
    """
    relevant = [call for call in calls if call.name in ("zero_grad", "backward")]
    backwards = [call for call in relevant if call.name == "backward"]
    clears = [
        after
        for before, after in pairwise(relevant)
        if before.name == "backward" and after.name == "zero_grad"
    ]
    ends_well = bool(relevant) and relevant[-1].name == "backward"
    is_one_line = len({_line(call) for call in backwards}) == 1 == len({_line(c) for c in clears})
    if len(backwards) < 2 or not ends_well or not is_one_line:
        return len(backwards), None
    is_all = len(clears) == len(backwards) - 1
    is_own = all(call.optimizer in (None, -1, optimizer) for call in clears)
    # A library that clears the gradients may have its reasons.
    is_plain = "zero_grad" in (clears[0].location.expression or "") if clears[0].location else False
    return len(backwards), clears[0] if is_all and is_own and is_plain else None


def _line(call: CallSeen) -> tuple[str, int] | None:
    return (call.location.file, call.location.line) if call.location is not None else None
