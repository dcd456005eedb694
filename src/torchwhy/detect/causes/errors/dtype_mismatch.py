from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.views.crash.crash_facts import (
    at,
    crashes,
    expression_of,
    finding_of,
    fixes_of,
    idea,
    is_about_labels,
    is_in_loader,
    layer_input,
    layer_of,
    loss_expression,
    operand_evidence,
    says,
    trials,
    walk_evidence,
)
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Crash, Layer, NamedTensor
from torchwhy.record.trace import Trace

PATTERNS = (
    r"must have the same dtype, but got",
    r"to have the same dtype, but got",
    r"expected scalar type \w+ but found \w+",
    r"Input type \(([\w: .]+)\) and (?:bias|weight) type \(([\w: .]+)\) should be the same",
    r"dtype \(torch\.\w+\) does not match weight dtype",
    r"mixed dtype \(CPU\)",
    r"to have one of the following scalar types: Long, Int; but got",
    r"Found dtype \w+ but expected \w+",
    r"tensors used as indices must be long",
    r"[Ee]xpected dtype int(?:32|64)(?:/int64)? for index",
    r"could not infer output dtype",
    r"not implemented for '(?:Long|Int|Bool|Half|Byte|Double|Short|Char|BFloat16)'",
    r"result type \w+ can't be cast to the desired output type",
    r"Index put requires the source and destination dtypes match",
    r"Only Tensors of floating point and complex dtype can require gradients",
    r"Expected query, key, and value to have the same dtype",
    r"[Ee]xpected .* to have (?:scalar type|dtype)",
)
TENSOR_TYPES = r"Input type \(torch\.(cuda\.)?\w+\) and weight type \(torch\.(cuda\.)?\w+\)"
NUMPY_DEFAULT = "float64"


class DtypeMismatch(Detector):
    """Tensors of different number types meet in one operation that wants them equal."""

    name = "dtype-mismatch"
    needs = frozenset({"crash"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            if is_in_loader(crash) or is_about_labels(crash) or _is_about_devices(crash):
                continue
            if any(trial.worked for trial in trials(crash, "swap-arguments")):
                continue
            if any(says(crash, pattern) for pattern in PATTERNS):
                yield _judge(trace, crash)


def _is_about_devices(crash: Crash) -> bool:
    """Tell whether torch's sentence about types means the device: `torch.cuda.FloatTensor`."""
    found = says(crash, TENSOR_TYPES)
    return found is not None and found[1] != found[2]


def _judge(trace: Trace, crash: Crash) -> Finding:
    layer = layer_of(crash)
    odd, others = _odd_one(crash)
    who = (
        f"{layer.path}'s weights are"
        if layer is not None and "layer_input" in crash.facts
        else "the others are"
    )
    if odd is None:
        message = f"{expression_of(crash)} mixes number types"
    elif says(crash, r"could not infer output dtype"):
        message = f"{expression_of(crash)} takes the mean of whole numbers: convert them first"
    elif _is_index(crash, layer):
        message = f"{odd.name} is {odd.dtype}, but {expression_of(crash)} needs whole numbers (int64) as indices"
    else:
        message = f"{odd.name} is {odd.dtype}, but {who} {others or 'float32'}: {expression_of(crash)} wants one type"
    return finding_of(
        trace,
        crash,
        detector=DtypeMismatch.name,
        message=message,
        evidence=[*_source(crash, odd), *operand_evidence(crash), *walk_evidence(crash)],
        location=loss_expression(crash),
        fixes=[*fixes_of(crash, "cast-input", "float-target"), *_advice(crash, odd)][:3],
    )


def _is_index(crash: Crash, layer: Layer | None) -> bool:
    return bool(says(crash, r"Long, Int|used as indices|for index")) or (
        layer is not None and "Embedding" in layer.kind
    )


def _odd_one(crash: Crash) -> tuple[NamedTensor | None, str]:
    """Return the tensor whose type differs from that of the weights or of most others, and the others' type."""
    name, given = layer_input(crash)
    if given is not None and name == "its input":
        given = next((tensor for tensor in crash.operands if tensor.dtype == given.dtype), given)
    weights = [tensor.dtype for tensor in crash.inputs if tensor.kind == "parameter"]
    if given is not None:
        return given, weights[0] if weights else _from_message(crash, given.dtype)
    tensors = crash.operands or crash.inputs
    common = [tensor.dtype for tensor in crash.operands if tensor.kind == "parameter"] or [
        "float32"
    ]
    odd = next((tensor for tensor in tensors if tensor.dtype != common[0]), None)
    other = next(
        (tensor.dtype for tensor in tensors if odd is not None and tensor.dtype != odd.dtype), ""
    )
    return odd, other


def _from_message(crash: Crash, own: str) -> str:
    """Return the other type that the message speaks of."""
    words = {
        "Float": "float32",
        "Double": "float64",
        "Half": "float16",
        "Long": "int64",
        "BFloat16": "bfloat16",
    }
    named = [words[word] for word in crash.message.replace(".", " ").split() if word in words]
    return next((word for word in named if word != own), "float32")


def _source(crash: Crash, odd: NamedTensor | None) -> list[Evidence]:
    """Say which expression gave the tensor its type."""
    if odd is None:
        return []
    field, place = crash.facts.get("dataset_field"), crash.facts.get("dataset_place")
    numpy = "; NumPy's default is float64, torch's is float32" if odd.dtype == NUMPY_DEFAULT else ""
    if field and odd.dtype == NUMPY_DEFAULT:
        where = f", made by {crash.facts.get('dataset_expression')} ({place})" if place else ""
        return [
            Evidence(
                f"{odd.name} comes from the dataset's {field}, which is {odd.dtype}{where}{numpy}"
            )
        ]
    if (
        odd.made_by is not None
        and odd.made_by.expression not in (None, odd.name)
        and odd.origin != "batch"
    ):
        return [Evidence(f"{odd.name} is made by {odd.made_by.expression}{at(odd.made_by)}{numpy}")]
    batch = " in the batch that the loader gave" if odd.origin == "batch" else ""
    return [Evidence(f"{odd.name} is {odd.dtype}{batch}{numpy}")] if numpy else []


def _advice(crash: Crash, odd: NamedTensor | None) -> list[Fix]:
    if says(crash, r"could not infer output dtype"):
        return [idea("take the mean of floating point numbers: `.float().mean()`")]
    if odd is not None and odd.dtype == NUMPY_DEFAULT and crash.facts.get("dataset_field"):
        return [
            idea(
                f"or make the dataset float32 once: {crash.facts['dataset_field']}.astype(np.float32)"
            )
        ]
    return []
