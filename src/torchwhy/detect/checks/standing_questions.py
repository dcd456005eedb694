"""The questions that every run is asked, in the order in which they are listed. A "yes" is good news."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torchwhy.detect.checks import measured_answers as measured
from torchwhy.detect.checks import recorded_facts as facts
from torchwhy.detect.checks.recorded_facts import Need
from torchwhy.diagnosis import Diagnosis
from torchwhy.question import Question
from torchwhy.record.trace import Trace

CAUSES = "torchwhy.detect.causes."
Measure = Callable[[Trace], Diagnosis | None]


@dataclass(frozen=True)
class StandingQuestion:
    """A question, the facts that its answer rests on, and what to measure for a yes.

    The causes that answer it name it (`Detector.question`), and may need further facts (`Detector.needs`). `denied`
    returns a recorded fact that answers no where no cause is known.
    """

    question: Question
    needs: tuple[Need, ...]
    measure: Measure
    denied: Measure


def _nothing(_: Trace) -> None:
    return None


def _asked(
    slug: str, words: str, *needs: Need, by: Measure = _nothing, denied: Measure = _nothing
) -> StandingQuestion:
    return StandingQuestion(Question(slug, words), needs, by, denied)


FINITE = _asked(
    "finite-numbers",
    "Is every loss, gradient and weight finite?",
    facts.CHECKED_NUMBERS,
    by=measured.numbers,
)
EXCEPTIONS = _asked(
    "no-exceptions",
    "Does the program run without an exception?",
    facts.EXCEPTIONS,
    by=measured.ending,
    denied=measured.uncaught,
)
UPDATES = _asked(
    "updates-in-order",
    "Are gradients cleared and applied in order?",
    facts.CALL_ORDER,
    by=measured.numbers,
)
PARAMETERS = _asked(
    "parameters-train",
    "Does every parameter get a gradient and an update?",
    facts.CENSUS,
    facts.GRAPH,
    by=measured.parameters,
)
LOSS_FITS = _asked(
    "loss-fits-output",
    "Does the loss fit what the model returns?",
    facts.GRAPH,
    by=measured.graph,
)
SAMPLES = _asked(
    "samples-stand-alone",
    "Does each sample stand alone?",
    facts.GRAPH,
    facts.SAMPLES,
    by=measured.samples,
)
LAYERS = _asked(
    "layers-pass-signals",
    "Do signals pass through all layers?",
    facts.GRAPH,
    facts.ACTIVITY,
    facts.UNBROKEN,
    by=measured.layers,
)
SIZES = _asked(
    "usual-sizes",
    "Are inputs, targets and weights of a usual size?",
    facts.OUTPUTS,
    by=measured.sizes,
)
STABLE = _asked(
    "steps-stable",
    "Are the updates short enough to be stable?",
    facts.LOSSES,
    by=measured.losses,
)
FALLS = _asked(
    "loss-falls", "Does the loss fall?", facts.PROGRESS, facts.UNBROKEN, by=measured.losses
)
SCHEDULE = _asked(
    "schedule",
    "Does the learning rate follow its schedule?",
    facts.SCHEDULE,
    by=measured.rates,
)
TRAINING_MODE = _asked(
    "training-mode",
    "Is the model in train mode in training?",
    facts.TRAINING_MODES,
    by=measured.training_modes,
)
EVALUATION_MODE = _asked(
    "evaluation-mode",
    "Is the model in eval mode in evaluation?",
    facts.EVALUATION_MODES,
    by=measured.evaluation_modes,
)
AVERAGES = _asked(
    "averages",
    "Are averages over batches averages over samples?",
    facts.AVERAGES,
    by=measured.averages,
)
GENERALISES = _asked(
    "evaluation-follows",
    "Does the evaluation loss follow the training loss?",
    facts.EVALUATED,
    facts.UNBROKEN,
    by=measured.evaluated,
)
KEPT_WEIGHTS = _asked(
    "kept-weights",
    "Do kept weights stay as they were kept?",
    facts.LOADED_WEIGHTS,
    by=measured.loaded_weights,
)
MEMORY = _asked(
    "memory-bounded",
    "Does the memory in use stay within bounds?",
    facts.SNAPSHOTS,
    by=measured.memory,
)
OTHER = _asked("other-packages", "Are the causes of other packages absent?")

QUESTIONS = (
    *(FINITE, EXCEPTIONS, UPDATES, PARAMETERS, LOSS_FITS, SAMPLES, LAYERS, SIZES, STABLE, FALLS),
    *(SCHEDULE, TRAINING_MODE, EVALUATION_MODE, AVERAGES, GENERALISES, KEPT_WEIGHTS, MEMORY),
    OTHER,
)

OF_FAMILY = {
    "numerics": FINITE,
    "machines": FINITE,
    "errors": EXCEPTIONS,
    "memory": MEMORY,
    "wiring": UPDATES,
    "dynamics": FALLS,
}


def question_of_family(module: str) -> StandingQuestion:
    """Return the question of the family that a cause's module belongs to."""
    if not module.startswith(CAUSES):
        return OTHER
    return OF_FAMILY[module.removeprefix(CAUSES).partition(".")[0]]
