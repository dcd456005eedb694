from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.questions.data.data_values import QUESTION
from torchwhy.detect.views.graph.graph_queries import ForwardGraph
from torchwhy.detect.views.inputs.loaders_seen import training
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Finding
from torchwhy.record.events import OptimizerDescribed
from torchwhy.record.learning import GraphOperation
from torchwhy.record.trace import Trace

DOUBLE = "float64"
NARROWER = ("float32", "float16", "bfloat16")
CASTS = ("_to_copy", "to", "copy")  # The program asks for float64.


class DataInDouble(Diagnosis):
    """Data in float64 meets a value that depends on parameters of a narrower type, so the result is float64."""

    computed: str
    shape: list[int]
    fields: list[str]
    message = (
        "data of shape {shape} is float64 and meets a {computed} value of the model here: torch computes the rest of "
        "the loss in float64"
    )
    advice = "convert the data to the type of the parameters once, such as torch.from_numpy(array).float()"


class MixedPrecisionBatch(Detector):
    """A batch is float64 and the parameters are not, so that torch computes a part of each step in float64."""

    name = "mixed-precision-batch"
    question = QUESTION
    every_observation = True

    def scan(self, trace: Trace) -> Iterator[Finding]:
        described = trace.of(OptimizerDescribed)
        if not described or any(DOUBLE in one.dtypes for one in described):
            return
        for operation in ForwardGraph(trace).operations():
            met = _widened(operation)
            if met is None:
                continue
            computed, shape = met
            fields = [
                field.path
                for loader in training(trace)
                for field in loader.fields
                if field.dtype == DOUBLE
            ]
            diagnosis = DataInDouble(
                computed=computed, shape=shape, fields=list(dict.fromkeys(fields))
            )
            yield self.found(
                trace,
                diagnosis,
                severity="note",
                step=operation.step,
                location=operation.location,
            )
            return


def _widened(operation: GraphOperation) -> tuple[str, list[int]] | None:
    """Return the narrower type, and the shape of the data in float64 that makes the result float64."""
    if operation.dtype != DOUBLE or not operation.differentiable:
        return None
    if any(f".{name}." in operation.op for name in CASTS) or len(operation.facts) < 2:
        return None
    tracked = dict(enumerate(operation.tracked))
    followed = [one for n, one in enumerate(operation.facts) if tracked.get(n, False)]
    data = [one for n, one in enumerate(operation.facts) if not tracked.get(n, True)]
    wide = [one for one in data if one.dtype == DOUBLE and one.shape]
    if not wide or not followed or any(one.dtype not in NARROWER for one in followed):
        return None
    return followed[0].dtype, list(wide[0].shape)
