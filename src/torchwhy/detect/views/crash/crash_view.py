"""An exception as the causes read it: torch's message, the layer, the tensors, the trials."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from torchwhy.detect.rules import message_kinds as kinds
from torchwhy.detect.rules.message_kinds import TorchMessage
from torchwhy.detect.rules.torch_layers import LOSSES, MATRIX_PRODUCTS
from torchwhy.detect.rules.torch_messages import read
from torchwhy.detect.views.crash import crash_evidence
from torchwhy.detect.views.crash.batch_parts import rows_of
from torchwhy.detect.views.crash.crash_evidence import Sized
from torchwhy.detect.views.crash.input_names import loss_expression, with_program_names
from torchwhy.detect.views.crash.operand_trials import fix_of
from torchwhy.detect.views.nonfinite.judging import short
from torchwhy.diagnosis import Diagnosis, Shape
from torchwhy.finding import Evidence, Finding, Fix, Sample, Severity, SourceSpan, advice_of
from torchwhy.plain_data import dataclass
from torchwhy.record.events import Crash, Layer, ModuleCalled, NamedTensor, OperandTrial
from torchwhy.record.trace import Trace
from torchwhy.source.calls import called
from torchwhy.source.values import Expression, expression_of, is_matrix_product


def crashes(trace: Trace) -> Iterator[CrashView]:
    """Yield the exceptions that the program did not raise on purpose, oldest first."""
    yield from (crash for crash in all_crashes(trace) if crash.event.raised_by != "user")


def all_crashes(trace: Trace) -> Iterator[CrashView]:
    """Yield all exceptions, oldest first."""
    for place, crash in enumerate(trace.of(Crash)):
        yield CrashView(trace, with_program_names(crash), place)


@dataclass(frozen=True)
class LayerInput:
    """The input of a layer; `is_named` means that the failing expression names it."""

    tensor: NamedTensor | None
    is_named: bool

    @property
    def sized(self) -> Sized:
        """Return the program's name for the input, or `its input`, and its shape."""
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
        """Return the exception's message, parsed."""
        return read(self.event.message)

    @property
    def written(self) -> str | None:
        """Return the source text of the failing expression."""
        return self.event.location.expression if self.event.location is not None else None

    @property
    def expression(self) -> str:
        """Return the failing expression on one line, or the operation that raised if it is unknown."""
        return short(self.written) if self.written else (self.event.op or "the failing line")

    @property
    def syntax(self) -> Expression | None:
        """Return the failing expression as syntax; None if its text is not a whole expression."""
        return expression_of(self.written or "")

    # Recorded facts, by name.

    def fact(self, name: str) -> str | None:
        """Return a fact that is a string."""
        value = self.event.facts.get(name)
        return value if isinstance(value, str) else None

    def count(self, name: str) -> int | None:
        """Return a fact that is an integer."""
        value = self.event.facts.get(name)
        return int(value) if isinstance(value, float) else None

    def real(self, name: str) -> float:
        """Return a fact that is a number, NaN if it is not recorded."""
        value = self.event.facts.get(name)
        return value if isinstance(value, float) else math.nan

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
        """Return the input of the innermost layer, as far as it is known."""
        name, shape = self.fact("layer_input_name"), self.numbers("layer_input")
        for tensor in self.event.operands:
            if tensor.name == name:
                return LayerInput(tensor, is_named=True)
        same = (tensor for tensor in self.event.inputs if tensor.shape == shape)
        return LayerInput(next(same, None), is_named=False)

    def worked_before(self, layer: Layer) -> bool:
        """Tell whether a layer already ran in a whole step, so that its sizes fitted then."""
        calls = self.trace.of(ModuleCalled)
        # The trace has no calls inside a compiled model; after a training step all of it has run.
        if not calls or not self.trace.has_all("modules"):
            return bool(self.trace.steps)
        return any(call.path == layer.path for call in calls)

    @property
    def tensors(self) -> tuple[NamedTensor, ...]:
        """Return the tensors of the failing expression, then the arguments of torch's own function."""
        return (*self.event.operands, *self.event.inputs)

    def tensor(self, *arguments: str) -> NamedTensor | None:
        """Return the first tensor passed to torch's function under one of these argument names."""
        for argument in arguments:
            for tensor in self.tensors:
                if argument in (tensor.argument, tensor.name):
                    return tensor
        return None

    # Changes that were tried on the operands.

    def trials(self, *names: str) -> list[OperandTrial]:
        """Return the tried changes of these kinds, those that worked first."""
        found = [trial for name in names for trial in self.event.trials if trial.kind == name]
        return sorted(found, key=lambda trial: not trial.worked)

    def working(self, *names: str) -> list[OperandTrial]:
        """Return the tried changes of these kinds that worked."""
        return [trial for trial in self.trials(*names) if trial.worked]

    def fixes(self, *names: str) -> list[Fix]:
        """Return the tried changes of these kinds that worked as fixes, those with a diff first."""
        tried = sorted(self.working(*names), key=lambda trial: not trial.diff)
        return [fix_of(trial, self.layer) for trial in tried]

    # Which call failed.

    @property
    def is_loss(self) -> bool:
        """Tell whether the failing call compares an output with a target."""
        if self.layer is not None and self.layer.kind in LOSSES:
            return True
        has_target = any(tensor.argument == "target" for tensor in self.event.operands)
        return has_target or "_loss" in (self.event.op or "")

    @property
    def is_without_batch(self) -> bool:
        """Tell whether a loss got the scores of a single sample: a vector against one label."""
        match self.said:
            case kinds.LossShapes(output=[_], target=[1]):
                return True
        output, target = self.tensor("input", "self"), self.tensor("target")
        if output is None or target is None or not self.is_loss or self.event.type != "ValueError":
            return False
        return len(output.shape) == 1 and math.prod(target.shape) == 1 != output.shape[0]

    @property
    def loss_expression(self) -> SourceSpan | None:
        """Return the expression that computed the loss if `loss.backward()` raised, else None."""
        return loss_expression(self.event)

    @property
    def is_about_labels(self) -> bool:
        """Tell whether a loss refuses the dtype of its labels."""
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
        """Tell whether the failing expression itself is a matrix product."""
        node = self.syntax
        return is_matrix_product(node) or called(node) in MATRIX_PRODUCTS

    # The current batch.

    @property
    def is_in_loader(self) -> bool:
        """Tell whether a DataLoader failed in its own code, not in the user's dataset."""
        at_work = self.has("in_loader") or self.event.worker is not None
        return at_work and not self.has("data_code")

    def is_changed_batch(self, left: int | None, right: int | None) -> bool:
        """Tell whether the two sizes that do not fit are the usual and the current batch size."""
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
        """Return the severity; a caught exception is an error if it outnumbers the optimizer steps.

        In a program that never trains it may be what the program wants to see: a note.
        """
        if self.event.untrained:
            return "note"
        is_lost = not self.event.caught or self.event.times > len(self.trace.steps)
        return "error" if is_lost else "warning"

    @property
    def operand_evidence(self) -> list[Evidence]:
        """Return one piece of evidence per tensor in the failing expression."""
        return crash_evidence.of_operands(self.event)

    @property
    def walk_evidence(self) -> list[Evidence]:
        """Return the shapes through the model as evidence."""
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
        """Return the finding of a cause, with the evidence that every crash has.

        `fixes` come before the advice of the diagnosis, `cures` replace it.
        """
        crash, where = self.event, location or self.event.location
        facts = [*diagnosis.evidence(), *evidence]
        if crash.location is not None and where is not None and where.line != crash.location.line:
            is_statement = self.expression.endswith(":")
            what = f"the line `{self.expression}`" if is_statement else self.expression
            facts.append(Evidence(f"{what} raised it", location=crash.location))
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
            scope="lost-batches" if crash.caught and not crash.untrained else "training",
            symptom_at=crash.location,
        )
