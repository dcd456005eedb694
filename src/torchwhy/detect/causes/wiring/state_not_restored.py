from __future__ import annotations

import math
from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.questions.state.all_restored import QUESTION
from torchwhy.detect.views.kept.checkpoint_entries import goes_on_from
from torchwhy.detect.views.parameters.trained_parameters import kind_of, steps_of
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Severity
from torchwhy.record.kept.kept_state import CheckpointEntry, CheckpointMet, CheckpointRead
from torchwhy.record.trace import Trace
from torchwhy.record.wiring import SchedulerSeen
from torchwhy.source.analyses.constructors import only_call

SAME = 1e-9  # Relative difference of settings that are the same.
JUMP = 1.5  # Between the saved learning rate and the one of the first steps; one step of a schedule is less.


class OptimizerNotRestored(Diagnosis):
    """Training goes on with the weights of a checkpoint and with an optimizer that has forgotten its steps."""

    key: str
    optimizer: str
    size: int
    count_key: str
    count: float
    rate: float
    saved_rate: float
    message = (
        "the weights are restored, the optimizer is not: {optimizer} begins anew, "
        "although the checkpoint holds its state as {key!r}"
    )
    advice = "call `optimizer.load_state_dict(checkpoint[{key!r}])` after the model's"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"the checkpoint has {self.size} tensors of the optimizer (momentum, averages of gradients); "
            "before its first step the optimizer has none",
            value=float(self.size),
        )
        if self.count_key:
            yield Evidence(
                f"the program reads {self.count_key!r} ({self.count:g}) from the checkpoint to go on from there",
                value=self.count,
            )
        if not math.isclose(self.rate, self.saved_rate, rel_tol=SAME):
            yield Evidence(
                f"the learning rate jumps from {self.saved_rate:g} to {self.rate:g}",
                value=self.rate,
            )


class SchedulerNotRestored(Diagnosis):
    """The learning rate begins its schedule anew, although the checkpoint holds where it was."""

    key: str
    scheduler: str
    position: float
    begins: int
    saved_rate: float
    rate: float
    message = (
        "the schedule begins anew: {scheduler} is at {begins} instead of {position:g}, "
        "and the learning rate jumps from {saved_rate:g} to {rate:g}"
    )
    advice = "call `scheduler.load_state_dict(checkpoint[{key!r}])`"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"the checkpoint holds the scheduler's state as {self.key!r}, at {self.position:g}",
            value=self.position,
        )


class RateNotRestored(Diagnosis):
    """The schedule goes on, but the first steps run with its initial learning rate."""

    scheduler: str
    position: int
    saved_rate: float
    rate: float
    next_rate: float
    steps: int
    message = (
        "the learning rate jumps from {saved_rate:g} to {rate:g}, although {scheduler} goes on where it was: making a "
        "scheduler after the optimizer's state is loaded sets the rate back to its initial value"
    )
    advice = (
        "make the scheduler first and load the optimizer's state after it, or load that state once more after the "
        "scheduler's"
    )

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"{self.steps} optimizer steps ran at that rate; then the first step of the scheduler, which is at "
            f"{self.position}, set it to {self.next_rate:g}",
            value=self.next_rate,
        )


class StateNotRestored(Detector):
    """Training goes on from a checkpoint and leaves a part of it behind."""

    name = "state-not-restored"
    question = QUESTION

    def scan(self, trace: Trace) -> Iterator[Finding]:
        reads = {one.index: one for one in trace.of(CheckpointRead)}
        for met in trace.of(CheckpointMet):
            read = reads.get(met.read)
            if read is None or not _is_loaded(met):
                continue
            every = [one for one in read.entries if one.kind == "optimizer"]
            saved = next((one for one in every if _is_same_setup(one, met)), None)
            if saved is not None:
                yield from self._optimizer(trace, read, met, saved)
                yield from self._scheduler(trace, read, met, saved)

    def _optimizer(
        self, trace: Trace, read: CheckpointRead, met: CheckpointMet, saved: CheckpointEntry
    ) -> Iterator[Finding]:
        if not saved.size or met.kept:
            return
        count = next((one for one in read.entries if goes_on_from(trace, one)), None)
        severity: Severity = "warning" if count is not None else "note"
        diagnosis = OptimizerNotRestored(
            key=saved.key,
            optimizer=kind_of(trace, met.optimizer),
            size=saved.size,
            count_key=count.key if count is not None else "",
            count=count.position if count is not None else 0.0,
            rate=max(met.rates, default=0.0),
            saved_rate=max(saved.rates, default=0.0),
        )
        yield self.found(trace, diagnosis, severity=severity, step=met.step, location=read.location)

    def _scheduler(
        self, trace: Trace, read: CheckpointRead, met: CheckpointMet, saved: CheckpointEntry
    ) -> Iterator[Finding]:
        entry = next((one for one in read.entries if one.kind == "scheduler"), None)
        steps = steps_of(trace, met.optimizer)
        seen = next(
            (one for one in trace.of(SchedulerSeen) if one.optimizer == met.optimizer), None
        )
        if entry is None or seen is None or not met.kept or seen.position < 0:
            return
        before = max(saved.rates, default=0.0)
        rates = [max(one.rates) for one in steps if one.rates]
        rate = max(rates[:3], default=0.0)
        if not before or not rate or 1 / JUMP < rate / before < JUMP:
            return
        if seen.position >= entry.position:
            after = next((one for one in rates if one != rates[0]), rates[0])
            is_initial = any(math.isclose(rate, one, rel_tol=SAME) for one in saved.initial_rates)
            if is_initial and rates[0] == rate >= JUMP * after:
                yield self._rate(
                    trace,
                    read,
                    met,
                    RateNotRestored(
                        scheduler=seen.kind,
                        position=seen.position,
                        saved_rate=before,
                        rate=rate,
                        next_rate=after,
                        steps=seen.optimizer_steps,
                    ),
                )
            return
        diagnosis = SchedulerNotRestored(
            key=entry.key,
            scheduler=seen.kind,
            position=entry.position,
            begins=seen.position,
            saved_rate=before,
            rate=rate,
        )
        yield self.found(
            trace, diagnosis, severity="warning", step=met.step, location=read.location
        )

    def _rate(
        self, trace: Trace, read: CheckpointRead, met: CheckpointMet, diagnosis: RateNotRestored
    ) -> Finding:
        made = only_call(trace.files.values(), diagnosis.scheduler)
        return self.found(
            trace, diagnosis, severity="warning", step=met.step, location=made or read.location
        )


def _is_loaded(met: CheckpointMet) -> bool:
    """Tell whether the model that trains has the weights of the checkpoint."""
    is_whole = met.fits == met.parameters
    return is_whole and (met.applied == "here" or bool(met.compared and met.equal == met.compared))


def _is_same_setup(saved: CheckpointEntry, met: CheckpointMet) -> bool:
    """Tell whether the optimizer is made as the saved one was; fine-tuning has another rate or other groups."""
    if saved.groups != met.groups or saved.settings != met.settings:
        return False
    return all(
        math.isclose(now, first, rel_tol=SAME) or math.isclose(now, last, rel_tol=SAME)
        for now, first, last in zip(met.rates, saved.initial_rates, saved.rates, strict=True)
    )
