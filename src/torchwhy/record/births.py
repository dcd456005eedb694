"""What a look at one step could not see: how a tensor came to be that was there before it began."""

from __future__ import annotations

from torchwhy.record.events import Birth, MicroscopeLeft, Replayed
from torchwhy.record.trace import Trace


def came_from_nowhere(trace: Trace, step: int) -> bool:
    """Tell whether a repeated step only found a bad tensor that the program had made before, who knows how.

    A loop over the advantages, targets or embeddings of several steps repeats the step and not what made them.
    What the first look at the program saw is known: there is no earlier time at which it could be made.
    """
    left = any(leaving.step < step for leaving in trace.of(MicroscopeLeft))
    looked_late = any(
        r.step == step and (r.how == "in-place" or (r.how == "first-step" and left))
        for r in trace.of(Replayed)
    )
    spoilers = [b for b in trace.of(Birth) if b.step == step and b.reaches]
    return looked_late and any(_is_unknown(birth) for birth in spoilers)


def made_after(trace: Trace, step: int) -> int | None:
    """Return the step after which the dataset of a bad batch was made, None where that is no question."""
    found = (b.made_after for b in trace.of(Birth) if b.step == step and b.reaches)
    return min((made for made in found if made is not None), default=None)


def _is_unknown(birth: Birth) -> bool:
    """Tell whether a bad value came in with a tensor of unknown making, or with a dataset made during training."""
    if birth.kind != "source" or birth.parents:
        return False
    return birth.origin == "array" or birth.made_after is not None
