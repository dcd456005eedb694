from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.models import checkpoints, graphs
from torchwhy.detect.fixes.training import building
from torchwhy.detect.rules.message_kinds import (
    BeginnersError,
    ChildFailed,
    ConstraintViolated,
    LateDeviceError,
    MissingModule,
    OutsideSupport,
    PeerLost,
    Unpacking,
    UnreadableFile,
)
from torchwhy.detect.views.crash.crash_evidence import first_line, tensor_line
from torchwhy.detect.views.crash.crash_view import CrashView, crashes
from torchwhy.detect.views.crash.raised_errors import (
    BatchNotMade,
    ChildEnded,
    ExtraMissing,
    FileUnreadable,
    GradientIsNone,
    KeyMissing,
    LostPeer,
    NothingReturned,
    Raised,
    RefusedByDistribution,
    ReportedLate,
    SampleIsNone,
    ScheduleFromZero,
    WrongBuild,
    WronglyUnpacked,
    last_answer,
)
from torchwhy.detect.views.crash.refused_arguments import refused
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import NamedTensor
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source
from torchwhy.source.values import operand_names

VARIABLES_SHOWN = 4
# The program or the user raises these on purpose.
ENDINGS = ("KeyboardInterrupt", "SystemExit", "GeneratorExit")
# Messages of Python's that name a method of torch's.
OF_TORCHS_API = ("metric-for-schedule", "state-for-model", "attribute-of-subset")
# Their message names the file.
FILES = (
    "FileNotFoundError",
    "PermissionError",
    "IsADirectoryError",
    "NotADirectoryError",
    "OSError",
)


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
        yield from checkpoints.not_reentrant(source)
        match finding.diagnosis:
            case Raised(known="numpy-of-graph"):
                yield from graphs.read_without_graph(finding.location, source)
            case Raised(known="numpy-of-bfloat16"):
                yield from graphs.read_as_float(finding.location, source)
            case Raised(known="before-module-init"):
                yield from building.initialised(finding.location, source)


def _concerns_torch(crash: CrashView) -> bool:
    """Tell whether torch raised the exception, or whether it involves a DataLoader, or tensors in a library."""
    event = crash.event
    if _is_at_loader(crash) or crash.fact("returns_nothing") is not None:
        return True
    if "unpacked_shape" in event.facts or _is_of_torchs_api(crash):
        return True
    if _without_gradient(crash) is not None or _counter_at_zero(crash) is not None:
        return True
    if event.raised_by == "python":
        # The traceback of plain Python says it all, but not for which sample of a dataset.
        return "index" in event.facts and event.type not in FILES
    if event.raised_by == "torch" or event.worker is not None or event.layers:
        return True
    return bool(crash.tensors or "index" in event.facts)


def _is_of_torchs_api(crash: CrashView) -> bool:
    """Tell whether Python's message names a method of torch's that the table of advice knows."""
    match crash.said:
        case BeginnersError(name=name):
            return name in OF_TORCHS_API
    return False


def diagnosed(crash: CrashView) -> Raised:
    """Return what is known about an exception that no other cause explains."""
    event, layer = crash.event, crash.layer
    common: dict[str, Any] = {
        "expression": crash.expression,
        "layer": layer.path if layer is not None else None,
        "type": event.type,
        "torch_says": first_line(event.message),
        "in_worker": event.worker is not None,
        "known": None,
    }
    if isinstance(said := crash.said, BeginnersError):
        common |= {"known": said.name, "one": said.one, "other": said.other}
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
    if module is not None:
        return NothingReturned(**common, module=module)
    if (tensor := _without_gradient(crash)) is not None:
        return GradientIsNone(
            **common,
            tensor=tensor.name,
            made_by=tensor.graph,
            requires_grad=tensor.requires_grad,
        )
    if (counter := _counter_at_zero(crash)) is not None:
        return ScheduleFromZero(**common, schedule=crash.fact("schedule") or "", counter=counter)
    return _of_message(crash, common) or refused(crash, common) or Raised(**common)


def _without_gradient(crash: CrashView) -> NamedTensor | None:
    """Return the tensor whose gradient is None if the program uses an attribute of that gradient."""
    if crash.event.type != "AttributeError" or not crash.event.message.startswith("'NoneType'"):
        return None
    gradient = (crash.written or "").rpartition(".")[0]
    seen = crash.event.frames[-1].tensors if crash.event.frames else []
    return next((tensor for tensor in seen if f"{tensor.name}.grad" == gradient), None)


def _counter_at_zero(crash: CrashView) -> str | None:
    """Return the variable that is 0 in a division by zero of a function that a schedule calls."""
    event = crash.event
    if event.type != "ZeroDivisionError" or crash.fact("schedule") is None or not event.frames:
        return None
    numbers = event.frames[-1].numbers
    return next((name for name in operand_names(crash.syntax) if numbers.get(name) == 0), None)


def _of_message(crash: CrashView, common: dict[str, Any]) -> Raised | None:
    """Return what is known about an exception whose message says more than its line."""
    is_checkpoint = crash.fact("checkpoint") is not None
    # Of an empty file torch says nothing.
    if isinstance(crash.said, UnreadableFile) or (crash.event.type == "EOFError" and is_checkpoint):
        return FileUnreadable(
            **common,
            file=crash.fact("checkpoint"),
            size=crash.count("checkpoint_bytes"),
            begins=crash.fact("checkpoint_begins") or None,
        )
    match crash.said:
        case PeerLost():
            return LostPeer(**common)
        case ChildFailed(number=number):
            return ChildEnded(**common, number=number)
        case LateDeviceError(name="no-kernel"):
            return WrongBuild(**common, failure="no-kernel")
        case LateDeviceError(name=failure, switch=switch):
            last, silent_at = last_answer(crash.trace)
            return ReportedLate(
                **common,
                failure=failure,
                switch=switch,
                answered_at_step=last,
                silent_at=silent_at,
            )
        case MissingModule(module=module) if (part := crash.fact("importing")) is not None:
            return ExtraMissing(**common, part=part, package=module.partition(".")[0])
        case ConstraintViolated() | OutsideSupport() if (
            argument := crash.fact("refused")
        ) is not None:
            return RefusedByDistribution(
                **common,
                distribution=crash.fact("refused_by") or "the distribution",
                argument=argument,
                constraint=crash.fact("refused_constraint") or "a constraint",
                count=crash.count("refused_count") or 0,
                of=crash.count("refused_of") or 0,
                each=crash.count("refused_each") or 1,
                nonfinite=crash.count("refused_nonfinite") or 0,
                minimum=crash.real("refused_minimum"),
                maximum=crash.real("refused_maximum"),
            )
    return None


def _is_at_loader(crash: CrashView) -> bool:
    """Tell whether the loop over a DataLoader unpacks a batch into a different number of parts than it has."""
    loader, raised = crash.event.loader, crash.event.location
    if not isinstance(crash.said, Unpacking) or loader is None or raised is None:
        return False
    return loader.location is not None and loader.location.line == raised.line


def _tensors(crash: CrashView) -> list[Evidence]:
    """Return the tensors of the failing expression, or those of its frame if it has none."""
    is_known = isinstance(crash.said, BeginnersError)
    if is_known and not crash.event.operands:
        return []  # The advice says it all; the variables of the frame do not matter to it.
    found = crash.operand_evidence
    if found or not crash.event.frames:
        return found
    tensors = crash.event.frames[-1].tensors[:VARIABLES_SHOWN]
    return [Evidence(tensor_line(tensor)) for tensor in tensors]
