"""An exception with the questions that causes ask of it: what torch says, which layer, which tensors, which trials."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from torchwhy.detect.rules import message_kinds as kinds
from torchwhy.detect.rules.message_kinds import TorchMessage
from torchwhy.detect.rules.torch_layers import LOSSES, MATRIX_PRODUCTS
from torchwhy.detect.rules.torch_messages import read
from torchwhy.detect.views.crash import crash_evidence
from torchwhy.detect.views.crash.batch_parts import rows_of
from torchwhy.detect.views.crash.crash_evidence import Sized
from torchwhy.detect.views.crash.operand_trials import fix_of
from torchwhy.detect.views.nonfinite.judging import short
from torchwhy.diagnosis import Diagnosis, Shape
from torchwhy.finding import Evidence, Finding, Fix, Sample, Severity, SourceSpan, advice_of
from torchwhy.record.events import Crash, Layer, ModuleCalled, NamedTensor, OperandTrial
from torchwhy.record.trace import Trace
from torchwhy.source.calls import called
from torchwhy.source.values import Expression, expression_of, is_matrix_product


def crashes(trace: Trace) -> Iterator[CrashView]:
    """Yield the exceptions that the program did not raise on purpose, oldest first."""
    for place, crash in enumerate(trace.of(Crash)):
        if crash.raised_by != "user":
            yield CrashView(trace, crash, place)


@dataclass(frozen=True)
class LayerInput:
    """The tensor that a layer was given; `is_named`: it stands in the failing expression."""

    tensor: NamedTensor | None
    is_named: bool

    @property
    def sized(self) -> Sized:
        """Return it by its name in the program, and its shape."""
        name = self.tensor.name if self.tensor is not None and self.is_named else "its input"
        return Sized(name, self.tensor.shape if self.tensor is not None else None)


@dataclass(frozen=True)
class CrashView:
    """One exception of a trace; `number` is its position among the exceptions of the trace."""

    trace: Trace
    event: Crash
    number: int

    @cached_property
    def said(self) -> TorchMessage:
        """Return what the exception's message says."""
        return read(self.event.message)

    @property
    def written(self) -> str | None:
        """Return the text of the failing expression as it stands in the source."""
        return self.event.location.expression if self.event.location is not None else None

    @property
    def expression(self) -> str:
        """Return the failing expression on one line; the operation that raised where it is unknown."""
        return short(self.written) if self.written else (self.event.op or "the failing line")

    @property
    def syntax(self) -> Expression | None:
        """Return the failing expression as syntax, None where its text is no whole expression."""
        return expression_of(self.written or "")

    # What was found out about it, by name.

    def fact(self, name: str) -> str | None:
        """Return a fact that is a text."""
        value = self.event.facts.get(name)
        return value if isinstance(value, str) else None

    def count(self, name: str) -> int | None:
        """Return a fact that is a whole number."""
        value = self.event.facts.get(name)
        return int(value) if isinstance(value, float) else None

    def numbers(self, name: str) -> Shape | None:
        """Return a fact that is a list: a shape, or indices."""
        value = self.event.facts.get(name)
        return value if isinstance(value, list) else None

    def has(self, name: str) -> bool:
        """Tell whether a fact is true."""
        return bool(self.event.facts.get(name))

    def place(self, name: str) -> SourceSpan | None:
        """Return a further line of the program by its role."""
        return self.event.places.get(name)

    # The layer, its input, the tensors.

    @property
    def layer(self) -> Layer | None:
        """Return the innermost running module."""
        return self.event.layers[-1] if self.event.layers else None

    @property
    def refusing_layer(self) -> Layer | None:
        """Return the innermost running module if it raised on the very tensor it was called with."""
        return self.layer if "layer_input" in self.event.facts else None

    @property
    def layer_input(self) -> LayerInput:
        """Return what the innermost layer was given, as far as it is known."""
        name, shape = self.fact("layer_input_name"), self.numbers("layer_input")
        for tensor in self.event.operands:
            if tensor.name == name:
                return LayerInput(tensor, is_named=True)
        same = (tensor for tensor in self.event.inputs if tensor.shape == shape)
        return LayerInput(next(same, None), is_named=False)

    def worked_before(self, layer: Layer) -> bool:
        """Tell whether a layer has been through a whole step already, so that its sizes fitted then."""
        calls = self.trace.of(ModuleCalled)
        # A compiled model is not followed; after a step of training all of it has run.
        if not calls:
            return bool(self.trace.steps)
        return any(call.path == layer.path for call in calls)

    @property
    def tensors(self) -> tuple[NamedTensor, ...]:
        """Return the tensors of the failing expression, then those that torch's own function was given."""
        return (*self.event.operands, *self.event.inputs)

    def tensor(self, *arguments: str) -> NamedTensor | None:
        """Return the first tensor that torch's own function knows by one of these names."""
        for argument in arguments:
            for tensor in self.tensors:
                if argument in (tensor.argument, tensor.name):
                    return tensor
        return None

    # Changes that were tried on the operands.

    def trials(self, *names: str) -> list[OperandTrial]:
        """Return the changes of these kinds that were tried, those that went through first."""
        found = [trial for name in names for trial in self.event.trials if trial.kind == name]
        return sorted(found, key=lambda trial: not trial.worked)

    def working(self, *names: str) -> list[OperandTrial]:
        """Return the changes of these kinds that went through."""
        return [trial for trial in self.trials(*names) if trial.worked]

    def fixes(self, *names: str) -> list[Fix]:
        """Return the changes of these kinds that went through as fixes, those with a diff first."""
        tried = sorted(self.working(*names), key=lambda trial: not trial.diff)
        return [fix_of(trial) for trial in tried]

    # Which call it was.

    @property
    def is_loss(self) -> bool:
        """Tell whether the failing call compares an output with a target."""
        if self.layer is not None and self.layer.kind in LOSSES:
            return True
        has_target = any(tensor.argument == "target" for tensor in self.event.operands)
        return has_target or "_loss" in (self.event.op or "")

    @property
    def is_without_batch(self) -> bool:
        """Tell whether a loss was given the scores of a single sample: a vector against one label."""
        match self.said:
            case kinds.LossShapes(output=[_], target=[1]):
                return True
        output, target = self.tensor("input", "self"), self.tensor("target")
        if output is None or target is None or not self.is_loss or self.event.type != "ValueError":
            return False
        return len(output.shape) == 1 and math.prod(target.shape) == 1 != output.shape[0]

    @property
    def loss_expression(self) -> SourceSpan | None:
        """Return the expression that computed the loss, where it was `loss.backward()` that raised; else None."""
        if ".backward(" not in (self.written or "") or not self.event.operands:
            return None
        return self.event.operands[0].made_by

    @property
    def is_about_labels(self) -> bool:
        """Tell whether a number type is refused because it is that of a loss's labels."""
        if isinstance(self.said, kinds.ClassNumbersWanted | kinds.ProbabilitiesWanted):
            return True
        if not self.is_loss and self.loss_expression is None:
            return False
        if self.working("swap-arguments"):
            return False
        target = self.tensor("target")
        match self.said:
            case kinds.FoundDtype(found=found):
                return found != "Double"
            case kinds.ScalarType(expected="Float"):
                return target is None or not target.dtype.startswith("float")
        return isinstance(self.said, kinds.ScalarType | kinds.ResultDtype | kinds.UnsupportedDtype)

    @property
    def is_product(self) -> bool:
        """Tell whether the failing expression itself is a product of matrices."""
        node = self.syntax
        return is_matrix_product(node) or called(node) in MATRIX_PRODUCTS

    # The batch in hand.

    @property
    def is_in_loader(self) -> bool:
        """Tell whether a DataLoader failed in code of its own; the user's dataset is code as any other."""
        at_work = self.has("in_loader") or self.event.worker is not None
        return at_work and not self.has("data_code")

    def is_changed_batch(self, left: int | None, right: int | None) -> bool:
        """Tell whether two sizes that do not fit are the usual number of samples and that of the batch in hand."""
        loader = self.event.loader
        if loader is None:
            return False
        usual, present = rows_of(loader.usual_batch), rows_of(loader.last_batch)
        return (
            None not in (usual, present) and usual != present and {usual, present} == {left, right}
        )

    # The finding.

    @property
    def severity(self) -> Severity:
        """Return how bad it is: an exception that the program caught is an error if training did not happen for it."""
        is_lost = not self.event.caught or self.event.times > len(self.trace.steps)
        return "error" if is_lost else "warning"

    @property
    def operand_evidence(self) -> list[Evidence]:
        """Return one fact per tensor in the failing expression."""
        return crash_evidence.of_operands(self.event)

    @property
    def walk_evidence(self) -> list[Evidence]:
        """Return the way of the data through the model."""
        return crash_evidence.of_walk(self.event)

    def finding(
        self,
        detector: str,
        diagnosis: Diagnosis,
        *,
        evidence: Iterable[Evidence] = (),
        location: SourceSpan | None = None,
        fixes: Sequence[Fix] = (),
        cures: Sequence[Fix] = (),
        sample: Sample | None = None,
    ) -> Finding:
        """Return the finding of a cause with everything that is the same for all of them filled in.

        `fixes` stand before the advice of the diagnosis, `cures` in place of it.
        """
        crash, where = self.event, location or self.event.location
        facts = [*diagnosis.evidence(), *evidence]
        if crash.location is not None and where is not None and where.line != crash.location.line:
            facts.append(Evidence(f"it raised at {crash.location}: {self.expression}"))
        if crash.caught:
            facts.insert(0, crash_evidence.of_going_on(self.trace, crash))
        facts += crash_evidence.of_loader(crash)
        words = f"{crash.type}: {crash_evidence.first_line(crash.message)}"
        facts.append(Evidence(words, step=crash.step))
        return Finding(
            detector=detector,
            severity=self.severity,
            diagnosis=diagnosis,
            step=crash.step,
            rank=self.trace.rank,
            location=where,
            evidence=tuple(facts),
            fixes=(*fixes, *(cures or advice_of(diagnosis))),
            sample=sample,
            crash=self.number,
            scope="lost-batches" if crash.caught else "training",
        )
