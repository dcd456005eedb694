from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.models import graphs
from torchwhy.detect.fixes.training import building
from torchwhy.detect.rules.beginner_messages import ADVICE
from torchwhy.detect.rules.message_kinds import BeginnersError, Unpacking
from torchwhy.detect.views.crash.crash_evidence import first_line, tensor_line
from torchwhy.detect.views.crash.crash_view import CrashView, crashes
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

VARIABLES_SHOWN = 4
# The program or the user raises these on purpose.
ENDINGS = ("KeyboardInterrupt", "SystemExit", "GeneratorExit")
# Lines in the message of `load_state_dict` begin like this.
KEYS = ("Missing key", "Unexpected key", "size mismatch for")


class Raised(Diagnosis):
    """An exception that no other cause explains; `known` is its name in the table of advice."""

    expression: str
    layer: str | None
    type: str
    torch_says: str
    in_worker: bool
    known: str | None
    message = "`{expression}`{where} raised {type}{worker}: {torch_says}"

    @property
    def where(self) -> str:
        """Return a clause with the layer."""
        return f" in `{self.layer}`" if self.layer is not None else ""

    @property
    def worker(self) -> str:
        """Return a clause if a worker process raised it."""
        return " in a worker process of the DataLoader" if self.in_worker else ""

    @property
    def remedies(self) -> tuple[str, ...]:
        return (ADVICE[self.known],) if self.known is not None else ()


class NothingReturned(Raised):
    """A `forward` ends without a `return`."""

    module: str
    message = "`{module}` returns None, because its forward ends without a `return`, so `{expression}` gets None"

    @property
    def remedies(self) -> tuple[str, ...]:
        return ("return the result at the end of `forward`: `return …`", *super().remedies)


class SampleIsNone(Raised):
    """The dataset returned None for a sample."""

    index: int
    message = (
        "sample {index} of the dataset is None, so the DataLoader cannot build a batch from it"
    )


class KeyMissing(Raised):
    """A sample of the dataset has no value for a key that another sample has."""

    index: int
    key: str
    first_index: int
    message = (
        "sample {index} of the dataset has no {key}, but sample {first_index} has it, so the DataLoader cannot "
        "build a batch from them"
    )


class BatchNotMade(Raised):
    """A DataLoader could not build a batch from its samples."""

    message = "the DataLoader could not build a batch from its samples: {type}: {torch_says}"


class WronglyUnpacked(Raised):
    """The loop over a DataLoader unpacks a batch into a different number of parts than it has."""

    parts: list[str]
    wanted: int
    message = "a batch of this DataLoader has {count} {noun} ({shown}), but `{expression}` unpacks {wanted}"

    @property
    def count(self) -> int:
        """Return the number of parts of a batch."""
        return len(self.parts)

    @property
    def noun(self) -> str:
        """Return `part` or `parts`."""
        return "part" if self.count == 1 else "parts"

    @property
    def shown(self) -> str:
        """Return the parts in words."""
        return ", ".join(self.parts)


class UnexplainedError(Detector):
    """The program ended with an exception that no other page explains."""

    name = "unexplained-error"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            is_ending = crash.event.type in ENDINGS
            if is_ending or not _concerns_torch(crash) or crash.fact("hidden_in") is not None:
                continue
            yield crash.finding(
                self.name,
                diagnosed(crash),
                evidence=[*_tensors(crash), *crash.walk_evidence],
                location=crash.place("forward"),
            )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        match finding.diagnosis:
            case Raised(known="numpy-of-graph"):
                yield from graphs.read_without_graph(finding.location, source)
            case Raised(known="numpy-of-bfloat16"):
                yield from graphs.read_as_float(finding.location, source)
            case Raised(known="before-module-init"):
                yield from building.initialised(finding.location, source)


def _concerns_torch(crash: CrashView) -> bool:
    """Tell whether the exception involves tensors, modules, a DataLoader or torch itself."""
    event = crash.event
    if event.raised_by == "torch" or event.worker is not None or event.layers:
        return True
    if _is_at_loader(crash) or crash.fact("returns_nothing") is not None:
        return True
    return bool(crash.tensors or "index" in event.facts)


def diagnosed(crash: CrashView) -> Raised:
    """Return what is known about an exception that no other cause explains."""
    event, layer = crash.event, crash.layer
    common: dict[str, Any] = {
        "expression": crash.expression,
        "layer": layer.path if layer is not None else None,
        "type": event.type,
        "torch_says": _words(event.message),
        "in_worker": event.worker is not None,
        "known": crash.said.name if isinstance(crash.said, BeginnersError) else None,
    }
    index, key, module = (
        crash.count("index"),
        crash.fact("missing_key"),
        crash.fact("returns_nothing"),
    )
    if index is not None and crash.has("is_none"):
        return SampleIsNone(**common, index=index)
    if index is not None and key is not None:
        first = crash.count("first_index")
        return KeyMissing(**common, index=index, key=key, first_index=first or 0)
    if "indices" in event.facts and not crash.has("data_code"):
        return BatchNotMade(**{**common, "torch_says": first_line(event.message)})
    if _is_at_loader(crash) and event.loader is not None and isinstance(crash.said, Unpacking):
        return WronglyUnpacked(**common, parts=event.loader.last_batch, wanted=crash.said.wanted)
    return Raised(**common) if module is None else NothingReturned(**common, module=module)


def _words(message: str) -> str:
    """Return the first line of the message, or the keys if it lists keys that do not fit."""
    lines = [line.strip() for line in message.splitlines()]
    keys = [line for line in lines if line.startswith(KEYS)]
    return first_line("; ".join(keys)) if keys else first_line(message)


def _is_at_loader(crash: CrashView) -> bool:
    """Tell whether the loop over a DataLoader unpacks a batch into a different number of parts than it has."""
    loader, raised = crash.event.loader, crash.event.location
    if not isinstance(crash.said, Unpacking) or loader is None or raised is None:
        return False
    return loader.location is not None and loader.location.line == raised.line


def _tensors(crash: CrashView) -> list[Evidence]:
    """Return the tensors of the failing expression, or those of its frame if it has none."""
    found = crash.operand_evidence
    if found or not crash.event.frames:
        return found
    tensors = crash.event.frames[-1].tensors[:VARIABLES_SHOWN]
    return [Evidence(tensor_line(tensor)) for tensor in tensors]
