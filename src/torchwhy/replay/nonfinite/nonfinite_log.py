"""Logs births, the operations that made a non-finite value, and what each birth spoiled."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

import msgspec
import torch

from torchwhy.finding import SourceSpan
from torchwhy.observe.torch_features.tensor_parts import local_part
from torchwhy.observe.torch_features.torch_internals import schema_of
from torchwhy.record.events import Birth, Event, ForwardTwin, Operand
from torchwhy.record.numbers import encode
from torchwhy.replay.microscope import tensor_facts
from torchwhy.replay.microscope.expressions import span_in_module, writes_nonfinite_constant
from torchwhy.replay.microscope.operations import Operation, tensors_in
from torchwhy.replay.nonfinite import provenance
from torchwhy.replay.nonfinite.operand_naming import named, names_of_forward, span_inside
from torchwhy.replay.nonfinite.wider_dtype import redo_wider
from torchwhy.replay.samples.given_batches import GivenBatch
from torchwhy.replay.samples.sample_rows import Samples, bad_samples
from torchwhy.replay.untrained.taken_value import Taken, Uses

# The operation's function, and its positional and keyword arguments as they were before it ran.
Call = tuple[Any, Any, Any]

# Code that calls these expects NaN: `nanmean` is a `nansum` and a count.
NAN_AWARE = {"nansum", "nanmedian", "nanquantile", "nan_to_num"}
MOST_BIRTHS = 400  # of one process; a value that spreads is one birth
SOFTMAX = {"_softmax", "_log_softmax", "softmax", "log_softmax", "_safe_softmax"}
REDUCING = {
    "sum", "mean", "amax", "amin", "max", "min", "std", "var", "var_mean", "std_mean", "median", "nanmean", "nanmedian",
    "norm", "linalg_vector_norm", "logsumexp", "prod",
}  # fmt: skip


class ProgramContext(Protocol):
    """What the log asks about the program: names, the current batch, later operations."""

    def origin_of(self, tensor: torch.Tensor) -> provenance.Origin: ...
    def samples(self, operation: Operation, tensor: torch.Tensor | None) -> Samples: ...
    def operations_after(self, operation: Operation) -> list[Operation]: ...
    def name_of(self, parameter: Any) -> str | None: ...
    def weight_filled_by(self, birth: int) -> provenance.Origin | None: ...
    def in_float32(self, tensor: torch.Tensor) -> torch.Tensor | None: ...
    def largest_subtracted(self, tensor: torch.Tensor) -> float | None: ...
    def births_of_rows(self, tensor: torch.Tensor) -> frozenset[int]: ...


class NonfiniteLog:
    """Makes `Birth` records and follows what they reach; writes those that spoiled something."""

    def __init__(self, write: Callable[[Event], None], context: ProgramContext) -> None:
        self._write = write
        self._context, self.births_of_rows = context, context.births_of_rows
        self.births: dict[int, Birth] = {}
        self.batches: dict[int, GivenBatch] = {}  # the one that each birth's samples are of
        self._reached: dict[int, list[str]] = {}
        self._healed_by: dict[int, SourceSpan] = {}
        self._written: set[int] = set()
        self._uses = Uses()

    def name_of(self, parameter: Any) -> str | None:
        """Return what the program calls a parameter."""
        return self._context.name_of(parameter)

    def by_operation(
        self, operation: Operation, call: Call, output: torch.Tensor, given: list[torch.Tensor]
    ) -> int:
        """Log a value that an operation made of finite operands."""
        return self._add(operation, "operation", output, call=call, given=given)

    def from_infinity(
        self,
        operation: Operation,
        call: Call,
        output: torch.Tensor,
        given: list[torch.Tensor],
        parents: Iterable[int],
    ) -> int:
        """Log a NaN that an operation made of infinities."""
        return self._add(
            operation, "from-infinity", output, call=call, given=given, parents=sorted(parents)
        )

    def from_constant(self, operation: Operation, output: torch.Tensor) -> int:
        """Log a value that the program wrote as a constant, or copied from an array into a new tensor."""
        site = operation.place()
        is_literal = operation.info.base not in ("lift_fresh", "lift_fresh_copy") or (
            site is not None and (output.dim() == 0 or writes_nonfinite_constant(site))
        )
        return self._add(operation, "source", output, origin="literal" if is_literal else "array")

    def from_source(
        self, tensor: torch.Tensor, operation: Operation, producer: Operation | None
    ) -> int:
        """Log a bad tensor that came from outside: a batch, a weight, an array, unwritten memory."""
        if producer is not None and producer.info.is_empty:
            return self._add(producer, "source", tensor, origin="uninitialised")
        if self.is_received(tensor, operation, producer):
            return self._add(producer or operation, "source", tensor, origin="rank")
        origin = self._context.origin_of(tensor)
        if origin.kind in ("unknown", "array") and operation.info.base in (
            "lift_fresh",
            "lift_fresh_copy",
        ):
            return self.from_constant(operation, tensor)
        kind = "array" if origin.kind == "unknown" else origin.kind
        return self._add(
            operation,
            "source",
            tensor,
            origin=kind,
            origin_name=origin.name,
            location=origin.location,
            field=origin.field,
            made_after=max(0, operation.step - origin.steps) if origin.steps is not None else None,
        )

    def is_received(
        self, tensor: torch.Tensor, operation: Operation, producer: Operation | None
    ) -> bool:
        """Tell whether a collective wrote a tensor, or its backend did, which copies from memory of its own."""
        if producer is not None:
            return producer.info.is_collective
        return operation.issuer == "ranks" and self._context.origin_of(tensor).kind == "unknown"

    def reached(self, births: Iterable[int], what: str) -> None:
        """Note what some births spoiled; so did the infinities that made a NaN, unless they are constants."""
        for birth in births:
            spoiled = self._reached.setdefault(birth, [])
            if what in spoiled:
                continue
            spoiled.append(what)
            record = self.births.get(birth)
            parents = record.parents if record else []
            guilty = [p for p in parents if p in self.births and self.births[p].origin != "literal"]
            self.reached(guilty, what)

    def descends(self, source: Birth, births: list[int]) -> None:
        """Note that these births made a value that came from outside, for the same samples."""
        self.births[source.id] = msgspec.structs.replace(source, parents=sorted(births))
        for number in births:
            self.births[number] = msgspec.structs.replace(
                self.births[number],
                positions=source.positions,
                dataset_indices=source.dataset_indices,
            )
        for what in self._reached.get(source.id, []):
            self.reached(births, what)

    def noticed(self, births: Iterable[int], taken: Taken) -> None:
        """Note that the program used bad values; this counts only if it never trains."""
        self._uses.noticed(births, taken)

    def expected(self, births: Iterable[int]) -> None:
        """Note that the program finds bad values itself and leaves them out."""
        self._uses.expected(births)

    def blame_noticed(self, living: Iterable[int]) -> None:
        """Count what a program without training printed, read, saved, got from its model or still holds as spoiled."""
        for birth, ways in self._uses.counted(self.births, living, self._healed_by):
            for way in ways:
                self.reached([birth], way)

    def healed(self, births: Iterable[int], operation: Operation) -> None:
        """Note where bad values disappeared again."""
        if operation.info.base in NAN_AWARE:
            self._uses.expected(births)
        site = operation.place()
        if site is not None:
            for birth in births:
                self._healed_by[birth] = span_in_module(site, operation.module)

    def get(self, birth: int) -> Birth | None:
        """Return one birth as it is known so far."""
        return self.births.get(birth)

    @property
    def is_open(self) -> bool:
        """Tell whether it has any birth."""
        return bool(self.births)

    def any_reached(self) -> bool:
        """Tell whether some birth spoiled something."""
        return bool(self._reached)

    def spoilers(self) -> list[Birth]:
        """Return the births that spoiled something, oldest first."""
        return [b for i, b in sorted(self.births.items()) if i in self._reached]

    def write_all(self) -> None:
        """Write the births that spoiled something, once each."""
        for birth in self.spoilers():
            if birth.id not in self._written:
                self._written.add(birth.id)
                self._write(
                    msgspec.structs.replace(
                        birth,
                        reaches=self._reached[birth.id],
                        healed_by=self._healed_by.get(birth.id),
                        used=self._uses.of.get(birth.id),
                        **self._landed_in(birth),
                    )
                )

    def _landed_in(self, birth: Birth) -> dict[str, Any]:
        """Return as origin the weight that a value was copied into from a file or an array."""
        if birth.kind != "source" or birth.origin not in ("array", "unknown"):
            return {}
        weight = self._context.weight_filled_by(birth.id)
        return {} if weight is None else {"origin": weight.kind, "origin_name": weight.name}

    def tell_now(self, births: Iterable[int], what: str) -> None:
        """Write births at once: they do harm although no non-finite value comes out of it."""
        for number in births:
            birth = self.births.get(number)
            if birth is not None and birth.kind == "operation" and number not in self._written:
                self._written.add(number)
                self._write(msgspec.structs.replace(birth, reaches=[what]))

    def drop_reaches(self) -> None:
        """Forget what was spoiled so far: it belongs to an earlier step."""
        self._reached.clear()

    def _add(
        self,
        operation: Operation,
        kind: Any,
        output: torch.Tensor,
        *,
        call: Call | None = None,
        given: list[torch.Tensor] | None = None,
        parents: list[int] | None = None,
        location: SourceSpan | None = None,
        **more: Any,
    ) -> int:
        number = len(self.births) + 1
        if number > MOST_BIRTHS:
            return MOST_BIRTHS
        mask = tensor_facts.bad_elements(output)
        site = operation.place()
        # Where there are infinities beside it, the operands are to show what became NaN.
        became_nan = local_part(output).detach().isnan()
        shown = became_nan if kind == "from-infinity" or bool(became_nan.any()) else mask
        operands, inside = self._operands(operation, call, given or [], shown)
        self.births[number] = Birth(
            id=number,
            step=operation.step,
            kind=kind,
            phase=operation.phase,  # type: ignore[arg-type]
            op=operation.info.name,
            node=operation.node,
            location=location or (span_in_module(site, operation.module) if site else None),
            called_from=span_in_module(operation.outer[0], None) if operation.outer else None,
            inside=inside,
            operands=operands,
            output=tensor_facts.facts_of(output),
            value=encode(tensor_facts.value_of(output, shown)),
            count=int(mask.sum().item()),
            wider=redo_wider(call, output) if call is not None and kind == "operation" else None,
            reduced=_reduced(operation, call),
            fully_infinite_row=_has_fully_infinite_row(operation, given or [], call),
            parents=parents or [],
            forward=self._forward_twin(operation, mask),
            order=operation.order,
            of_counts=provenance.divides_by_counts(operation),
            **self._bad_rows(number, operation, output if kind == "source" else None, mask),
            **more,
        )
        return number

    def _bad_rows(
        self, number: int, operation: Operation, source: torch.Tensor | None, mask: torch.Tensor
    ) -> dict[str, Any]:
        """Return the samples of a birth, as its fields tell them."""
        samples = self._context.samples(operation, source)
        positions = bad_samples(mask, samples)
        if positions and samples.batch is not None:
            self.batches[number] = samples.batch
        return {
            "positions": [samples.rows[p] for p in positions] if samples.rows else positions,
            "dataset_indices": [samples.indices[p] for p in positions] if samples.indices else [],
            "rows_of": samples.of if positions else None,
        }

    def _operands(
        self, operation: Operation, call: Call | None, given: list[torch.Tensor], mask: torch.Tensor
    ) -> tuple[list[Operand], SourceSpan | None]:
        """Return the operands, and the place in a library that their names are from."""
        if call is None:
            return [], None
        given_ids = {id(tensor) for tensor in given}
        operands: list[Operand] = []
        values: list[Any] = []
        for argument, value in _arguments(call):
            if isinstance(value, torch.Tensor) and id(value) in given_ids:
                operands.append(self._tensor_operand(argument, value, mask))
                values.append(value)
            elif isinstance(value, (int, float)) and not isinstance(value, bool):
                operands.append(Operand(argument=argument, scalar=encode(float(value))))
                values.append(value)
        names, inside = named(operation, operands, values)
        with_names = [
            msgspec.structs.replace(operand, name=operand.name or name)
            for operand, name in zip(operands, names, strict=True)
        ]
        return with_names, span_inside(inside)

    def _tensor_operand(self, argument: str, tensor: torch.Tensor, mask: torch.Tensor) -> Operand:
        origin = self._context.origin_of(tensor)
        there = tensor_facts.at_born(tensor, mask)
        wide = self._context.in_float32(tensor) if there is not None and there[0] == 0 else None
        there_wide = tensor_facts.at_born(wide, mask) if wide is not None else None
        subtracted = self._context.largest_subtracted(tensor)
        facts = tensor_facts.facts_of(tensor)
        return Operand(
            argument=argument,
            name=origin.name if origin.kind in ("parameter", "buffer") else None,
            tensor=facts,
            at_born=there[0] if there else None,
            born_minimum=there[1] if there else None,
            born_maximum=there[2] if there else None,
            wider_at_born=there_wide[0] if there_wide else None,
            largest_subtracted=None if subtracted is None else encode(subtracted),
            origin=origin.kind,
            origin_name=origin.name,
            origin_location=origin.location,
            bins=tensor_facts.bins_of(tensor, facts),
        )

    def _forward_twin(self, operation: Operation, mask: torch.Tensor) -> ForwardTwin | None:
        forward = operation.forward
        if forward is None:
            return None
        site = forward.place()
        later = self._context.operations_after(forward)
        names, inside = names_of_forward(forward)
        return ForwardTwin(
            op=forward.info.name,
            location=span_in_module(site, forward.module) if site else None,
            output_finite=not forward.births,
            hidden_by=provenance.hidden_by(forward, later, mask),
            births=sorted(forward.births),
            operand_names=names,
            inside=span_inside(inside),
        )


def _arguments(call: Call) -> list[tuple[str, Any]]:
    function, args, kwargs = call
    schema = schema_of(function)
    names = [argument.name for argument in schema.arguments] if schema else []
    pairs: list[tuple[str, Any]] = []
    for position, value in enumerate(args):
        name = names[position] if position < len(names) else str(position)
        values = value if isinstance(value, (list, tuple)) else [value]
        pairs += [(name, item) for item in values]
    return pairs + list(kwargs.items())


def _reduced(operation: Operation, call: Call | None) -> int | None:
    """Return how many elements went into each output element of a reduction."""
    if call is None:
        return None
    _, args, kwargs = call
    base = operation.info.base
    if base in ("nll_loss_forward", "nll_loss2d_forward") and len(args) > 1:
        ignored = args[4] if len(args) > 4 else kwargs.get("ignore_index", -100)
        return int((args[1] != ignored).sum().item())
    if base not in REDUCING or not tensors_in(args):
        return None
    tensor = tensors_in(args)[0]
    dims = next((a for a in args[1:] if isinstance(a, (list, tuple))), kwargs.get("dim"))
    if not dims:
        return int(tensor.numel())
    count = 1
    for dim in dims if isinstance(dims, (list, tuple)) else [dims]:
        count *= tensor.shape[dim]
    return count


def _has_fully_infinite_row(
    operation: Operation, given: list[torch.Tensor], call: Call | None
) -> bool:
    """Tell whether a softmax got a row of nothing but -inf (or attention a mask with such a row)."""
    if operation.info.base not in SOFTMAX and "attention" not in operation.info.base:
        return False
    for tensor in given:
        if tensor.is_floating_point() and tensor.dim():
            over = call[1][1] if call is not None and len(call[1]) > 1 else None
            every = [over] if isinstance(over, int) else range(tensor.dim())
            dims = every if operation.info.base in SOFTMAX else [-1]
            closed = torch.isneginf(tensor.detach())
            if any(bool(closed.all(dim=dim).any().item()) for dim in dims):
                return True
    return False
