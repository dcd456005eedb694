"""What detectors ask of a crash: which tensors, which layer, the walk of shapes, and the finding that tells it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from torchwhy.detect.judging import short
from torchwhy.finding import Evidence, Finding, Fix, SourceSpan
from torchwhy.finding import Trial as FixTrial
from torchwhy.record.events import Crash, Layer, NamedTensor, Trial
from torchwhy.record.trace import Trace

STATIONS_SHOWN = 8  # of the walk of shapes: its beginning and its end
OPERANDS_SHOWN = 5


def crashes(trace: Trace) -> Iterator[Crash]:
    """Yield the exceptions that the program did not raise on purpose, oldest first."""
    for crash in trace.of(Crash):
        if crash.raised_by != "user":
            yield crash


def says(crash: Crash, pattern: str) -> re.Match[str] | None:
    """Return the match of a pattern in the exception's message."""
    return re.search(pattern, crash.message)


def finding_of(
    trace: Trace,
    crash: Crash,
    *,
    detector: str,
    message: str,
    evidence: Sequence[Evidence] = (),
    location: SourceSpan | None = None,
    fixes: Sequence[Fix] = (),
) -> Finding:
    """Return the finding for a crash with everything that is the same for all of them filled in."""
    where = location or crash.location
    facts = list(evidence)
    if crash.location is not None and where is not None and where.line != crash.location.line:
        facts.append(Evidence(f"it raised at {crash.location}: {expression_of(crash)}", location=crash.location))
    facts.append(Evidence(f"{crash.type}: {first_line(crash.message)}", step=crash.step))
    return Finding(
        detector=detector,
        severity="warning" if crash.caught else "error",
        message=message,
        step=crash.step,
        rank=trace.rank,
        location=where,
        evidence=tuple(facts),
        fixes=tuple(fixes),
        certainty="verified" if any(fix.trial.verdict == "cured" for fix in fixes) else "observed",
    )


def first_line(message: str) -> str:
    """Return the first line of an exception's message that says something."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    return short(lines[0]) if lines else "no message"


def expression_of(crash: Crash) -> str:
    """Return the user's failing expression on one line."""
    text = crash.location.expression if crash.location is not None else None
    return short(text) if text else (crash.op or "the failing line")


def size(tensor: NamedTensor) -> str:
    """Return a shape the way people write it: `64×1×28×28`, `scalar`."""
    return sizes(tensor.shape)


def sizes(shape: Sequence[int]) -> str:
    """Return numbers joined by ×; nothing is a scalar."""
    return "×".join(map(str, shape)) if shape else "scalar"


def tensor_line(tensor: NamedTensor) -> str:
    """Return a tensor in a few words: `x: float32 64×1568`."""
    words = f"{tensor.name}: {tensor.dtype} {size(tensor)}"
    if tensor.device != "cpu":
        words += f" on {tensor.device}"
    if tensor.minimum is not None and tensor.maximum is not None:
        words += f", values {tensor.minimum:g} to {tensor.maximum:g}"
    return words


def operand_evidence(crash: Crash) -> list[Evidence]:
    """Return one fact per tensor in the failing expression, with the place that made it."""
    shown = crash.operands or crash.inputs
    return [
        Evidence(tensor_line(tensor), location=tensor.made_by, step=crash.step) for tensor in shown[:OPERANDS_SHOWN]
    ]


def walk_evidence(crash: Crash) -> list[Evidence]:
    """Return the way of the data through the model as one fact, empty when it is not known."""
    if not crash.walk:
        return []
    stations = [f"{station.what} {sizes(station.shape)}" for station in crash.walk]
    if len(stations) > STATIONS_SHOWN:
        kept = STATIONS_SHOWN // 2
        stations = [*stations[:kept], "…", *stations[-kept:]]
    return [Evidence("shapes on the way: " + " → ".join(stations), step=crash.step)]


def layer_of(crash: Crash) -> Layer | None:
    """Return the innermost running module."""
    return crash.layers[-1] if crash.layers else None


def setting(layer: Layer, name: str) -> int | None:
    """Return a whole number a layer was made with."""
    value = layer.settings.get(name)
    return int(value) if isinstance(value, float) else None


def input_named(crash: Crash, *arguments: str) -> NamedTensor | None:
    """Return the first tensor that torch's own function knows by one of these names; the program's name before torch's."""
    for argument in arguments:
        for tensor in (*crash.operands, *crash.inputs):
            if tensor.argument == argument or tensor.name == argument:
                return tensor
    return None


def trials(crash: Crash, *kinds: str) -> list[Trial]:
    """Return the changes of these kinds that were tried, those that went through first."""
    found = [trial for kind in kinds for trial in crash.trials if trial.kind == kind]
    return sorted(found, key=lambda trial: not trial.worked)


def fix_of(trial: Trial) -> Fix:
    """Return a change that was tried as a fix: a patch where the edit is certain, an idea otherwise."""
    verdict = FixTrial(verdict="cured" if trial.worked else "no-difference")
    safety = "changes-results" if trial.diff else "show-only"
    return Fix(title=trial.change, diff=trial.diff, safety=safety, trial=verdict)  # type: ignore[arg-type]


def fixes_of(crash: Crash, *kinds: str) -> list[Fix]:
    """Return the changes of these kinds that went through."""
    return [fix_of(trial) for trial in trials(crash, *kinds) if trial.worked]


def idea(title: str) -> Fix:
    """Return advice that was not tried."""
    return Fix(title=title, safety="show-only")


def at(span: SourceSpan | None) -> str:
    """Return ` (line 12)`, with the file's name; nothing where the place is unknown."""
    return f" ({span.file}:{span.line})" if span is not None else ""


def with_line(location: SourceSpan, line: int) -> SourceSpan:
    """Return the same file at another line."""
    return replace(location, line=line, end_line=line, column=None, end_column=None, expression=None)
