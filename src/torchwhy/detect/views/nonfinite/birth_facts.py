"""Queries on births, and the finding for a birth."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace

from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import (
    Certainty,
    Evidence,
    Finding,
    Fix,
    Sample,
    Scope,
    Severity,
    SourceSpan,
    advice_of,
)
from torchwhy.record.events import Birth, Operand, SampleTried, TensorFacts
from torchwhy.record.numbers import Real, decode, encode
from torchwhy.record.trace import Trace


def op_name(birth: Birth) -> str:
    """Return `log` for `aten.log.default`, `div` for `aten.div_.Tensor`."""
    parts = birth.op.split(".")
    name = parts[1] if len(parts) > 1 else parts[0]
    return (
        name.rstrip("_")
        if not name.startswith("_foreach")
        else name.removeprefix("_foreach_").rstrip("_")
    )


def all_births(trace: Trace) -> list[Birth]:
    """Return every birth of the rerun, or else of the run, in order of appearance, absorbed ones included."""
    source = trace.rerun if trace.rerun is not None and trace.rerun.of(Birth) else trace
    return sorted(source.of(Birth), key=lambda birth: (birth.step, birth.order))


def counted_births(trace: Trace) -> list[Birth]:
    """Return the births that the causes judge: those that spoiled something by themselves.

    Excluded are forward births that a mask hides and that return only as the gradient of the hidden branch (that
    gradient is the finding), and gradients of operations whose own result was bad already (their echoes). Included
    are births that forward absorbs (1 / inf is 0) and that return in backward without a mask: they are the cause.
    """
    hidden: set[int] = set()
    revived: set[int] = set()
    for birth in trace.births:
        if birth.forward is not None:
            (hidden if birth.forward.hidden_by is not None else revived).update(
                birth.forward.births
            )
        if birth.kind == "from-infinity":
            revived.update(birth.parents)
    echoes = {echo.id for echo in backward_echoes(trace)}
    return [
        birth
        for birth in all_births(trace)
        if birth.id not in echoes
        and (
            (birth.reaches and (birth.id not in hidden or "loss" in birth.reaches))
            or (not birth.reaches and birth.kind == "operation" and birth.id in revived - hidden)
        )
    ]


def backward_echoes(trace: Trace) -> list[Birth]:
    """Return the backward births of operations whose own result was bad and not masked."""
    births = all_births(trace)
    in_forward = {birth.id for birth in births if birth.node is None and birth.kind != "source"}
    return [
        birth
        for birth in births
        if birth.node is not None
        and birth.forward is not None
        and birth.forward.hidden_by is None
        and not in_forward.isdisjoint(birth.forward.births)
    ]


def echoes_of(trace: Trace, birth: Birth) -> list[int]:
    """Return the backward births that only repeat this forward birth."""
    return [
        echo.id
        for echo in backward_echoes(trace)
        if echo.forward is not None and birth.id in echo.forward.births
    ]


def operations(trace: Trace, *names: str) -> Iterator[Birth]:
    """Yield the births in forward or data code whose operation is one of `names`."""
    for birth in counted_births(trace):
        if birth.kind == "operation" and birth.node is None and op_name(birth) in names:
            yield birth


def tensors(birth: Birth) -> list[Operand]:
    """Return the operands that are tensors, in argument order."""
    return [operand for operand in birth.operands if operand.tensor is not None]


def value_at_born(operand: Operand) -> float | None:
    """Return the operand's value at the first bad element: its scalar, or the tensor's element there."""
    value: Real | None = operand.scalar if operand.scalar is not None else operand.at_born
    return None if value is None else decode(value)


def describe(facts: TensorFacts) -> str:
    """Return a tensor in one line: `float32[32, 10] in -0.2…3.1e5, 3 NaN, first at [7, 2]`."""
    text = f"{facts.dtype}[{', '.join(map(str, facts.shape))}]"
    if facts.minimum is not None and facts.maximum is not None:
        text += f" in {facts.minimum:.4g}…{facts.maximum:.4g}"
    for count, word in (
        (facts.nan, "NaN"),
        (facts.positive_infinity, "+inf"),
        (facts.negative_infinity, "-inf"),
    ):
        if count:
            text += f", {count} {word}"
    if facts.first_bad_index:
        text += f", first at {facts.first_bad_index}"
    return text


def certainty_of(trace: Trace, birth: Birth) -> Certainty:
    """Return `replayed` if the failing step was repeated and reproduced the failure."""
    replay = trace.replay_of(birth.step)
    if replay is not None and replay.how != "first-step" and replay.reproduced:
        return "replayed"
    return "observed"


def sample_of(birth: Birth) -> Sample | None:
    """Return the sample of the first bad element, if the batch dimension is known."""
    if not birth.positions:
        return None
    index = birth.dataset_indices[0] if birth.dataset_indices else None
    return Sample(
        birth.positions[0],
        index,
        birth.rows_of if index is not None else None,
        more=len(birth.positions) - 1,
    )


def finding_from(
    trace: Trace,
    birth: Birth,
    *,
    detector: str,
    diagnosis: Diagnosis,
    evidence: Iterable[Evidence] = (),
    location: SourceSpan | None = None,
) -> Finding:
    """Return the finding for one birth, with the evidence that every birth has.

    Its place is the expression of the birth unless `location` names another.
    """
    facts = (
        *_frames(birth),
        *diagnosis.evidence(),
        *evidence,
        *common_evidence(trace, birth),
    )
    if location is not None:  # The operands are those of another expression.
        facts = tuple(replace(one, label=None) for one in facts)
    makes_steps = birth.used is None
    return Finding(
        detector=detector,
        severity=severity_of(trace, birth),
        diagnosis=diagnosis,
        step=birth.step if makes_steps else None,
        rank=trace.rank,
        location=location or birth.location,
        evidence=facts if makes_steps else tuple(replace(one, step=None) for one in facts),
        fixes=advice_of(diagnosis) if inside_of(birth) is None else _advice_inside(birth),
        scope=scope_of(trace, birth),
        certainty=certainty_of(trace, birth),
        sample=sample_of(birth),
        births=(birth.id, *echoes_of(trace, birth)),
        is_in_library=location is None and inside_of(birth) is not None,
    )


def inside_of(birth: Birth) -> SourceSpan | None:
    """Return the expression of a library, or of torch, that a call of the program led to; None if it is its own."""
    if birth.node is not None and birth.forward is not None and birth.inside is None:
        return birth.forward.inside
    return birth.inside


def _frames(birth: Birth) -> Iterator[Evidence]:
    """Yield the frame in a library that issued the operation; the program's is the place of the finding."""
    inside = inside_of(birth)
    if inside is not None:
        yield Evidence(f"it ran {inside.expression or birth.op}", step=birth.step, location=inside)


def _advice_inside(birth: Birth) -> tuple[Fix, ...]:
    """Return what to do about an operation that is not in the program's own code."""
    inside, call = inside_of(birth), birth.location
    package = inside.file.partition("/")[0] if inside is not None else "the library"
    given = f" `{call.expression}`" if call is not None and call.expression else " the call"
    title = f"look at what{given} passes to {package}, and how large its parameters have become"
    return (Fix(title, safety="show-only"),)


def severity_of(trace: Trace, birth: Birth) -> Severity:
    """Return the severity of a bad value.

    The average over a class that is absent, among finite ones of an evaluation, is a note. Without training it is an
    error if a model gave it, and a warning if a result is nothing but NaN or if NaN was saved. The average of nothing,
    an infinity, and NaN among good numbers may be what the program means: notes.
    """
    is_of_nothing = birth.of_counts or birth.reduced == 0
    alarm = next(iter(trace.alarms), None)
    if alarm is not None and alarm.what == "evaluation" and alarm.among_finite and is_of_nothing:
        return "note"
    if birth.used is None or birth.used == "output":
        return "error"
    return "warning" if birth.used in ("nan", "saved") and not is_of_nothing else "note"


def scope_of(trace: Trace, birth: Birth) -> Scope:
    """Return what a birth affects: only values that the program evaluates, or training."""
    alarm = next(iter(trace.alarms), None)
    only_read = (
        bool(birth.reaches)
        and alarm is not None
        and (alarm.what == "evaluation" or alarm.untrained)
    )
    return "evaluation" if only_read else "training"


def common_evidence(trace: Trace, birth: Birth) -> list[Evidence]:
    """Return the evidence that every birth has: its result, what it reached, and the trials of its samples."""
    facts = []
    if birth.output is not None:
        what = "the tensor" if birth.kind == "source" else "result"
        facts.append(
            Evidence(f"{what}: {describe(birth.output)}", value=birth.value, step=birth.step)
        )
    alarm = next(iter(trace.alarms), None)
    if alarm is not None and not alarm.untrained and scope_of(trace, birth) == "evaluation":
        facts.append(
            Evidence(
                "it reached a loss or error that the evaluation reads; the training losses are finite",
                step=alarm.step,
                location=alarm.location,
            )
        )
    elif birth.reaches:
        facts.append(Evidence(f"it reached: {', '.join(birth.reaches[:4])}", step=birth.step))
    facts += _replaced_samples([t for t in trace.of(SampleTried) if t.position in birth.positions])
    return facts


def _replaced_samples(trials: list[SampleTried]) -> Iterator[Evidence]:
    """Yield what became of the step when one sample was replaced: an evidence per result."""
    for cured, verdict in ((True, "the step is finite"), (False, "the step still fails")):
        alike = [trial for trial in trials if trial.cured == cured]
        if not alike:
            continue
        positions = ", ".join(str(trial.position) for trial in alike)
        which = f"sample {positions}" if len(alike) == 1 else f"any one of samples {positions}"
        yield Evidence(f"with {which} replaced by a neighbour, {verdict}", step=alike[0].step)


def show(value: float | None) -> str:
    """Return a number with up to six digits, nine if six would make it 1 or -1; `?` if it is unknown."""
    if value is None:
        return "?"
    is_hidden = math.isfinite(value) and float(f"{value:.6g}") in (-1.0, 1.0) and abs(value) != 1
    return f"{value:.9g}" if is_hidden else f"{value:.6g}"


def as_real(value: float | None) -> Real | None:
    """Return a number as `Evidence.value` holds it."""
    return None if value is None else encode(value)
