"""The facts that a check rests on: how a trace shows that they were recorded, and which probes record them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from torchwhy.detect.views.memory.growth import FEWEST_OF_BATCHES, FEWEST_SNAPSHOTS
from torchwhy.detect.views.training.training import ENOUGH_STEPS, trainings
from torchwhy.plain_data import dataclass
from torchwhy.record.events import (
    MicroscopeLeft,
    MissingFeature,
    ProbeFailed,
    RunStarted,
)
from torchwhy.record.learning import (
    SAMPLES_QUESTION,
    Evaluated,
    Experiment,
    ForwardModes,
    GraphOperation,
    Holdings,
    LossRoot,
    ModelOutput,
    ParameterCensus,
)
from torchwhy.record.trace import Trace
from torchwhy.record.wiring import CallsCounted, LookedAt, SchedulerSeen

FEWEST_LOSSES = 4  # Fewer losses show no course.
FEWEST_EVALUATIONS = 6  # A curve of fewer evaluations shows no turn.
ORDERED_STEPS = 2  # The second step shows what the first left behind.


@dataclass(frozen=True)
class Obstacle:
    """Why a question could not be asked; `is_blind` if torchwhy did not see what the program does.

    `is_measured`: there are numbers, which do not answer the question.
    """

    reason: str
    is_blind: bool = False
    is_measured: bool = False


@dataclass(frozen=True)
class Need:
    """A recorded fact. `probes` record it; if one of them failed, the fact is not known for the whole run.

    `absent` says why a program may not give it. `by_microscope` means that only an observed step gives it. Without one
    that `leaves_numbers`, what the question measures is known and tells nothing.
    """

    is_met: Callable[[Trace], bool]
    absent: str | Callable[[Trace], str]
    probes: tuple[str, ...] = ()
    by_microscope: bool = False
    leaves_numbers: bool = False

    def obstacle(self, trace: Trace) -> Obstacle | None:
        """Return why a trace lacks the fact; None if it has it."""
        blind = next(self._blindness(trace), None)
        if blind is not None:
            return Obstacle(blind, is_blind=True)
        if self.is_met(trace):
            return None
        left = trace.of(MicroscopeLeft)
        if self.by_microscope and any(one.compiled for one in left):
            return Obstacle(
                "the program compiles its model, so no step was observed", is_blind=True
            )
        if self.by_microscope and any(one.cut_short for one in left):
            return Obstacle("no whole step was observed", is_blind=True)
        reason = self.absent if isinstance(self.absent, str) else self.absent(trace)
        return Obstacle(reason, is_measured=self.leaves_numbers)

    def _blindness(self, trace: Trace) -> Iterator[str]:
        for failure in trace.of(ProbeFailed):
            if failure.probe in self.probes:
                yield f"the {failure.probe} failed"
        for feature in missing_features(trace):
            for probe in feature.left_out:
                if probe in self.probes:
                    yield f"the {probe} is off: {', '.join(feature.names)} is missing"


def missing_features(trace: Trace) -> Iterator[MissingFeature]:
    """Yield what torch and Python lack."""
    for started in trace.of(RunStarted):
        yield from started.missing


def backward_passes(trace: Trace) -> int:
    """Return the number of backward passes that were counted."""
    return max((one.counts.get("backward", 0) for one in trace.of(CallsCounted)), default=0)


def looked_at(trace: Trace, what: str) -> int:
    """Return how many things of a kind a probe judged."""
    return sum(one.times for one in trace.of(LookedAt) if one.what == what)


def evaluations(trace: Trace) -> list[ForwardModes]:
    """Return the places where a model ran without feeding a backward pass."""
    return [one for one in trace.of(ForwardModes) if not one.backwards and not one.discarded]


def _has_judged_losses(trace: Trace) -> bool:
    return any(training.is_judged for training in trainings(trace))


def _why_losses_are_not_judged(trace: Trace) -> str:
    every = list(trainings(trace))
    if not every:
        return "no optimizer step was seen"
    if max(len(one.losses) for one in every) < ENOUGH_STEPS:
        return f"fewer than {ENOUGH_STEPS} losses were seen"
    if not any(one.alone for one in every):
        return "optimizers take turns, so a lower loss of one is no progress"
    return "the losses do not measure progress: some are below 0, or they are maximised"


def _why_it_did_not_fall(trace: Trace) -> str:
    if trace.was_cut:
        return (
            "it has not fallen within the rehearsal, and only the whole run shows whether it does"
        )
    return "it has not fallen, and nothing shows whether it should: the loss of a policy need not"


def answered(trace: Trace, question: str) -> list[Experiment]:
    """Return the experiments that were made for a question; an event with `refused` says why one was not."""
    every = trace.of(Experiment)
    return [one for one in every if one.question == question and "refused" not in one.answer]


def experiment(question: str, absent: str, *, probes: tuple[str, ...] = ()) -> Need:
    """Return the need for an experiment, which an `Experiment` event of this name records."""

    def refusal(trace: Trace) -> str:
        for one in trace.of(Experiment):
            if one.question == question and "refused" in one.answer:
                return str(one.answer["refused"])
        return absent

    return Need(lambda trace: bool(answered(trace, question)), refusal, probes=probes)


def _has_snapshots(trace: Trace) -> bool:
    every = trace.of(Holdings)
    by_step = sum(one.moment in ("step", "exit") for one in every)
    by_batch = sum(one.moment == "batch" for one in every)
    return by_step >= FEWEST_SNAPSHOTS or by_batch >= FEWEST_OF_BATCHES


STEP_PROBES = ("loss probe", "step probe", "optimizer probe", "cruise")
OBSERVING = ("microscope", "module probe", "phase probe")

UNBROKEN = Need(lambda trace: not trace.alarms, "the run broke before")
CHECKED_NUMBERS = Need(
    lambda trace: bool(trace.steps) or backward_passes(trace) > 0,
    "no optimizer step and no backward pass was seen",
    probes=(*STEP_PROBES, "read probe"),
)
EXCEPTIONS = Need(lambda _: True, "", probes=("exception probe", "exception watch", "autopsy"))
STEPS = Need(lambda trace: bool(trace.steps), "no optimizer step was seen", probes=STEP_PROBES)
CALL_ORDER = Need(
    lambda trace: len(trace.steps) >= ORDERED_STEPS or backward_passes(trace) >= ORDERED_STEPS,
    "fewer than two steps were seen",
    probes=(*STEP_PROBES, "call order probe", "update probe"),
)
CENSUS = Need(
    lambda trace: bool(trace.of(ParameterCensus)),
    "no optimizer step was seen",
    probes=("census probe", "optimizer probe", *OBSERVING),
    by_microscope=True,
)
GRAPH = Need(
    lambda trace: (
        bool(trace.of(GraphOperation)) and any(r.order is not None for r in trace.of(LossRoot))
    ),
    "no backward pass was seen",
    probes=("graph probe", *OBSERVING),
    by_microscope=True,
)
ACTIVITY = Need(GRAPH.is_met, GRAPH.absent, probes=("activity probe",), by_microscope=True)
OUTPUTS = Need(
    lambda trace: bool(trace.of(ModelOutput)),
    "no module was called in the observed step",
    probes=("activity probe",),
    by_microscope=True,
)
SAMPLES = replace(
    experiment(SAMPLES_QUESTION, "no step was observed", probes=("samples experiment",)),
    by_microscope=True,
)
LOSSES = Need(
    lambda trace: any(len(one.losses) >= FEWEST_LOSSES for one in trainings(trace)),
    f"fewer than {FEWEST_LOSSES} losses were seen",
    probes=(*STEP_PROBES, "signals"),
)
COURSE = Need(
    lambda trace: any(not one.is_beginning for one in trainings(trace)),
    "only the whole run shows it: the rehearsal ended within "
    f"{ENOUGH_STEPS} steps or in a warm-up of the learning rate",
)
FELL = Need(
    lambda trace: any(one.fell for one in trainings(trace)),
    _why_it_did_not_fall,
    leaves_numbers=True,
)
PROGRESS = Need(_has_judged_losses, _why_losses_are_not_judged, probes=STEP_PROBES)
TRAINING_MODES = Need(
    lambda trace: any(one.backwards for one in trace.of(ForwardModes)),
    "no module ran forward before a backward pass",
    probes=("mode probe",),
    by_microscope=True,
)
EVALUATION_MODES = Need(
    lambda trace: bool(evaluations(trace)),
    "no model was evaluated",
    probes=("mode probe", "dropout probe"),
    by_microscope=True,
)
SNAPSHOTS = Need(
    _has_snapshots, "the run is too short to show growth", probes=("holdings probe", *STEP_PROBES)
)
SCHEDULE = Need(
    lambda trace: (
        bool(trace.of(SchedulerSeen)) or any(len(one.rates) > 1 for one in trainings(trace))
    ),
    "the program never changes a learning rate",
    probes=("call order probe", *STEP_PROBES),
)
AVERAGES = Need(
    lambda trace: looked_at(trace, "average") > 0,
    "no average over the batches of a loader was read",
    probes=("evaluation probe", "read probe"),
)
LOADED_WEIGHTS = Need(
    lambda trace: looked_at(trace, "loaded weights") > 0,
    "the program loads no weights that it kept",
    probes=("weights probe",),
)
EVALUATED = Need(
    lambda trace: any(len(one.values) >= FEWEST_EVALUATIONS for one in trace.of(Evaluated)),
    f"no loss was evaluated {FEWEST_EVALUATIONS} times",
    probes=("evaluation probe", "read probe"),
)
