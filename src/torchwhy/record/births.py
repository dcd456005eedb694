"""Bad values whose origin a repeated step cannot show, because they were made before the step began."""

from __future__ import annotations

from torchwhy.record.events import Birth, MicroscopeLeft, Replayed
from torchwhy.record.trace import Trace


def came_from_nowhere(trace: Trace, step: int) -> bool:
    """Tell whether a repeated step only found a bad tensor that the program had made before the step.

    The targets or embeddings that a loop uses for several steps are not computed again when a step is repeated. At
    the first observation there is nothing earlier, so the origin is known.
    """
    left = any(leaving.step < step for leaving in trace.of(MicroscopeLeft))
    observed_late = any(
        r.step == step and (r.how == "in-place" or (r.how == "first-step" and left))
        for r in trace.of(Replayed)
    )
    spoilers = [b for b in trace.of(Birth) if b.step == step and b.reaches]
    return observed_late and any(_is_unknown(birth) for birth in spoilers)


def made_after(trace: Trace, step: int) -> int | None:
    """Return the step after which the dataset of a bad batch was made; None if it is as old as training."""
    found = (b.made_after for b in trace.of(Birth) if b.step == step and b.reaches)
    return min((made for made in found if made is not None), default=None)


def _is_unknown(birth: Birth) -> bool:
    """Tell whether a bad value came from a tensor of unknown origin, or from a dataset made during training."""
    if birth.kind != "source" or birth.parents:
        return False
    return birth.origin == "array" or birth.made_after is not None
