from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.everyday import sparse
from torchwhy.detect.rules.message_kinds import DenseRefused, SparseRefused
from torchwhy.detect.views.crash.crash_view import CrashView, crashes
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix, SourceSpan
from torchwhy.record.events import OptimizerMade
from torchwhy.record.trace import Trace
from torchwhy.source.analyses.constructors import only_call
from torchwhy.source.edits import Source

TAKE_SPARSE = ("SGD", "Adagrad")  # unless they decay weights
DENSE = "make the gradients dense: leave out `sparse=True`; only training of a very large table gets slower"
APART = "give SparseAdam only the parameters of tables with `sparse=True`, and the others to `torch.optim.Adam`"
ADAM = (
    "use `torch.optim.Adam`, or make the table with `nn.Embedding(…, sparse=True)` and give SparseAdam only its "
    "parameters"
)


class SparseIntoDense(Diagnosis):
    """An optimizer, or another function, got sparse gradients that it does not support."""

    taker: str
    parameters: str  # those with sparse gradients, by name
    layer: str | None
    message = "{taker} does not support sparse gradients{whose}"

    @property
    def whose(self) -> str:
        """Return a clause with the parameters."""
        made = f", because `{self.layer}` was made with `sparse=True`" if self.layer else ""
        have = "have" if "," in self.parameters else "has"
        return f", but {self.parameters} {have} them{made}" if self.parameters else ""

    @property
    def remedies(self) -> tuple[str, ...]:
        return (
            DENSE,
            f"give the table an optimizer of its own: `torch.optim.SparseAdam({self.table}.parameters())`",
        )

    @property
    def table(self) -> str:
        """Return the layer in code."""
        return self.layer if self.layer is not None else "embedding"


class DecayOfSparse(SparseIntoDense):
    """An optimizer that takes sparse gradients has weight decay, which has a dense gradient."""

    message = "the weight decay of {taker} does not support sparse gradients{whose}"

    @property
    def remedies(self) -> tuple[str, ...]:
        return (
            f"do not decay the table: give `{self.table}.parameters()` a group of its own with `weight_decay=0`",
            DENSE,
        )


class DenseIntoSparse(Diagnosis):
    """SparseAdam got dense gradients."""

    parameters: str
    message = "SparseAdam supports only sparse gradients, but got dense ones{except_for}"

    @property
    def except_for(self) -> str:
        """Return a clause with the parameters whose gradients are sparse."""
        return f"; only those of {self.parameters} are sparse" if self.parameters else ""

    @property
    def remedies(self) -> tuple[str, ...]:
        if self.parameters:
            return (APART,)
        return (ADAM,)


class SparseGradient(Detector):
    """An optimizer gets sparse gradients that it does not support, or the reverse."""

    name = "sparse-gradient"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            parameters = crash.fact("sparse_parameters") or ""
            match crash.said:
                case SparseRefused() if parameters:
                    optimizer = crash.fact("optimizer")
                    decays = _decays(trace, optimizer)
                    kind = DecayOfSparse if decays else SparseIntoDense
                    diagnosis: Diagnosis = kind(
                        taker=optimizer or f"`{crash.expression}`",
                        parameters=parameters,
                        layer=crash.fact("sparse_layer"),
                    )
                    place = crash.place("sparse_layer")
                    if decays:
                        place = only_call(trace.files.values(), str(optimizer)) or place
                case DenseRefused():
                    diagnosis = DenseIntoSparse(parameters=parameters)
                    place = only_call(trace.files.values(), "SparseAdam")
                case _:
                    continue
            yield crash.finding(
                self.name, diagnosis, location=place, evidence=_where_refused(crash, place)
            )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from sparse.dense_gradients(finding.location, source)
        yield from sparse.dense_optimizer(finding.location, source)


def _decays(trace: Trace, optimizer: str | None) -> bool:
    """Tell whether an optimizer would take sparse gradients if it had no weight decay."""
    made = [one for one in trace.of(OptimizerMade) if one.kind == optimizer]
    return optimizer in TAKE_SPARSE and any(one.defaults.get("weight_decay") for one in made)


def _where_refused(crash: CrashView, place: SourceSpan | None) -> Iterator[Evidence]:
    """Yield the constructor of the optimizer, if it is another line than the finding's."""
    kind = crash.fact("optimizer")
    made = only_call(crash.trace.files.values(), kind) if kind is not None else None
    if made is not None and made != place:
        yield Evidence(f"the optimizer is made by `{made.expression}`", location=made)
