"""What detectors ask of a crash: which tensors, which layer, the walk of shapes, and the finding that tells it."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterable, Iterator, Sequence

from torchwhy.detect.views.nonfinite.judging import short
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix, Sample, Severity, SourceSpan, Trial, advice_of
from torchwhy.record.events import Crash, Layer, ModuleCalled, NamedTensor, OperandTrial
from torchwhy.record.trace import Trace

STATIONS_SHOWN = 8  # of the walk of shapes: its beginning and its end
OPERANDS_SHOWN = 5
BATCHED_MODEL = "add-batch-to-model"  # the trial of the whole model on a batch of one
INDICES_SHOWN = 8
LONGEST_MESSAGE = 160  # of torch's own words: two lines of a terminal


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
    message: str = "",
    diagnosis: Diagnosis | None = None,
    evidence: Iterable[Evidence] = (),
    location: SourceSpan | None = None,
    fixes: Sequence[Fix] = (),
    sample: Sample | None = None,
) -> Finding:
    """Return the finding for a crash with everything that is the same for all of them filled in.

    `fixes` stand before the advice of the diagnosis.
    """
    where = location or crash.location
    facts = [*(diagnosis.evidence() if diagnosis is not None else ()), *evidence]
    advice = advice_of(diagnosis) if diagnosis is not None else ()
    if crash.location is not None and where is not None and where.line != crash.location.line:
        facts.append(Evidence(f"it raised at {crash.location}: {expression_of(crash)}"))
    if crash.caught:
        facts.insert(0, caught_evidence(trace, crash))
    facts += loader_evidence(crash)
    facts.append(Evidence(f"{crash.type}: {first_line(crash.message)}", step=crash.step))
    return Finding(
        detector=detector,
        severity=severity_of(trace, crash),
        message=message,
        diagnosis=diagnosis,
        step=crash.step,
        rank=trace.rank,
        location=where,
        evidence=tuple(facts),
        fixes=(*fixes, *advice),
        sample=sample,
        crash=next(place for place, one in enumerate(trace.of(Crash)) if one is crash),
        scope="lost-batches" if crash.caught else "training",
    )


def loader_evidence(crash: Crash) -> Iterator[Evidence]:
    """Say which sample of the dataset it came with, and that it was in a worker process."""
    index, indices = crash.facts.get("index"), crash.facts.get("indices")
    if isinstance(index, float):
        what = f"sample {index:g} of the dataset"
        is_none = bool(crash.facts.get("is_none"))
        yield Evidence(f"{what} is None" if is_none else f"it came with {what}", value=index)
    elif isinstance(indices, list) and indices:
        shown = ", ".join(map(str, indices[:INDICES_SHOWN])) + (
            " …" if len(indices) > INDICES_SHOWN else ""
        )
        yield Evidence(f"it came while a batch of the samples {shown} was made")
    if crash.worker is not None:
        yield Evidence("it was raised in a worker process of the DataLoader")


def severity_of(trace: Trace, crash: Crash) -> Severity:
    """Return how bad it is: an exception that the program caught is an error if training did not happen for it."""
    if not crash.caught:
        return "error"
    return "error" if crash.times > len(trace.steps) else "warning"


def caught_evidence(trace: Trace, crash: Crash) -> Evidence:
    """Say that the program went on, and what became of training."""
    times = "once" if crash.times == 1 else f"{crash.times} times"
    if not trace.steps:
        result = "and no optimizer step was ever made"
    else:
        result = "and the batch was lost each time" if crash.times > 1 else "and the batch was lost"
    return Evidence(
        f"the program caught the exception and went on, {times} as far as seen, {result}",
        value=float(crash.times),
    )


def first_line(message: str) -> str:
    """Return the first line of an exception's message that says something."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    if not lines:
        return "no message"
    return lines[0] if len(lines[0]) <= LONGEST_MESSAGE else lines[0][: LONGEST_MESSAGE - 1] + "…"


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
        Evidence(tensor_line(tensor), location=tensor.made_by, step=crash.step)
        for tensor in shown[:OPERANDS_SHOWN]
    ]


def walk_evidence(crash: Crash) -> list[Evidence]:
    """Return the way of the data through the model as one fact, empty when it is not known."""
    if len(crash.walk) < 2:
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
    """Return the first tensor that torch's own function knows by one of these names."""
    for argument in arguments:
        for tensor in (*crash.operands, *crash.inputs):
            if argument in (tensor.argument, tensor.name):
                return tensor
    return None


def trials(crash: Crash, *kinds: str) -> list[OperandTrial]:
    """Return the changes of these kinds that were tried, those that went through first."""
    found = [trial for kind in kinds for trial in crash.trials if trial.kind == kind]
    return sorted(found, key=lambda trial: not trial.worked)


def fix_of(trial: OperandTrial) -> Fix:
    """Return a change that was tried as a fix: a patch where the edit is certain, an idea otherwise."""
    verdict = Trial(verdict="cured" if trial.worked else "no-difference")
    safety = "changes-results" if trial.diff else "show-only"
    return Fix(title=trial.change, diff=trial.diff, safety=safety, trial=verdict)  # type: ignore[arg-type]


def fixes_of(crash: Crash, *kinds: str) -> list[Fix]:
    """Return the changes of these kinds that went through."""
    found = [trial for trial in trials(crash, *kinds) if trial.worked]
    return [fix_of(trial) for trial in sorted(found, key=lambda trial: not trial.diff)]


def idea(title: str) -> Fix:
    """Return advice that was not tried."""
    return Fix(title=title, safety="show-only")


def at(span: SourceSpan | None) -> str:
    """Return ` (line 12)`, with the file's name; nothing where the place is unknown."""
    return f" ({span.file}:{span.line})" if span is not None else ""


def layer_words(layer: Layer) -> str:
    """Return a layer the way its author wrote it: `model.out = nn.Linear(1050, 10)`."""
    written = layer.made_at.expression if layer.made_at is not None else None
    return f"{layer.path}, {short(written)}" if written else f"{layer.path}, {layer.text}"


def layer_input(crash: Crash) -> tuple[str, NamedTensor | None]:
    """Return what the innermost layer was given, and the program's name for it if it has one."""
    name = crash.facts.get("layer_input_name")
    for tensor in crash.operands:
        if tensor.name == name:
            return tensor.name, tensor
    if "layer_input" not in crash.facts:
        return "its input", None
    shape = crash.facts.get("layer_input")
    same = [tensor for tensor in crash.inputs if tensor.shape == shape]
    return "its input", same[0] if same else None


def blamed_constructor(crash: Crash, layer: Layer) -> SourceSpan | None:
    """Return the constructor of a layer; if its number comes through a parameter, the call that gives the number."""
    made = layer.made_at
    resize = trials(crash, "resize-layer")
    written = resize[0].location if resize else None
    if written is None or made is None:
        return made
    is_inside = made.file == written.file and made.line <= written.line <= (
        made.end_line or made.line
    )
    return made if is_inside else written


def favoured(
    crash: Crash, layer: Layer, reshaped: Sequence[OperandTrial], *, noun: str
) -> list[Evidence]:
    """Say which of two plausible cures, another layer or other data, the evidence favours."""
    if reshaped and trials(crash, "resize-layer"):
        return [
            Evidence(
                f"{reshaped[0].change} makes the data fit {layer.path} exactly, so the shape of the data is "
                "likelier wrong than the size of the layer"
            )
        ]
    if len(crash.walk) == 1 and crash.facts.get("layer_input") == crash.walk[0].shape:
        return [
            Evidence(
                f"{layer.path} is the first layer: if the data should have other {noun}, mend the data instead"
            )
        ]
    return []


def is_loss(crash: Crash) -> bool:
    """Tell whether the failing call compares an output with a target."""
    layer = layer_of(crash)
    if layer is not None and layer.kind.endswith("Loss"):
        return True
    return any(tensor.argument == "target" for tensor in crash.operands) or "_loss" in (
        crash.op or ""
    )


def is_without_batch(crash: Crash) -> bool:
    """Tell whether a loss was given the scores of a single sample: a vector against one label."""
    if says(crash, r"size mismatch \(got input: \[\d+\], target: \[1\]\)"):
        return True
    output, target = input_named(crash, "input", "self"), input_named(crash, "target")
    if output is None or target is None or not is_loss(crash):
        return False
    return (
        len(output.shape) == 1
        and math.prod(target.shape) == 1 != output.shape[0]
        and crash.type == "ValueError"
    )


def loss_expression(crash: Crash) -> SourceSpan | None:
    """Return the expression that computed the loss, where it was `loss.backward()` that raised; else None."""
    text = crash.location.expression if crash.location is not None else None
    if text is None or ".backward(" not in text or not crash.operands:
        return None
    return crash.operands[0].made_by


def is_about_labels(crash: Crash) -> bool:
    """Tell whether a number type is refused because it is that of a loss's labels."""
    if says(
        crash, r"expected target dtype|target with class probabilities|one_hot is only applicable"
    ):
        return True
    if not (is_loss(crash) or loss_expression(crash) is not None):
        return False
    if says(crash, r"Found dtype Double but expected") or any(
        one.worked for one in trials(crash, "swap-arguments")
    ):
        return False
    target = input_named(crash, "target")
    if (
        target is not None
        and target.dtype.startswith("float")
        and says(crash, r"expected scalar type Float")
    ):
        return False
    return bool(
        says(
            crash,
            r"Found dtype \w+ but expected|expected scalar type \w+ but found|can't be cast to the desired output type|"
            r"not implemented for '",
        )
    )


def is_product(crash: Crash) -> bool:
    """Tell whether the failing expression itself is a product of matrices."""
    text = crash.location.expression if crash.location is not None else None
    names = ("matmul", "bmm", "mm", "einsum", "baddbmm", "addmm", "dot", "mv")
    try:
        node = ast.parse((text or "").strip(), mode="eval").body
    except SyntaxError:
        return False
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.MatMult)
    called = node.func if isinstance(node, ast.Call) else None
    name = (
        called.attr
        if isinstance(called, ast.Attribute)
        else called.id
        if isinstance(called, ast.Name)
        else ""
    )
    return name in names


def is_in_loader(crash: Crash) -> bool:
    """Tell whether a DataLoader failed to make a batch in code of its own; the user's dataset is code as any other."""
    return (bool(crash.facts.get("in_loader")) or crash.worker is not None) and not crash.facts.get(
        "data_code"
    )


def changed_batch(crash: Crash) -> tuple[int, int] | None:
    """Return the usual and the present number of rows where the batch in hand is smaller or larger than usual."""
    if crash.loader is None:
        return None
    usual, last = (_rows(shapes) for shapes in (crash.loader.usual_batch, crash.loader.last_batch))
    return (usual, last) if usual is not None and last is not None and usual != last else None


def _rows(shapes: Sequence[str]) -> int | None:
    """Return the first size in `batch[0] float32[32, 10]`."""
    found = re.search(r" \w+\[(\d+)", shapes[0]) if shapes else None
    return int(found[1]) if found else None


def is_ragged_last(crash: Crash, *numbers: int) -> bool:
    """Tell whether two sizes that do not fit are the usual and the present batch size."""
    changed = changed_batch(crash)
    return changed is not None and set(changed) <= set(numbers)


def worked_before(trace: Trace, layer: Layer) -> bool:
    """Tell whether a layer has been through a whole step already, so that its sizes fitted then."""
    calls = trace.of(ModuleCalled)
    if not calls:  # a compiled model is not followed; after a step of training all of it has run
        return bool(trace.steps)
    return any(call.path == layer.path for call in calls)


def factors(number: int, shape: Sequence[int]) -> str:
    """Return ` = 32·7·7` where a number is the product of the last sizes of a shape."""
    for first in range(len(shape) - 2, 0, -1):
        if math.prod(shape[first:]) == number:
            return " = " + "·".join(map(str, shape[first:]))
    return ""
