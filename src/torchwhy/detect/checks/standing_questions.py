"""The questions that every run is asked, in the order in which they are listed. A "yes" is good news."""

from __future__ import annotations

from torchwhy.detect.checks import measured_answers as measured
from torchwhy.detect.checks import recorded_facts as facts
from torchwhy.detect.checks.asked_question import StandingQuestion, ask

CAUSES = "torchwhy.detect.causes."

FINITE = ask(
    "finite-numbers",
    "Is every loss, gradient and weight finite?",
    facts.CHECKED_NUMBERS,
    by=measured.numbers,
)
EXCEPTIONS = ask(
    "no-exceptions",
    "Does the program run without an exception?",
    facts.EXCEPTIONS,
    by=measured.ending,
    denied=measured.uncaught,
)
UPDATES = ask(
    "updates-in-order",
    "Are gradients cleared and applied in order?",
    facts.CALL_ORDER,
    by=measured.numbers,
)
PARAMETERS = ask(
    "parameters-train",
    "Does every parameter get a gradient and an update?",
    facts.CENSUS,
    facts.GRAPH,
    by=measured.parameters,
)
LOSS_FITS = ask(
    "loss-fits-output",
    "Does the loss fit what the model returns?",
    facts.GRAPH,
    by=measured.graph,
)
SAMPLES = ask(
    "samples-stand-alone",
    "Does each sample stand alone?",
    facts.GRAPH,
    facts.SAMPLES,
    by=measured.samples,
)
LAYERS = ask(
    "layers-pass-signals",
    "Do signals pass through all layers?",
    facts.GRAPH,
    facts.ACTIVITY,
    facts.UNBROKEN,
    by=measured.layers,
)
SIZES = ask(
    "usual-sizes",
    "Are inputs, targets and weights of a usual size?",
    facts.OUTPUTS,
    by=measured.sizes,
)
STABLE = ask(
    "steps-stable",
    "Are the updates short enough to be stable?",
    facts.LOSSES,
    facts.COURSE,
    by=measured.losses,
)
FALLS = ask(
    "loss-falls",
    "Does the loss fall?",
    facts.PROGRESS,
    facts.FELL,
    facts.UNBROKEN,
    by=measured.losses,
)
SCHEDULE = ask(
    "schedule",
    "Does the learning rate follow its schedule?",
    facts.SCHEDULE,
    by=measured.rates,
)
TRAINING_MODE = ask(
    "training-mode",
    "Is the model in train mode in training?",
    facts.TRAINING_MODES,
    by=measured.training_modes,
)
EVALUATION_MODE = ask(
    "evaluation-mode",
    "Is the model in eval mode in evaluation?",
    facts.EVALUATION_MODES,
    by=measured.evaluation_modes,
)
AVERAGES = ask(
    "averages",
    "Are averages over batches averages over samples?",
    facts.AVERAGES,
    by=measured.averages,
)
GENERALISES = ask(
    "evaluation-follows",
    "Does the evaluation loss follow the training loss?",
    facts.EVALUATED,
    facts.UNBROKEN,
    by=measured.evaluated,
)
KEPT_WEIGHTS = ask(
    "kept-weights",
    "Do kept weights stay as they were kept?",
    facts.LOADED_WEIGHTS,
    by=measured.loaded_weights,
)
MEMORY = ask(
    "memory-bounded",
    "Does the memory in use stay within bounds?",
    facts.SNAPSHOTS,
    by=measured.memory,
)
OTHER = ask("other-packages", "Are the causes of other packages absent?")

QUESTIONS = (
    *(FINITE, EXCEPTIONS, UPDATES, PARAMETERS, LOSS_FITS, SAMPLES, LAYERS, SIZES, STABLE, FALLS),
    *(SCHEDULE, TRAINING_MODE, EVALUATION_MODE, AVERAGES, GENERALISES, KEPT_WEIGHTS, MEMORY),
)

OF_FAMILY = {
    "numerics": FINITE,
    "machines": FINITE,
    "errors": EXCEPTIONS,
    "memory": MEMORY,
    "wiring": UPDATES,
    "dynamics": FALLS,
    "data": SIZES,
    "ranks": UPDATES,
}


def question_of_family(module: str) -> StandingQuestion:
    """Return the question of the family that a cause's module belongs to."""
    if not module.startswith(CAUSES):
        return OTHER
    return OF_FAMILY[module.removeprefix(CAUSES).partition(".")[0]]
