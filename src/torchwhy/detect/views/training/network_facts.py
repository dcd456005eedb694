"""What the microscope and the experiments recorded of a network: activations, outputs, curvature, symmetry."""

from __future__ import annotations

import math
from statistics import median

from torchwhy.detect.views.training.training import Training
from torchwhy.plain_data import dataclass
from torchwhy.record.learning import (
    Activation,
    Experiment,
    ModelOutput,
    ParameterCensus,
    ParameterSeen,
)
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace

IDENTICAL = 1e-6  # Relative difference between two rows that float32 rounding explains.
INPUTS_GREW = 10.0  # Square of the inputs' growth; few learning rates leave a larger margin.
RECTIFIERS = frozenset({"relu", "threshold", "clamp_min", "hardtanh", "clamp"})
SQUASHERS = frozenset({"sigmoid", "tanh"})
TOO_SMALL = 0.03  # At this RMS × √inputs a layer passes on a thirtieth of its input.
# Weights whose size is no gain: a row is looked up, or the gates bound the output.
UNLIKE_LINEAR = ("Embedding", "EmbeddingBag", "LSTM", "GRU", "RNN")
CURVATURE = "which learning rate is stable here?"
SYMMETRY = "do equal rows of a weight become different?"


@dataclass(frozen=True)
class Measured:
    """One answer of the curvature experiment; `ratio` is the learning rate over the highest stable one."""

    step: int
    curvature: float
    rate: float
    stable_rate: float
    ratio: float
    bound: float
    possible: float
    partial: bool = False
    arrived: float = 1.0


def curvatures(trace: Trace, training: Training, *, in_part: bool = False) -> list[Measured]:
    """Return the answers of the curvature experiment for one optimizer, oldest first.

    `in_part` includes answers for a part of the weights only; the whole is at least as curved.
    """
    found = []
    for experiment in trace.of(Experiment):
        answer = experiment.answer
        if experiment.question != CURVATURE or "curvature" not in answer:
            continue
        partial = answer.get("partial") is True
        if answer.get("optimizer") == training.made.index and (in_part or not partial):
            found.append(
                Measured(
                    step=experiment.step,
                    curvature=_number(answer["curvature"]),
                    rate=_number(answer["rate"]),
                    stable_rate=_number(answer["stable rate"]),
                    ratio=_number(answer["ratio"]),
                    bound=_number(answer["bound"]),
                    possible=_number(answer["possible"]),
                    partial=partial,
                    arrived=_number(answer.get("arrived", 1.0)),
                )
            )
    return [measured for measured in found if math.isfinite(measured.curvature)]


def _number(value: object) -> float:
    return decode(value) if isinstance(value, (int, float, str)) else math.nan


def last_observed_step(trace: Trace) -> int | None:
    """Return the last step whose activations or output were recorded; None if only the first step was."""
    steps = {event.step for event in trace.of(Activation)} | {
        event.step for event in trace.of(ModelOutput)
    }
    return max((step for step in steps if step > 0), default=None)


def activations(trace: Trace, step: int, ops: frozenset[str]) -> list[Activation]:
    """Return the activations recorded at one step whose operation is in `ops`, in order."""
    return [a for a in trace.of(Activation) if a.step == step and a.op in ops]


def training_outputs(trace: Trace, step: int) -> list[ModelOutput]:
    """Return the outputs of the models at one step that were computed with gradients."""
    return [o for o in trace.of(ModelOutput) if o.step == step and o.grad]


def input_growth(trace: Trace) -> tuple[ModelOutput, ModelOutput] | None:
    """Return the first and the last recorded call of a model, if its inputs grew enough to destabilise training.

    The curvature of the loss grows with the square of the inputs.
    """
    rerun = trace.rerun.of(ModelOutput) if trace.rerun is not None else []
    seen = [o for o in (*trace.of(ModelOutput), *rerun) if o.given is not None and o.grad]
    seen = [o for o in seen if not o.given_computed and math.isfinite(decode(o.given_rms))]
    first = next((o for o in seen if o.step == 0), None)
    if first is None:
        return None
    last = max((o for o in seen if o.path == first.path), key=lambda o: o.step)
    grown = decode(last.given_rms) ** 2 >= INPUTS_GREW * decode(first.given_rms) ** 2
    return (first, last) if grown and decode(first.given_rms) else None


def constant_output(trace: Trace, step: int) -> ModelOutput | None:
    """Return the last output at a step if all its rows are the same although the input's rows differ.

    If a network consists of several modules, the input of any of them counts.
    """
    outputs = [output for output in training_outputs(trace, step) if output.rows > 1]
    varied = any(decode(output.input_spread) > IDENTICAL for output in outputs)
    return outputs[-1] if varied and decode(outputs[-1].spread) <= IDENTICAL else None


def dead_layers(trace: Trace, step: int) -> list[Activation]:
    """Return the ReLU layers in which no unit fired for any of several samples."""
    return [
        a
        for a in activations(trace, step, RECTIFIERS)
        if a.units and a.dead == a.units and a.shape and a.shape[0] > 1
    ]


def first_census(trace: Trace, training: Training) -> dict[str, ParameterSeen]:
    """Return the parameters at an optimizer's first step, by name."""
    for census in trace.of(ParameterCensus):
        if census.optimizer == training.made.index:
            return {parameter.name: parameter for parameter in census.parameters}
    return {}


def weight_names(training: Training) -> list[str]:
    """Return the weights with two or more dimensions in the optimizer's order, which is that of the layers."""
    described = training.described
    if described is None:
        return []
    return [
        name
        for name, shape in zip(described.parameters, described.shapes, strict=True)
        if len(shape) > 1
    ]


def still_symmetric(trace: Trace, training: Training) -> list[str]:
    """Return the weights whose rows were equal at the start and still are after many updates."""
    answers = [
        e.answer
        for e in trace.of(Experiment)
        if e.question == SYMMETRY and e.answer.get("optimizer") == training.made.index
    ]
    return str(answers[-1].get("still equal", "")).split() if answers else []


def initial_gains(trace: Trace, training: Training) -> list[tuple[ParameterSeen, float]]:
    """Return the randomly initialised weights of linear and convolutional layers, with RMS × √inputs of each."""
    seen = first_census(trace, training)
    names = [name for name in weight_names(training) if name in seen]
    return [
        (seen[name], decode(seen[name].rms) * math.sqrt(math.prod(seen[name].shape[1:])))
        for name in names
        if seen[name].written_by == "random"
        and seen[name].owner not in UNLIKE_LINEAR
        and decode(seen[name].rms) > 0
        and (seen[name].owner is not None or len(seen[name].shape) == 2)
    ]


def starts_faint(trace: Trace, training: Training) -> bool:
    """Tell whether the initial weights are so small that any update is large relative to them."""
    gains = [gain for _, gain in initial_gains(trace, training)]
    return len(gains) > 1 and median(gains) <= TOO_SMALL
