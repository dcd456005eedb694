"""Finds where the graph of a parameter was cut, if it was used and got no gradient."""

from __future__ import annotations

from dataclasses import replace

import torch

from torchwhy.observe.program.frames import span_of
from torchwhy.observe.recorder import Recorder
from torchwhy.observe.steps.check import Check
from torchwhy.observe.torch_features.mode_stack import unseen
from torchwhy.observe.torch_features.tensor_parts import gradient_of
from torchwhy.record.learning import GraphCut
from torchwhy.replay.graph.cut_places import detached_by, follow, words_of
from torchwhy.replay.graph.earlier_steps import EarlierSteps
from torchwhy.replay.graph.forward_graph import GraphWriter
from torchwhy.replay.graph.host_reads import (
    READS,
    Cut,
    ExplainedCut,
    copied_into,
    read_and_made_anew,
)
from torchwhy.replay.microscope.dispatch_mode import Microscope
from torchwhy.replay.microscope.operations import Operation
from torchwhy.replay.observing.current_observation import CurrentObservation
from torchwhy.replay.parameters.parameter_memory import ParameterMemory

IN_VAIN = "in-vain"  # Nothing cut the graph: no loss depends on its end.
MOST_NODES = 20_000  # of the graph of a closure's loss
# Steps and draws: autograd has a derivative for them, and it is 0.
FLAT = {"normal", "round", "floor", "ceil", "trunc", "sign", "heaviside", "poisson", "bernoulli"}

Named = tuple[str, torch.Tensor]


class GraphCuts:
    """Writes one `GraphCut` per place that cut the graphs of an optimizer's parameters."""

    def __init__(
        self,
        microscope: Microscope,
        graph: GraphWriter,
        earlier_steps: EarlierSteps,
        *,
        observation: CurrentObservation,
        memory: ParameterMemory,
        recorder: Recorder,
    ) -> None:
        self._microscope = microscope
        self._graph = graph
        self._earlier_steps = earlier_steps
        self._observation = observation
        self._memory = memory
        self._recorder = recorder

    def write(self, check: Check, *, fed: set[int] | None = None) -> None:
        """Write the cuts at an optimizer's first step.

        `fed` are the leaves that a loss is about to give a gradient, if its backward pass has not run yet.
        """
        watched = check.watched
        if watched is None:
            return
        used = self._microscope.used_parameters
        pairs = list(zip(watched.names(), watched.parameters(), strict=True))
        operations = self._forwards()
        flat = any(o.info.base in FLAT for o in operations)
        for name, parameter in pairs:
            is_unused = parameter.requires_grad and id(parameter) not in used
            if is_unused and self._is_dry(parameter, fed):
                self._write_if_only_read(check, operations, (name, parameter))
        dry = [
            (name, parameter)
            for name, parameter in pairs
            if parameter.requires_grad
            and id(parameter) in used
            and self._is_dry(parameter, fed, flat=flat)
        ]
        self._write_cuts(check, operations, dry, fed=fed, whole=len(dry) == len(pairs))

    def _write_cuts(
        self,
        check: Check,
        operations: list[Operation],
        dry: list[Named],
        *,
        fed: set[int] | None,
        whole: bool,
    ) -> None:
        """Write the cuts of parameters without a gradient, one event for all with the same cut."""
        optimizer = check.watched.index if check.watched is not None else -1
        groups: dict[tuple[int, str], list[str]] = {}
        found: dict[tuple[int, str], GraphCut] = {}
        for name, parameter in dry:
            is_cut = fed is not None or self._own_gradient(parameter) is None
            find = self._cut_of if is_cut else self._flattened
            explained = find(operations, id(parameter))
            if explained is None and is_cut:
                explained = self._in_vain(operations, id(parameter))
            if explained is None:
                continue
            cut, how, where = explained
            key = (where.line if where else cut.operation.order, how)
            groups.setdefault(key, []).append(name)
            found.setdefault(
                key,
                GraphCut(
                    step=check.step,
                    optimizer=optimizer,
                    parameters=groups[key],
                    how=how,
                    op=cut.operation.info.name,
                    location=where,
                    joins=cut.meets,
                    whole=whole,
                    loaded=self._was_loaded(parameter, optimizer),
                    look=self._observation.number,
                ),
            )
        for event in found.values():
            self._recorder.write(event)

    def _forwards(self) -> list[Operation]:
        """Return the forward operations of this observation so far, earlier steps included."""
        now = self._microscope.forward_operations()
        return [*self._earlier_steps.operations, *(one for one in now if one.phase == "forward")]

    def _is_dry(self, parameter: torch.Tensor, fed: set[int] | None, *, flat: bool = False) -> bool:
        """Tell whether a parameter has no gradient and gets none; behind a step function, a zero counts as none."""
        if fed is not None:
            return id(parameter) not in fed
        gradient = self._own_gradient(parameter)
        return gradient is None or (flat and _is_zero(gradient))

    def _own_gradient(self, parameter: torch.Tensor) -> torch.Tensor | None:
        """Return the gradient of the observed step, not one left over from before the observation."""
        if self._observation.number and not self._memory.has_arrived(parameter):
            return None
        return gradient_of(parameter)

    def _write_if_only_read(self, check: Check, operations: list[Operation], named: Named) -> None:
        """Write where a forward pass took the bare value of a parameter that no operation uses.

        Outside of a module the value may have been logged only: there, it must lead to a loss.
        """
        name, parameter = named
        read = next(
            (
                cut
                for cut in self._microscope.notes.cuts
                if id(parameter) in cut.parameter_ids
                and (cut.module is not None or self._goes_on(operations, cut))
            ),
            None,
        )
        if read is None or check.watched is None:
            return
        how, where = words_of(Cut(read, read, meets=False))
        self._recorder.write(
            GraphCut(
                step=check.step,
                optimizer=check.watched.index,
                parameters=[name],
                how="number" if read.info.base in READS else how,
                op=read.info.name,
                location=where,
                loaded=self._was_loaded(parameter, check.watched.index),
                look=self._observation.number,
            )
        )

    def _goes_on(self, operations: list[Operation], cut: Operation) -> bool:
        """Tell whether the value that a call took out of its graph feeds an operation that leads to a loss."""
        return any(
            operation.order in self._graph.reached and detached_by(operation, position) is cut
            for operation in operations
            for position in range(len(operation.through))
        )

    def _cut_of(self, operations: list[Operation], parameter: int) -> ExplainedCut | None:
        """Return the first cut between a parameter and a loss."""
        alive, cuts = follow(operations, parameter)
        reached, newest = self._graph.reached, self._graph.reached_last
        leading = [cut for cut in cuts if cut.operation.order in reached]
        if not any(cut.operation.order in newest for cut in leading):
            leading = []  # The detached images of a discriminator's loss are no cut in the generator's.
        # An explicit cut says more than an operation without derivative beside it.
        leading.sort(key=lambda cut: cut.by is None and cut.operation.grad_mode)
        if leading:
            # A rollout under `no_grad` comes before the pass that should have had a graph.
            silent = [c for c in leading if c.by is None and not c.operation.grad_mode]
            cut = silent[-1] if silent and leading[0] is silent[0] else leading[0]
            order = cut.operation.order
            same = [c for c in leading if c.by is cut.by or c.operation.order == order]
            cut = replace(cut, meets=all(c.meets for c in same))
            return cut, *words_of(cut)
        cuts_by_reading = self._microscope.notes.cuts
        return read_and_made_anew(operations, cuts=cuts_by_reading, alive=alive, reached=newest)

    def _in_vain(self, operations: list[Operation], parameter: int) -> ExplainedCut | None:
        """Return the last operation in the graph of a parameter if no loss depends on that graph."""
        alive, _ = follow(operations, parameter)
        reached = self._graph.reached_last
        read = {id(one) for one in self._microscope.notes.cuts if parameter in one.parameter_ids}
        if not reached or not alive or alive & reached or read:
            return None
        last = max((one for one in operations if one.order in alive), key=lambda one: one.order)
        copied = copied_into(operations, last, reached)
        if copied is not None:
            return copied
        site = last.place()
        is_known = site is not None and last.issuer != "library"
        return (Cut(last, None, meets=False), IN_VAIN, span_of(site)) if is_known else None

    def _flattened(self, operations: list[Operation], parameter: int) -> ExplainedCut | None:
        """Return the operation whose derivative of 0 lies on every way from a parameter to a loss."""
        alive, _ = follow(operations, parameter)
        reached = self._graph.reached
        flat = [
            one
            for one in operations
            if one.info.base in FLAT and one.order in alive and one.order in reached
        ]
        around, _ = follow(operations, parameter, without=FLAT)
        if not flat or any(order > flat[-1].order for order in around & reached):
            return None  # Past the last step function the gradient goes on, and is 0 for another reason.
        site = flat[0].place()
        return Cut(flat[0], None, meets=False), "flat", span_of(site) if site else None

    def _was_loaded(self, parameter: torch.Tensor, optimizer: int) -> bool:
        """Tell whether a parameter holds values worth keeping: from a file, or trained before."""
        if self._memory.was_trained(parameter, optimizers={optimizer}):
            return True
        entry = self._microscope.memory_writers.entry(parameter)
        writer = entry.last_operation if entry is not None else None
        return writer is not None and writer.info.base in ("copy_", "set_")


def leaves_under(losses: list[torch.Tensor]) -> set[int] | None:
    """Return the leaves that the backward pass of some losses gives gradients; None if the graph is too large."""
    waiting = [loss.grad_fn for loss in losses if loss.grad_fn is not None]
    seen, found = set(waiting), set()
    while waiting:
        node = waiting.pop()
        if len(seen) > MOST_NODES:
            return None
        found.add(id(getattr(node, "variable", None)))
        for below, _ in node.next_functions:
            if below is not None and below not in seen:
                seen.add(below)
                waiting.append(below)
    return found


@unseen
def _is_zero(gradient: torch.Tensor) -> bool:
    return gradient.layout is torch.strided and not bool(gradient.any().item())
