"""What was measured where a check is answered with yes, one diagnosis per question."""

from __future__ import annotations

from statistics import median

from torchwhy.detect.checks.recorded_facts import backward_passes, evaluations, looked_at
from torchwhy.detect.views.training.training import trainings
from torchwhy.diagnosis import Diagnosis
from torchwhy.record.events import ExceptionSeen
from torchwhy.record.learning import (
    SAMPLES_QUESTION,
    Activation,
    Evaluated,
    Experiment,
    ForwardModes,
    GraphOperation,
    Holdings,
    ModelOutput,
    ParameterCensus,
)
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace
from torchwhy.record.wiring import SchedulerSeen


class NumbersChecked(Diagnosis):
    """The loss and the gradients of every step were checked."""

    steps: int
    backward_passes: int
    message = "{looked}"

    @property
    def looked(self) -> str:
        """Return how many steps, or backward passes, were checked."""
        if self.steps:
            return counted(self.steps, "step")
        return counted(self.backward_passes, "backward pass", "backward passes")


class Ended(Diagnosis):
    """How the program ended."""

    exit_code: int | None
    message = "{how}"

    @property
    def how(self) -> str:
        """Return the exit code, if the program has ended."""
        return "none so far" if self.exit_code is None else f"exit code {self.exit_code}"


class Raised(Diagnosis):
    """The exception that ended the program."""

    exception: str
    text: str
    message = "{exception}: {text}"


class ParametersSeen(Diagnosis):
    """How many parameters the observed steps trained."""

    parameters: int
    with_gradient: int
    message = "{with_gradient} of {parameters} got a gradient in the observed step"


class GraphSeen(Diagnosis):
    """How many operations led to the loss."""

    operations: int
    message = "{shown} of the observed step"

    @property
    def shown(self) -> str:
        """Return the number of operations in words."""
        return counted(self.operations, "operation")


class SamplesExchanged(Diagnosis):
    """One sample was exchanged, or no operation could mix samples."""

    rows: int
    message = "{shown}"

    @property
    def shown(self) -> str:
        """Return what was tried."""
        if not self.rows:
            return "no operation of the observed step can mix samples"
        return f"exchanging one sample moved none of {self.rows - 1} other outputs"


class ForwardsCounted(Diagnosis):
    """How often models ran forward."""

    forwards: int
    places: int
    message = "{shown}"

    @property
    def shown(self) -> str:
        """Return the number of forward passes, and of places in the program."""
        forwards = counted(self.forwards, "forward pass", "forward passes")
        return f"{forwards} at {counted(self.places, 'place')}"


class MemoryLookedAt(Diagnosis):
    """How often the program's variables were looked at."""

    snapshots: int
    message = "variables looked at {snapshots} times"


class LossCourse(Diagnosis):
    """The losses of the first steps, and those of the second half."""

    first: float
    last: float
    message = "{first:.4g} → {last:.4g}"


class LayersSeen(Diagnosis):
    """How many activations were measured."""

    activations: int
    message = "{shown} measured"

    @property
    def shown(self) -> str:
        """Return the number of activations in words."""
        return counted(self.activations, "activation")


class InputSize(Diagnosis):
    """The size of what goes into the model and comes out of it."""

    input_rms: float
    output_rms: float
    message = "RMS {input_rms:.3g} in, {output_rms:.3g} out"


class RatesSeen(Diagnosis):
    """Schedulers, and the learning rates at the first and last step."""

    schedulers: list[str]
    first: float
    last: float
    message = "{shown}{first:.3g} → {last:.3g}"

    @property
    def shown(self) -> str:
        """Return the kinds of schedulers."""
        return f"{', '.join(self.schedulers)}: " if self.schedulers else ""


class TimesLookedAt(Diagnosis):
    """How many things a probe compared."""

    what: str
    times: int
    message = "{what}: {times} compared"


class EvaluationCourse(Diagnosis):
    """The first and the last loss in evaluation."""

    first: float
    last: float
    evaluations: int
    message = "{first:.4g} → {last:.4g} in {evaluations} evaluations"


def counted(number: int, one: str, several: str | None = None) -> str:
    """Return `1 step` or `3 steps`."""
    return f"1 {one}" if number == 1 else f"{number} {several or one + 's'}"


def numbers(trace: Trace) -> Diagnosis:
    """Return how many steps were checked."""
    return NumbersChecked(steps=len(trace.steps), backward_passes=backward_passes(trace))


def ending(trace: Trace) -> Diagnosis:
    """Return how the program ended."""
    return Ended(exit_code=trace.exit_code)


def uncaught(trace: Trace) -> Diagnosis | None:
    """Return the exception that ended the program."""
    seen = next((one for one in trace.of(ExceptionSeen) if one.caught is False), None)
    return None if seen is None else Raised(exception=seen.type, text=seen.message)


def parameters(trace: Trace) -> Diagnosis:
    """Return how many parameters got a gradient."""
    seen = {one.name: one for census in trace.of(ParameterCensus) for one in census.parameters}
    return ParametersSeen(
        parameters=len(seen),
        with_gradient=sum(one.gradient == "nonzero" for one in seen.values()),
    )


def graph(trace: Trace) -> Diagnosis:
    """Return how many operations were recorded."""
    return GraphSeen(operations=len(trace.of(GraphOperation)))


def samples(trace: Trace) -> Diagnosis:
    """Return what the experiment on samples did."""
    rows = [
        int(float(str(one.answer["rows"])))
        for one in trace.of(Experiment)
        if one.question == SAMPLES_QUESTION and "rows" in one.answer
    ]
    return SamplesExchanged(rows=max(rows, default=0))


def training_modes(trace: Trace) -> Diagnosis:
    """Return how often models ran in training."""
    return _forwards([one for one in trace.of(ForwardModes) if one.backwards])


def evaluation_modes(trace: Trace) -> Diagnosis:
    """Return how often models ran in evaluation."""
    return _forwards(evaluations(trace))


def _forwards(modes: list[ForwardModes]) -> Diagnosis:
    return ForwardsCounted(forwards=sum(one.count for one in modes), places=len(modes))


def memory(trace: Trace) -> Diagnosis:
    """Return how often memory was looked at."""
    return MemoryLookedAt(snapshots=len(trace.of(Holdings)))


def losses(trace: Trace) -> Diagnosis | None:
    """Return the course of the losses of the optimizer with most of them."""
    longest = max(trainings(trace), key=lambda one: len(one.losses), default=None)
    if longest is None or not longest.losses:
        return None
    return LossCourse(first=median(longest.head), last=median(longest.tail))


def layers(trace: Trace) -> Diagnosis:
    """Return how many activations were measured."""
    return LayersSeen(activations=len(trace.of(Activation)))


def sizes(trace: Trace) -> Diagnosis | None:
    """Return the size of the first model's input and output."""
    seen = next(iter(trace.of(ModelOutput)), None)
    if seen is None:
        return None
    return InputSize(input_rms=decode(seen.given_rms), output_rms=decode(seen.rms))


def rates(trace: Trace) -> Diagnosis | None:
    """Return the schedulers and learning rates."""
    seen = [max(step.rates) for step in trace.steps if step.rates]
    if not seen:
        return None
    kinds = list(dict.fromkeys(one.kind for one in trace.of(SchedulerSeen)))
    return RatesSeen(schedulers=kinds, first=seen[0], last=seen[-1])


def averages(trace: Trace) -> Diagnosis:
    """Return how many averages were compared."""
    return TimesLookedAt(what="averages over a loader", times=looked_at(trace, "average"))


def loaded_weights(trace: Trace) -> Diagnosis:
    """Return how many loads were compared."""
    return TimesLookedAt(what="loads of kept weights", times=looked_at(trace, "loaded weights"))


def evaluated(trace: Trace) -> Diagnosis | None:
    """Return the longest course of a loss in evaluation."""
    longest = max(trace.of(Evaluated), key=lambda one: len(one.values), default=None)
    if longest is None:
        return None
    return EvaluationCourse(
        first=longest.values[0], last=longest.values[-1], evaluations=len(longest.values)
    )
