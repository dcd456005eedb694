"""Events about ranks that train together: who averages gradients, what each rank holds, and what it saves."""

from __future__ import annotations

import msgspec

from torchwhy.record.event import Event
from torchwhy.record.numbers import Real


class GradientsShared(Event, frozen=True, tag="gradients-shared"):
    """A wrapper averages the gradients of a model over these ranks, so that each may train on rows of its own.

    `own_norms` counts layers of batch normalisation in train mode whose statistics each rank computes by itself.
    """

    wrapper: str
    ranks: list[int]
    own_norms: int = 0


class TensorHeld(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One parameter of an optimizer before a step: digests of some elements of its weight and its gradient.

    `weights` are a few of these elements. `gradient` is empty if it has none, or if all its elements are equal.
    `wrapped` means that DistributedDataParallel averages the gradient.
    """

    name: str
    weight: str
    gradient: str = ""
    weights: list[Real] = []
    wrapped: bool = False


class HeldOnRank(Event, frozen=True, tag="held-on-rank"):
    """What one rank holds before the step number `steps` of an optimizer; only in a run with several ranks.

    `reduced` means that a wrapper was to reduce the gradients of this step: no `no_sync()` kept it from that.
    """

    step: int
    optimizer: int
    steps: int
    tensors: list[TensorHeld]
    reduced: bool = False


class GradientsReduced(Event, frozen=True, tag="gradients-reduced"):
    """How many backward passes led to one step of an optimizer, and in how many of them a wrapper reduced gradients.

    `bytes` is the size of the gradients that one reduction sends.
    """

    step: int
    backwards: int
    reduced: int
    bytes: int


AnyRankEvent = GradientsShared | HeldOnRank | GradientsReduced
