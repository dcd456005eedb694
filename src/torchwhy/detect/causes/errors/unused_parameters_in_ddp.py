from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.training.wrappers import OPTION, search_unused, wrapper_calls
from torchwhy.detect.rules.message_kinds import Unreduced
from torchwhy.detect.views.crash.crash_view import CrashView, crashes
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

USE = "let the loss depend on them in every step, or remove them; freeze what shall not train: `requires_grad_(False)`"
SEARCH = (
    f"if some steps leave them out on purpose, wrap the model with `{OPTION}=True`: DistributedDataParallel then "
    "searches the graph for unused parameters in every step"
)
OUTPUTS = (
    f"the wrapper has `{OPTION}=True`, but finds only tensors in tuples, lists and dicts: return the outputs of "
    "`forward` in these, and compute the loss from all of them"
)


class NeverReduced(Diagnosis):
    """DistributedDataParallel waits for gradients of parameters that the loss did not depend on."""

    parameters: str
    count: int
    of: int
    searches: bool
    message = "the last backward pass gave no gradient for {shown}, for which DistributedDataParallel waits"

    @property
    def shown(self) -> str:
        """Return the first parameters, and how many more there are."""
        names = self.parameters.split(", ")
        more = self.count - len(names)
        listed = ", ".join(f"`{name}`" for name in names)
        return f"{listed} and {more} more parameters" if more > 0 else listed

    @property
    def remedies(self) -> tuple[str, ...]:
        return (USE, OUTPUTS) if self.searches else (USE, SEARCH)

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(f"{self.count} of {self.of} parameters got no gradient in the last step")


class UnusedParametersInDdp(Detector):
    """The loss does not depend on parameters that DistributedDataParallel expects to train."""

    name = "unused-parameters-in-ddp"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            parameters = crash.fact("unreduced")
            if not isinstance(crash.said, Unreduced) or parameters is None:
                continue
            diagnosis = NeverReduced(
                parameters=parameters,
                count=crash.count("unreduced_count") or 0,
                of=crash.count("reduced_count") or 0,
                searches=crash.has("finds_unused"),
            )
            yield crash.finding(
                self.name,
                diagnosis,
                location=crash.place("unreduced"),
                evidence=_where_wrapped(crash),
            )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:  # noqa: ARG002 - the contract's
        yield from search_unused(source)


def _where_wrapped(crash: CrashView) -> Iterator[Evidence]:
    made = [
        source.span(call) for source in crash.trace.files.values() for call in wrapper_calls(source)
    ]
    if len(made) == 1:
        yield Evidence(f"the model is wrapped by `{made[0].expression}`", location=made[0])
