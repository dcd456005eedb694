from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.standing_questions import EVALUATION_MODE
from torchwhy.detect.views.graph.graph_queries import ForwardGraph
from torchwhy.detect.views.training.model_modes import training_modes
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, SourceSpan
from torchwhy.record.learning import Evaluated, ForwardModes, ParameterCensus, ParameterSeen
from torchwhy.record.trace import Trace

ENOUGH = 3  # evaluations after different numbers of training steps


class SameEveryTime(Diagnosis):
    """The evaluated loss never changes, because another model than the trained one is evaluated."""

    evaluated: str
    trained: str
    value: float
    times: int
    first_step: int
    last_step: int
    trained_at: SourceSpan | None
    message = (
        "`{evaluated}` is evaluated here, but `{trained}` is trained: the loss read here is exactly {value:.6g} in all "
        "{times} evaluations"
    )
    advice = (
        "evaluate the trained model, or copy its weights before each evaluation by load_state_dict"
    )

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"evaluated {self.times} times between steps {self.first_step} and {self.last_step}, "
            "with the same number to the last bit",
            value=self.value,
        )
        yield Evidence(
            f"`{self.evaluated}` began with the weights of `{self.trained}`, which only runs to be trained",
            location=self.trained_at,
        )


class OtherModelEvaluated(Detector):
    """The program evaluates a copy that training does not reach."""

    name = "other-model-evaluated"
    question = EVALUATION_MODE
    symptom = "evaluation"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        modes = trace.of(ForwardModes)
        evaluations = [
            one for one in modes if not one.grad and not one.backwards and one.count >= ENOUGH
        ]
        trained = [one for one in modes if training_modes(trace, one.path)]
        # A program that evaluates the trained model as well, be it with gradients, compares the other one with it.
        if not trained or any(not one.backwards for one in trained):
            return
        if any(_is_part(one.path, other.path) for one in trained for other in evaluations):
            return
        for curve in trace.of(Evaluated):
            place = _evaluation_of(evaluations, curve)
            if (
                place is None
                or not _is_copy(trace, place.path, trained[0].path)
                or len(set(curve.steps)) < ENOUGH
                or len(set(curve.values)) > 1
                or _feeds_loss(trace, place.path)
            ):
                continue
            diagnosis = SameEveryTime(
                evaluated=place.path,
                trained=trained[0].path,
                value=curve.values[0],
                times=len(curve.values),
                first_step=curve.steps[0],
                last_step=curve.steps[-1],
                trained_at=trained[0].location,
            )
            yield self.found(
                trace,
                diagnosis,
                # Who froze the copy may compare with it.
                severity="note" if _is_frozen(trace, place.path) else "warning",
                step=curve.steps[0],
                location=place.location,
                symptom_at=curve.location,
            )
            return


def _is_part(trained: str, evaluated: str) -> bool:
    """Tell whether one of two models is a part of the other."""
    return evaluated.startswith(f"{trained}.") or trained.startswith(f"{evaluated}.")


def _feeds_loss(trace: Trace, evaluated: str) -> bool:
    """Tell whether the loss is computed with results of a model, as with those of a reference or of a teacher."""
    graph = ForwardGraph(trace)
    roots = [graph.operation(root.order) for root in graph.losses]
    return any(
        name.startswith(f"{evaluated}.")
        for root in roots
        if root is not None
        for one in graph.ancestors(root)
        for name in one.parameters
    )


def _is_copy(trace: Trace, evaluated: str, trained: str) -> bool:
    """Tell whether a model had the parameters of another one, with the same values, before the first step."""
    known = _known(trace)
    one, other = (
        [
            (seen.name.removeprefix(f"{path}."), seen.shape, seen.rms)
            for seen in known
            if seen.model == path
        ]
        for path in (evaluated, trained)
    )
    return bool(one) and one == other


def _is_frozen(trace: Trace, path: str) -> bool:
    """Tell whether no parameter of a model required a gradient at the first step."""
    return not any(seen.requires_grad for seen in _known(trace) if seen.model == path)


def _known(trace: Trace) -> list[ParameterSeen]:
    census = next(iter(trace.of(ParameterCensus)), None)
    return census.parameters if census is not None else []


def _evaluation_of(evaluations: list[ForwardModes], curve: Evaluated) -> ForwardModes | None:
    """Return the forward pass in the function that reads a number."""
    return next(
        (
            one
            for one in evaluations
            if one.location is not None
            and (one.location.file, one.location.function)
            == (curve.location.file, curve.location.function)
        ),
        None,
    )
