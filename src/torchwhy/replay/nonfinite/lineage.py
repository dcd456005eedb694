"""Finds the births that the bad values of a result descend from: born here, passed on, or healed."""

from __future__ import annotations

import torch

from torchwhy.observe.steps import gradients
from torchwhy.replay.microscope.arguments import (
    can_look,
    makes_nan_of_infinite_scalar,
    nonfinite_scalars,
)
from torchwhy.replay.microscope.memory_writers import MemoryWriters
from torchwhy.replay.microscope.operations import Operation
from torchwhy.replay.nonfinite.nonfinite_log import Call, NonfiniteLog

NONE: frozenset[int] = frozenset()


class Lineage:
    """Looks up which operation wrote an operand, and logs bad values that no operation here wrote."""

    def __init__(self, nonfinite_log: NonfiniteLog, memory_writers: MemoryWriters) -> None:
        self._log = nonfinite_log
        self._memory_writers = memory_writers
        # The last step in which this rank gave bad values to a collective, and their births.
        self._sent: tuple[int, frozenset[int]] = (-1, NONE)

    def births_in(
        self, operation: Operation, call: Call, output: torch.Tensor, given: list[torch.Tensor]
    ) -> frozenset[int]:
        """Return the births that a result's bad values descend from; none if it has no bad value."""
        if gradients.is_finite(output):
            if self._log.is_open and output.is_floating_point():
                self._healed(given, operation)
            return NONE
        bad_inputs = [t for t in given if can_look(t) and not gradients.is_finite(t)]
        if not bad_inputs:
            return self._born_here(operation, call, output, given)
        parents = NONE
        for tensor in bad_inputs:
            known = self._memory_writers.births_of(tensor)
            parents |= known or self.sources(tensor, operation)
        holds_nan = bool(torch.isnan(output).any().item())
        fed_nan = any(
            bool(torch.isnan(t).any().item())
            for t in bad_inputs
            if t.is_floating_point() or t.is_complex()
        )
        if holds_nan and not fed_nan:
            return frozenset({self._log.from_infinity(operation, call, output, given, parents)})
        return parents

    def received(
        self, operation: Operation, outputs: list[torch.Tensor], given: list[torch.Tensor]
    ) -> None:
        """Note what a collective writes, without reading it: it may still be on its way from other ranks."""
        read = [t for t in given if not any(t is output for output in outputs)]
        bad = [t for t in read if can_look(t) and not gradients.is_finite(t)] if read else given
        births = NONE.union(*map(self._memory_writers.births_of, bad))
        if births:
            sent = self._sent[1] if self._sent[0] == operation.step else NONE
            self._sent = (operation.step, sent | births)
        for output in outputs:
            self._memory_writers.wrote(output, operation, births)

    def _born_here(
        self, operation: Operation, call: Call, output: torch.Tensor, given: list[torch.Tensor]
    ) -> frozenset[int]:
        info = operation.info
        if info.base == "set_":
            # A worker's batch arrives: its use will tell what it is.
            is_batch = operation.phase == "data"
            return NONE if is_batch else frozenset({self._log.from_source(output, operation, None)})
        if not info.is_creating and makes_nan_of_infinite_scalar(call, output):
            return frozenset({self._log.from_infinity(operation, call, output, given, ())})
        if info.is_creating or nonfinite_scalars(call):
            return frozenset({self._log.from_constant(operation, output)})
        return frozenset({self._log.by_operation(operation, call, output, given)})

    def sources(self, tensor: torch.Tensor, operation: Operation) -> frozenset[int]:
        """Return the births of a bad tensor that no operation here computed, and remember them for its memory.

        What a collective brings comes from the bad values that this rank gave in the same step, if it gave any.
        """
        entry = self._memory_writers.entry(tensor)
        producer = (entry.unwritten or entry.last_operation) if entry is not None else None
        step, births = self._sent
        if step != operation.step or not self._log.is_received(tensor, operation, producer):
            births = self._computed_in_rows(tensor)
            births = births or frozenset({self._log.from_source(tensor, operation, producer)})
        self._memory_writers.wrote(tensor, producer or operation, births)
        if entry is None:
            written = self._memory_writers.entry(tensor)
            if written is not None:
                written.last_operation = None
        return births

    def _computed_in_rows(self, tensor: torch.Tensor) -> frozenset[int]:
        """Return the births of the rows that a batch consists of, if operations computed them.

        Bad values that were written or read into the rows are bad data: the batch then tells which samples have them.
        """
        births = self._log.births_of_rows(tensor)
        known = [self._log.births.get(birth) for birth in births]
        return births if all(one is not None and one.kind != "source" for one in known) else NONE

    def _healed(self, given: list[torch.Tensor], operation: Operation) -> None:
        for tensor in given:
            births = self._memory_writers.births_of(tensor)
            if births:
                self._log.healed(births, operation)
