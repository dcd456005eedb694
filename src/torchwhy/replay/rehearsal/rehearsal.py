"""Captures steps while the program runs, and then puts the questions, one after another."""

from __future__ import annotations

import importlib
import math
import pkgutil
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import ModuleType
from typing import Any

import torch

from torchwhy.observe.devices import generator_states
from torchwhy.observe.optimizers.watched_optimizers import WatchedOptimizers
from torchwhy.observe.probes.batches import BatchKeeper
from torchwhy.observe.recorder import Recorder
from torchwhy.observe.steps.check import Check
from torchwhy.observe.steps.training_state import TrainingState
from torchwhy.observe.torch_features.interpreter import frame_at
from torchwhy.observe.torch_features.tensor_parts import gradient_of
from torchwhy.record.learning import Experiment
from torchwhy.record.numbers import encode
from torchwhy.replay.microscope.call_sites import call_site
from torchwhy.replay.rehearsal import questions
from torchwhy.replay.rehearsal.allowance import Allowance, CannotAsk
from torchwhy.replay.rehearsal.answer import Answer
from torchwhy.replay.rehearsal.capture.batch_reads import BatchReads
from torchwhy.replay.rehearsal.capture.capture_mode import CaptureMode, is_inside_another
from torchwhy.replay.rehearsal.capture.captured_program import CapturedStep
from torchwhy.replay.rehearsal.capture.custom_functions import CustomFunctions
from torchwhy.replay.rehearsal.capture.given_arguments import GivenArguments
from torchwhy.replay.rehearsal.capture.operation_log import (
    CannotCapture,
    OperationLog,
    ParameterTable,
)
from torchwhy.replay.rehearsal.capture.row_orders import RowOrders
from torchwhy.replay.rehearsal.capture.step_cut import cut_step
from torchwhy.replay.rehearsal.data_code.met_rows import MetRows
from torchwhy.replay.rehearsal.data_code.row_pools import RowPools
from torchwhy.replay.rehearsal.questions.input_exchange import meeting_parameters
from torchwhy.replay.rehearsal.step_collection import CapturedSteps, StepCollection, StepGroup

LONGEST_REASON = 300
MOST_LOGGED = (
    100_000  # operations, each of which takes some 0.1 ms; what was captured by then has to do
)
TRAINS = 2  # backward passes, after which the stand-ins for programs that do not train are off
Waiting = tuple[StepGroup, CapturedStep, dict[int, torch.Tensor | None]]


class Rehearsal:
    """Follows backward passes and updates; `ask` ends it."""

    def __init__(
        self,
        optimizers: WatchedOptimizers,
        recorder: Recorder,
        state: TrainingState,
        *,
        batches: BatchKeeper,
        seconds: float,
        failed: Callable[[BaseException], None],
    ) -> None:
        self._optimizers = optimizers
        self._recorder = recorder
        self._state = state
        self._seconds = seconds
        self.parameters = ParameterTable()
        self.log = OperationLog(self.parameters)
        self._orders = RowOrders(recorder.write, state)
        self._reads = BatchReads(batches)
        self._arguments = GivenArguments()
        self._rows = MetRows()
        self._replace_attribute: Callable[[Any, str, Any], Any] = setattr
        self.mode = CaptureMode(
            self.log,
            state,
            is_parameter=self._is_parameter,
            failed=self._stop_because(failed),
            orders=self._orders,
            reads=self._reads,
            arguments=self._arguments,
            rows=self._rows,
        )
        self.collection = StepCollection()
        self._pools = RowPools()
        self._held: set[int] = set()  # identities of the parameters that optimizers hold
        self._passes = 0
        self._waiting: list[Waiting] = []  # kept steps that no update has followed yet
        self._is_over = False

    def _stop_because(
        self, failed: Callable[[BaseException], None]
    ) -> Callable[[BaseException], None]:
        def stop(problem: BaseException) -> None:
            self.mode.leave()
            failed(problem)

        return stop

    def begin(self, replace_attribute: Callable[[Any, str, Any], Any]) -> None:
        """Start capturing."""
        CustomFunctions(self.mode).install(replace_attribute)
        self._orders.install(replace_attribute, self.mode.guarded)
        self._replace_attribute = replace_attribute
        self.mode.enter()

    def _is_parameter(self, leaf: torch.Tensor) -> bool:
        if isinstance(leaf, torch.nn.Parameter) or id(leaf) in self._held:
            return True
        return not self._optimizers.any_made

    @property
    def has_optimizers(self) -> bool:
        """Tell whether the program has made an optimizer."""
        return self._optimizers.any_made

    def optimizer_made(self) -> None:
        """Learn which tensors optimizers hold."""
        self._held = {id(p) for one in self._optimizers.all() for p in one.parameters()}

    def before_backward(self, losses: list[torch.Tensor]) -> None:
        """Capture the step that ends here."""
        if not self.mode.is_on or is_inside_another():
            return  # a checkpoint differentiates inside of a backward pass
        self.optimizer_made()
        self._passes += 1
        if self._passes == TRAINS:
            self._reads.install(self._replace_attribute, self.mode.guarded)
        self._pass_is_over()
        if not self.has_optimizers:
            self._note_update(set(map(id, self.parameters.tensors)), None)
        try:
            self._capture(losses)
        except CannotCapture as reason:
            self.collection.refused[str(reason)] += 1
        except Exception as problem:  # an operation that cannot run again
            self.collection.refused[f"{type(problem).__name__}: {problem}"[:LONGEST_REASON]] += 1
        self.log.begin_segment()
        if self.mode.logged > MOST_LOGGED and self.collection.groups:
            self.leave()

    def _capture(self, losses: list[torch.Tensor]) -> None:
        sites = call_site(frame_at(2))
        found = sites.sites or sites.outer
        step = cut_step(self.log, losses, number=self._passes, site=found[0] if found else None)
        self._rows.train(step, meeting_parameters(step))
        group = self.collection.group_of(step)
        if group is None:
            raise CannotCapture("its operations are others at every step")
        wanted = group.wants_next
        group.seen += 1
        if not wanted:
            return
        live = {n: self.parameters.tensors[n].detach() for n in step.parameters}
        again = step.loss_with(live)
        if again != step.loss:
            raise CannotCapture(f"it gave {again:.6g} instead of {step.loss:.6g} when it ran again")
        if not group.steps or self.collection.weights_fit(step, self.parameters):
            step = replace(step, weights={n: w.clone() for n, w in live.items()})
        self.collection.keep(group, step)
        self._pools.look()
        before = {n: _gradient(self.parameters.tensors[n]) for n in step.parameters}
        self._waiting.append((group, step, before))
        if step.weights is not None:
            self.mode.before_next = self._pass_is_over

    def _pass_is_over(self) -> None:
        """Note the gradients that the last backward pass left."""
        self.mode.before_next = None
        if not self._waiting or self._waiting[-1][1].gradients is not None:
            return
        group, step, before = self._waiting[-1]
        gradients = {}
        for number, earlier in before.items():
            now = _gradient(self.parameters.tensors[number])
            if now is not None:
                gradients[number] = now - earlier if earlier is not None else now
        self._waiting[-1] = (group, self._put(group, step, gradients=gradients), {})

    def _put(self, group: StepGroup, step: CapturedStep, **changes: Any) -> CapturedStep:
        """Return a step with more facts, which takes its place in its group."""
        new = replace(step, **changes)
        for place, one in enumerate(group.steps):
            if one.number == step.number:
                group.steps[place] = new
        return new

    def before_update(self) -> None:
        """Note gradients before an optimizer uses them."""
        if self.mode.is_on:
            self._pass_is_over()

    def after_update(self, check: Check | None) -> None:
        """Note who has updated which parameters, and by how much."""
        if self.mode.is_on and check is not None and check.watched is not None:
            self._note_update({id(p) for p in check.watched.parameters()}, check.watched.index)

    def _note_update(self, held: set[int], optimizer: int | None) -> None:
        for group, step, _ in self._waiting:
            owned = frozenset(n for n in step.parameters if id(self.parameters.tensors[n]) in held)
            if not owned:
                continue
            facts: dict[str, Any] = {"owned": owned, "optimizer": optimizer}
            if step.weights is not None:
                facts["changes"] = {
                    n: self.parameters.tensors[n].detach() - step.weights[n] for n in owned
                }
            self._put(group, step, **facts)
        self._waiting.clear()

    def leave(self) -> None:
        """Stop capturing."""
        self.mode.leave()

    def ask(self) -> None:
        """Put every question; the program stands still, and the hooks are off."""
        if self._is_over:
            return
        self._is_over = True
        self.leave()
        if not self.has_optimizers:
            self._pass_is_over()
            self._note_update(set(map(id, self.parameters.tensors)), None)
        allowance = Allowance(self._seconds)
        steps = CapturedSteps(
            [group for group in self.collection.groups.values() if group.steps],
            self.parameters,
            optimizers=self._optimizers.all(),
            allowance=allowance,
            refused=self.collection.refused,
            pools=self._pools,
            reads=self._reads,
            arguments=self._arguments,
            rows=self._rows,
            lost=self.mode.lost,
        )
        found = list(_questions())
        for place, question in enumerate(found):
            allowance.begin_question(len(found) - place)
            self._put_question(question, steps)

    def _put_question(self, question: ModuleType, steps: CapturedSteps) -> None:
        began = time.perf_counter()
        before = generator_states.take()
        try:
            with warnings.catch_warnings(), torch.enable_grad(), _without_autocast():
                warnings.simplefilter("ignore")
                answer = question.ask(steps)
        except CannotAsk as reason:
            answer = Answer({"refused": str(reason)})
        except Exception as problem:
            failure = f"{type(problem).__name__}: {problem}"
            answer = Answer({"refused": failure[:LONGEST_REASON]})
        before.put_back()
        self._recorder.write(
            Experiment(
                step=self._state.step,
                question=question.SLUG,
                answer={name: _recorded(fact) for name, fact in answer.facts.items()},
                seconds=round(time.perf_counter() - began, 4),
                places={name: span for name, span in answer.places.items() if span is not None},
            )
        )


def _gradient(parameter: torch.Tensor) -> torch.Tensor | None:
    """Return a copy of the gradient that backward passes have left so far."""
    gradient = gradient_of(parameter)
    if gradient is None:
        return None
    return gradient.detach().to_dense() if gradient.is_sparse else gradient.detach().clone()


def _recorded(fact: Any) -> Any:
    """Return a fact as the record holds it; among several numbers the largest float stands for infinity."""
    if isinstance(fact, (list, tuple)):
        return [float(one) if math.isfinite(one) else sys.float_info.max for one in fact]
    return encode(fact) if isinstance(fact, float) else fact


def _without_autocast() -> Any:
    return torch.autocast("cpu", enabled=False)


def _questions() -> Iterator[ModuleType]:
    found = pkgutil.walk_packages(questions.__path__, f"{questions.__name__}.")
    for one in sorted(found, key=lambda one: one.name.rpartition(".")[2]):
        if not one.ispkg:
            yield importlib.import_module(one.name)
