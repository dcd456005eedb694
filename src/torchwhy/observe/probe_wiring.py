"""Puts every probe on torch. A probe that lacks a feature, or fails to install, is left out alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from torchwhy.finding import SourceSpan
from torchwhy.observe.descriptors import Descriptors, NotedOnAccess
from torchwhy.observe.parts import Parts
from torchwhy.observe.probes import (
    array_warnings,
    backward,
    batches,
    reads,
    scaler,
)
from torchwhy.observe.probes.collectives import CollectiveProbe
from torchwhy.observe.probes.compiled_code import CompilerProbe, StepsUnderRecord
from torchwhy.observe.probes.forwards import dropouts, modes
from torchwhy.observe.probes.metrics.evaluations import Evaluations
from torchwhy.observe.probes.states import checkpoint_reads, module_loads
from torchwhy.observe.torch_features.interpreter import frame_at
from torchwhy.observe.torch_features.torch_internals import note_new_optimizers
from torchwhy.record.events import ArrayWarning, CompilerEntered

OPTIMIZER_NEEDS = ("optimizer-birth",)


class ProbeWiring:
    """Knows where on torch each probe belongs."""

    def __init__(
        self,
        parts: Parts,
        evaluations: Evaluations,
        descriptors: Descriptors,
        *,
        runs_eagerly: bool = False,
    ) -> None:
        self._runs_eagerly = runs_eagerly
        self._parts = parts
        self._evaluations = evaluations
        self._descriptors = descriptors
        self._hooks = parts.hooks
        self._protect = parts.guests.protect

    def put_on(self, before_backward: Callable[..., object]) -> None:
        """Put all of them on; the guests remember which were left out, and why."""
        parts, hooks, descriptors, protect = (
            self._parts,
            self._hooks,
            self._descriptors,
            self._protect,
        )
        note_read = self._note_of_reads()
        for probe, needs, install in (
            ("loss", backward.NEEDS, lambda: backward.install(hooks, before_backward, descriptors)),
            ("step", (), self._watch_steps),
            ("optimizer", OPTIMIZER_NEEDS, self._watch_new_optimizers),
            (
                "batch",
                batches.NEEDS,
                lambda: parts.batches.install(hooks, parts.guests, descriptors),
            ),
            ("holdings", (), lambda: parts.holdings.install(hooks, protect)),
            ("call order", (), lambda: parts.calls.install(hooks, protect)),
            ("weights", (), lambda: parts.state_dicts.install(hooks, protect)),
            ("load", module_loads.NEEDS, lambda: parts.kept.loads.install(hooks, protect)),
            (
                "checkpoint",
                checkpoint_reads.NEEDS,
                lambda: parts.kept.reads.install(hooks, protect),
            ),
            ("read", (), lambda: reads.install(hooks, note_read, parts.state, descriptors)),
            ("read", reads.FUNCTION_NEEDS, lambda: reads.install_functions(hooks, note_read)),
            ("scale", (), self._watch_scalers),
            ("array warning", array_warnings.NEEDS, self._watch_warnings),
            ("compile", (), self._watch_compiler),
        ):
            self._put_on(f"{probe} probe", needs, install)
        if parts.settings.notes_files:
            self._put_on("file probe", (), lambda: parts.saved_files.install(hooks, protect))
        if parts.settings.hang:
            collectives = CollectiveProbe(parts.settings.directory)
            self._put_on("collective probe", (), lambda: collectives.install(hooks, protect))
        parts.kept.listen(protect)
        parts.modes.install(
            hooks,
            descriptors.forward,
            counts=parts.guests.may_run("mode probe", modes.NEEDS),
            sees_dropout=parts.guests.may_run("dropout probe", dropouts.NEEDS),
        )

    def _put_on(self, probe: str, needs: Iterable[str], install: Callable[[], object]) -> None:
        guests, hooks = self._parts.guests, self._hooks
        if not guests.may_run(probe, needs):
            return
        before = len(hooks)
        try:
            install()
        except Exception as problem:
            hooks.remove_after(before)
            guests.switch_off(probe, problem)

    def _watch_steps(self) -> None:
        for register, hook in (
            (register_optimizer_step_pre_hook, self._descriptors.before_step),
            (register_optimizer_step_post_hook, self._descriptors.after_step),
        ):
            handle = register(hook)
            self._hooks.add(handle.remove)

    def _watch_new_optimizers(self) -> None:
        made = self._protect("optimizer probe", self._parts.optimizers.made)
        note_new_optimizers(
            self._hooks.replace,
            lambda original: NotedOnAccess(original, lambda o: made(o, frame_at(2))),
        )

    def _note_of_reads(self) -> Callable[[Any], None]:
        parts, evaluations = self._parts, self._evaluations
        return reads.note_of(
            parts.guests.lightly("read probe", lambda loss, sentinel: sentinel.note_read(loss)),
            self._protect("evaluation probe", evaluations.read),
            self._protect("evaluation probe", evaluations.read_later),
            sentinel=parts.sentinel,
            state=parts.state,
            scale=parts.scale,
        )

    def _watch_scalers(self) -> None:
        scaled, unscaled = self._scaled, self._unscaled
        scaler.install(
            self._hooks,
            self._protect("scale probe", scaled),
            self._protect("scale probe", unscaled),
        )

    def _scaled(self, grad_scaler: Any) -> None:
        scale, cruise = self._parts.scale, self._parts.cruise
        is_enabled = bool(grad_scaler.is_enabled())
        scale.scaler = grad_scaler if is_enabled else None
        scale.gradients_scaled = is_enabled
        if is_enabled and (not cruise.on or cruise.is_plain):
            cruise.leave()
            scale.note()

    def _unscaled(self, _: Any, inside_step: bool) -> None:  # noqa: FBT001 - a fact
        self._parts.scale.gradients_scaled = False
        self._parts.scale.scaler_answers = inside_step

    def _watch_warnings(self) -> None:
        array_warnings.install(
            self._hooks, self._protect("array warning probe", self._array_warned)
        )

    def _array_warned(self, message: str, place: SourceSpan) -> None:
        step = self._parts.state.step
        self._parts.recorder.write(ArrayWarning(step=step, message=message, location=place))

    def _watch_compiler(self) -> None:
        descriptors, parts = self._descriptors, self._parts
        steps = StepsUnderRecord(descriptors.before_step, descriptors.after_step, parts.scale)
        CompilerProbe(
            self._hooks,
            steps=steps,
            compiled_steps=parts.sentinel.compiled_steps,
            runs_eagerly=self._runs_eagerly,
            entered=self._compiler_entered,
            optimizer_made=self._protect("optimizer probe", parts.optimizers.made),
            protect=self._protect,
        ).install()

    def _compiler_entered(self) -> None:
        parts = self._parts
        parts.modes.end()
        parts.calls.end()
        parts.recorder.write(CompilerEntered(step=parts.state.step))
        parts.handlers.current.program_compiles()
