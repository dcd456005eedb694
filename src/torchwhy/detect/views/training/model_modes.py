"""The mode in which a model runs at each place of the program, and the call that switched it."""

from __future__ import annotations

from torchwhy.detect.views.graph.graph_queries import ERRORS, ForwardGraph, base_of
from torchwhy.detect.views.parameters.trained_parameters import ENOUGH_UPDATES
from torchwhy.finding import SourceSpan
from torchwhy.record.learning import ForwardModes, GraphOperation, ParameterCensus
from torchwhy.record.trace import Trace

CHOICES = {"multinomial", "eq", "ne"}
MANY_STEPS = 10  # at which a model gives targets; fewer may be a test


def modes_of(trace: Trace, path: str) -> list[ForwardModes]:
    """Return the modes in which one model ran, one entry per place of the program."""
    return [mode for mode in trace.of(ForwardModes) if mode.path == path]


def training_modes(trace: Trace, path: str) -> list[ForwardModes]:
    """Return the places where a model ran in train mode and fed backward passes."""
    return [
        mode
        for mode in modes_of(trace, path)
        if mode.training and mode.grad and mode.backwards >= ENOUGH_UPDATES
    ]


def only_evaluates(mode: ForwardModes) -> bool:
    """Tell whether a place only reads the result: it feeds no backward pass and also runs after the last step."""
    return (
        mode.training
        and not mode.backwards
        and not mode.discarded
        and mode.last_step >= mode.step > 0
    )


def is_teacher(trace: Trace, mode: ForwardModes) -> bool:
    """Tell whether a model whose training is over runs without gradients in the steps of another one."""
    own = training_modes(trace, mode.path)
    pupils = [
        other
        for other in trace.of(ForwardModes)
        if other.path != mode.path
        and other.grad
        and other.backwards >= MANY_STEPS
        # The pupil trains in the same steps, and in no step of the teacher's own training.
        and other.first_step >= mode.first_step
        and abs(other.steps - mode.steps) <= other.steps // 10
    ]
    is_over = bool(own) and all(one.last_step < mode.first_step for one in own)
    if mode.switched == "train" and mode.freshly:
        return False  # The program called train() for this.
    asks_often = mode.training and not mode.grad and not mode.backwards and mode.steps >= MANY_STEPS
    return is_over and asks_often and bool(pupils) and _gives_targets(trace)


def _gives_targets(trace: Trace) -> bool:
    """Tell whether a loss compares with the output of a network that it does not train, in any observation."""
    return any(_has_given_target(ForwardGraph(one)) for one in (trace, *trace.later_observations))


def _weighs_logarithms(graph: ForwardGraph, product: GraphOperation) -> bool:
    """Tell whether a product weighs log-probabilities, as a cross entropy with soft targets does."""
    return any(
        made is not None and base_of(made) == "_log_softmax" for made in graph.sources(product)
    )


def _has_given_target(graph: ForwardGraph) -> bool:
    """Tell whether a loss compares with the output of a network without gradients, and not with a choice of it."""
    for loss in graph.operations(*ERRORS, "sub", "mul", "kl_div", "nll_loss_forward"):
        for place, made in enumerate(graph.sources(loss)[: len(loss.tracked)]):
            if made is None or loss.tracked[place] or not any(loss.tracked):
                continue
            if base_of(loss) == "mul" and not _weighs_logarithms(graph, loss):
                continue  # such as the mask of a dropout
            above = list(graph.ancestors(made))
            names = {base_of(one) for one in above}
            if any(one.parameters for one in above) and not names & CHOICES:
                return True
    return False


def is_evaluation_before(other: ForwardModes, mode: ForwardModes) -> bool:
    """Tell whether a place evaluated the model in eval mode before training ran in that mode."""
    return not other.training and not other.backwards and other.first_step <= mode.first_step


def is_left_now_and_then(trace: Trace, mode: ForwardModes) -> bool:
    """Tell whether one place trains a model in eval mode in some steps and in train mode in the others.

    The call of `eval()` must have been made for an evaluation. A step that runs the model in both modes, such as one
    with an adversarial attack, does so on purpose.
    """
    others = [one for one in training_modes(trace, mode.path) if one.location == mode.location]
    evaluations = [
        one
        for one in modes_of(trace, mode.path)
        if not one.grad and not one.backwards and active_layers(one, "eval")
    ]
    is_apart = sum(one.steps for one in others) + mode.steps <= mode.step
    left = any(
        one.location is not None
        and one.location != mode.location
        and one.first_step <= mode.first_step
        and one.switched_at == mode.switched_at
        for one in evaluations
    )
    return bool(others) and is_apart and left


def is_swapped(trace: Trace, mode: ForwardModes) -> bool:
    """Tell whether the model trains in eval mode and is evaluated in train mode, after a call of `train()`."""
    evaluated = [
        other
        for other in modes_of(trace, mode.path)
        if other.training and not other.grad and not other.backwards and other.switched == "train"
    ]
    return mode.switched == "eval" and bool(evaluated)


def left_by_evaluation(trace: Trace, mode: ForwardModes) -> bool:
    """Tell whether the function that evaluates a model, and not the one that trains it, switched it to eval mode.

    A program that trains in eval mode on purpose, with frozen statistics, calls `eval()` where it trains.
    """
    switched, trained = mode.switched_at, mode.location
    if mode.switched != "eval" or switched is None or trained is None:
        return False
    if switched.function is None or switched.function == trained.function:
        return False
    is_evaluated = any(
        not other.training
        and not other.grad
        and not other.backwards
        and other.location is not None
        and (other.location.file, other.location.function) == (switched.file, switched.function)
        for other in modes_of(trace, mode.path)
    )
    return is_evaluated and _is_trained(trace, mode.path)


def _is_trained(trace: Trace, path: str) -> bool:
    """Tell whether an optimizer holds parameters of a model; gradients may only pass through a frozen one."""
    return any(
        one.in_optimizer and one.module is not None and f"{one.module}.".startswith(f"{path}.")
        for census in trace.of(ParameterCensus)
        for one in census.parameters
    )


def place_of_evaluation(trace: Trace, mode: ForwardModes) -> SourceSpan | None:
    """Return the innermost call on the way to this forward that training does not share; a helper may serve both."""
    trains = [place for other in training_modes(trace, mode.path) for place in _calls_to(other)]
    return next((place for place in _calls_to(mode) if place not in trains), mode.location)


def _calls_to(mode: ForwardModes) -> list[SourceSpan]:
    return [mode.location, *mode.called_from] if mode.location is not None else []


def active_layers(mode: ForwardModes, state: str) -> list[str]:
    """Return the mode-dependent layers that were in `state`: "Dropout(p=0.3) in `body.3`"."""
    layers = [layer.rpartition(" ")[0] for layer in mode.mode_layers if layer.endswith(f" {state}")]
    parts = [layer.partition(" ") for layer in layers]
    return [f"{kind} in `{mode.path}.{name}`" if name else kind for name, _, kind in parts]
