from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.training.wrappers import only_wrapper
from torchwhy.detect.views.parameters.held_tensors import Compared, compared
from torchwhy.detect.views.parameters.trained_parameters import place_of
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Severity
from torchwhy.record.ranks.nodes import named
from torchwhy.record.trace import Trace

FEWEST_LOOKS = 2
SHOWN_NAMES = 3
BEFORE_WRAPPING = (
    "initialise or load the weights before wrapping the model: DistributedDataParallel copies those of rank 0 to all "
    "ranks when it is made, and never again"
)
BROADCAST = (
    "let all ranks begin with the weights of rank 0: wrap the model in DistributedDataParallel, or call "
    "`dist.broadcast(parameter.data, 0)` for each parameter and buffer"
)
CALL_WRAPPER = (
    "call the wrapper, `model(…)`, and not the module inside it, `model.module(…)`: only the wrapper's own forward "
    "pass prepares the averaging"
)
WRAP_THEM = (
    "put them into a module that DistributedDataParallel wraps, or average their gradients yourself: "
    "`dist.all_reduce(parameter.grad)`, divided by the number of ranks"
)


class Divergence(Diagnosis):
    """Ranks that train one model hold different weights."""

    names: list[str]
    count: int
    ranks: list[int]
    values: list[float]  # one element of the first parameter, on two ranks
    value_ranks: list[int]

    @property
    def difference(self) -> Evidence:
        """Return a number that differs."""
        one, other = self.value_ranks
        return Evidence(
            f"an element of `{self.names[0]}` is {self.values[0]:.4g} on rank {one} and {self.values[1]:.4g} on rank "
            f"{other}",
            value=self.values[1],
        )

    @property
    def who(self) -> str:
        """Return the ranks in words."""
        return named(self.ranks)

    @property
    def shown(self) -> str:
        """Return the first parameters, and how many more there are."""
        listed = ", ".join(f"`{name}`" for name in self.names)
        more = self.count - len(self.names)
        return f"{listed} and {more} more" if more > 0 else listed


class OtherStart(Divergence):
    """All ranks apply the same gradients, to weights that differed before the first step."""

    wrapped: bool
    message = "{who} apply the same gradients to different weights: those of {shown} differ before the first step"

    @property
    def remedies(self) -> tuple[str, ...]:
        if self.wrapped:
            return (BEFORE_WRAPPING,)
        return (BROADCAST,)

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            "the gradients of these parameters are equal on these ranks to the last bit: they are averaged"
        )
        yield self.difference


class OtherUpdates(Divergence):
    """Ranks began with equal weights and apply the same gradients, in different ways."""

    steps: int
    message = (
        "{who} make different updates from the same gradients: the weights of {shown} were equal before the first step "
        "and differ after {steps} steps"
    )
    advice = "make the optimizer alike on every rank: class, learning rate, loaded state and the steps at which it runs"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence("the gradients of these parameters are equal on these ranks to the last bit")
        yield self.difference


class OwnGradients(Divergence):
    """Parameters get the gradients of their own rank alone, while a wrapper averages others."""

    averaged: int
    steps: int
    wrapped: bool
    message = "{who} train {shown} apart: the weights were equal before the first step and differ after {steps} steps"

    @property
    def remedies(self) -> tuple[str, ...]:
        if self.wrapped:
            return (CALL_WRAPPER,)
        return (WRAP_THEM,)

    def evidence(self) -> Iterator[Evidence]:
        if self.wrapped:
            yield Evidence(
                "DistributedDataParallel holds these parameters, but each rank has gradients of its own"
            )
        else:
            yield Evidence(
                f"DistributedDataParallel averages the gradients of {self.averaged} other parameters; each rank has "
                "gradients of its own for these"
            )
        yield self.difference


class RankDivergence(Detector):
    """Ranks that train one model hold different weights."""

    name = "rank-divergence"

    def scan(self, trace: Trace) -> Iterator[Finding]:  # noqa: ARG002 - one rank alone does not show it
        yield from ()

    def compare(self, traces: Sequence[Trace]) -> Iterator[Finding]:
        if len({trace.world_size for trace in traces}) != 1:
            return
        for optimizer, parameters in compared(traces).items():
            every = [one for one in parameters.values() if len(one) >= FEWEST_LOOKS]
            first = traces[0]
            place = place_of(first, optimizer)
            diagnosis = _same_gradients(every) or _own_gradients(every)
            if diagnosis is None:
                continue
            is_wrapped = not isinstance(diagnosis, OtherUpdates)
            wrapper = only_wrapper(first) if is_wrapped else None
            severity: Severity = "warning" if isinstance(diagnosis, OwnGradients) else "error"
            yield self.found(first, diagnosis, severity=severity, step=0, location=wrapper or place)


def _same_gradients(every: list[list[Compared]]) -> Divergence | None:
    """Return the parameters whose gradients are averaged and whose weights differ all the same."""
    averaged = [
        looks
        for looks in every
        if all(one.gradients_equal for one in looks)
        and len({one.tensors[0].gradient for one in looks}) == len(looks)
    ]
    from_start = [looks for looks in averaged if all(one.weights_differ for one in looks)]
    if from_start:
        is_wrapped = all(one.is_wrapped for looks in from_start for one in looks)
        return OtherStart(**_shared_facts(from_start), wrapped=is_wrapped)
    later = [looks for looks in averaged if looks[0].weights_equal and looks[-1].weights_differ]
    if later:
        return OtherUpdates(**_shared_facts(later), steps=later[0][-1].steps)
    return None


def _own_gradients(every: list[list[Compared]]) -> Divergence | None:
    """Return the parameters that are trained apart although a wrapper averages gradients over all ranks."""
    apart = [
        looks
        for looks in every
        if looks[0].weights_equal
        and looks[-1].weights_differ
        and all(one.gradients_differ for one in looks)
    ]
    if not apart:
        return None
    wrapped = [looks for looks in every if all(one.is_wrapped for one in looks)]
    averaged = [looks for looks in wrapped if all(one.gradients_equal for one in looks)]
    inside = [looks for looks in apart if looks in wrapped and looks[-1].reduced]
    outside = [looks for looks in apart if looks not in wrapped]
    if inside and not averaged:
        return OwnGradients(
            **_shared_facts(inside), averaged=0, steps=inside[0][-1].steps, wrapped=True
        )
    if outside and averaged:
        return OwnGradients(
            **_shared_facts(outside),
            averaged=len(averaged),
            steps=outside[0][-1].steps,
            wrapped=False,
        )
    return None


def _shared_facts(found: list[list[Compared]]) -> dict[str, Any]:
    ranks, values = found[0][-1].example
    return {
        "values": list(values),
        "value_ranks": list(ranks),
        "names": [looks[0].name for looks in found[:SHOWN_NAMES]],
        "count": len(found),
        "ranks": sorted(found[0][0].ranks),
    }
