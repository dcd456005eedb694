from __future__ import annotations

import math
from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.questions.model.modes_agree import disagreement, layer_place
from torchwhy.detect.checks.questions.state.statistics_moved import QUESTION
from torchwhy.detect.views.kept.norm_layers import with_momentum
from torchwhy.detect.views.parameters.trained_parameters import ended_early
from torchwhy.detect.views.training.model_modes import modes_of
from torchwhy.detect.views.training.rates import ENOUGH_STEPS
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding
from torchwhy.record.kept.kept_state import NormStatistics
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace

# Either changes what the layer returns by more than the noise of a batch.
FAR = 0.5  # Distance of the mean, in running standard deviations.
MOVED = 0.2  # Statistics that went further towards what comes in were loaded from elsewhere.
OTHER = 2.0  # Ratio of the variances, or its inverse.
QUICK = 0.9  # A momentum from here on leaves nothing of earlier batches; 1 is meant to.
ENOUGH_BATCHES = 10
NOISY, NOISY_RATIO = (
    0.25,
    1.33,
)  # What one small batch misses; a large batch has the mean of the data.
STILL_NEW = (
    0.9  # Share of the initial statistics; with torch's default it is below after the first step.
)


class StatisticsNeverMoved(Diagnosis):
    """A layer with trained weights normalises with the statistics of a new layer."""

    path: str
    layer: str
    layers: int
    batches: int
    momentum: float | None
    mean_off: float
    variance_ratio: float
    message = (
        "in eval mode `{path}` normalises with running statistics that never moved: those of {which} are still "
        "mean 0 and variance 1{because}"
    )

    @property
    def which(self) -> str:
        """Return the layer, or how many of them."""
        return f"`{self.layer}`" if self.layers == 1 else f"{self.layers} layers"

    @property
    def because(self) -> str:
        """Return why, if the layer says it."""
        return ", because their momentum is 0" if self.momentum == 0 else ""

    @property
    def remedies(self) -> tuple[str, ...]:
        """Return what moves them."""
        if self.momentum == 0:
            return ("use a momentum above 0 (torch's default is 0.1, the share of the new batch)",)
        if self.batches:
            return ("do not reset the statistics after training",)
        return (
            "copy the buffers along with the weights: `state_dict()` has both",
            "compute them anew with `torch.optim.swa_utils.update_bn`",
        )

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"what comes into `{self.layer}` has a mean {self.mean_off:.2g} standard deviations off and "
            f"{self.variance_ratio:.2g} times the variance",
            value=self.mean_off,
        )
        times = f"{self.batches} batches" if self.batches else "no batch"
        yield Evidence(
            f"its weights are those of training; {times} went through it in train mode",
            value=float(self.batches),
        )


class StatisticsHardlyMoved(Diagnosis):
    """The momentum is so small that the statistics are still nearly those of a new layer when training ends."""

    path: str
    layer: str
    momentum: float
    steps: int
    left: float
    mean_off: float
    variance_ratio: float
    message = (
        "in eval mode `{path}` normalises with running statistics that hardly moved: with momentum={momentum:g} "
        "those of `{layer}` are after {steps} steps still {left:.0%} mean 0 and variance 1"
    )
    advice = "use a larger momentum: in torch it is the share of the new batch (default 0.1), 1 minus that of Keras"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"what comes into `{self.layer}` has a mean {self.mean_off:.2g} standard deviations off and "
            f"{self.variance_ratio:.2g} times the variance",
            value=self.mean_off,
        )
        yield Evidence(
            f"(1 - {self.momentum:g}) to the power of {self.steps} is {self.left:.3g}",
            value=self.left,
        )


class StatisticsOfLastBatch(Diagnosis):
    """The momentum is so large that the statistics are those of the last batch."""

    path: str
    layer: str
    momentum: float
    mean_off: float
    variance_ratio: float
    message = (
        "in eval mode `{path}` normalises with the statistics of the last training batch: with momentum={momentum:g} "
        "that batch has {momentum:.0%} of the running statistics of `{layer}`"
    )
    advice = "use a small momentum: in torch it is the share of the new batch (default 0.1), 1 minus that of Keras"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"what comes into `{self.layer}` has a mean {self.mean_off:.2g} standard deviations off and "
            f"{self.variance_ratio:.2g} times the variance",
            value=self.mean_off,
        )


class StaleRunningStatistics(Detector):
    """Evaluation uses running statistics that training never moved."""

    name = "stale-running-statistics"
    question = QUESTION
    symptom = "evaluation"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        found = [
            *self._in_evaluation(trace),
            *self._by_momentum(trace),
            *self._of_last_batch(trace),
        ]
        yield from found or self._in_rehearsal(trace)

    def _in_rehearsal(self, trace: Trace) -> Iterator[Finding]:
        """Yield the experiment of `torchwhy check`, if the program evaluates nothing or not yet."""
        disagreed = disagreement(trace)
        if disagreed is not None:
            yield self.found(
                trace,
                disagreed,
                severity="warning",
                step=disagreed.steps,
                location=with_momentum(trace, 0.0) or layer_place(trace),
                certainty="replayed",
            )

    def _of_last_batch(self, trace: Trace) -> Iterator[Finding]:
        """Yield the layer whose statistics are those of one batch, if that shows in what it is given."""
        quick = [
            one
            for one in trace.of(NormStatistics)
            if one.momentum is not None and QUICK <= one.momentum < 1
            if one.batches >= ENOUGH_BATCHES and _is_noisy(one)
        ]
        if not quick:
            return
        worst = max(quick, key=lambda one: decode(one.mean_off))
        momentum = worst.momentum or 0.0
        diagnosis = StatisticsOfLastBatch(
            path=worst.path,
            layer=worst.layer,
            momentum=momentum,
            mean_off=decode(worst.mean_off),
            variance_ratio=decode(worst.variance_ratio),
        )
        yield self.found(
            trace,
            diagnosis,
            severity="warning",
            step=worst.step,
            location=with_momentum(trace, momentum) or layer_place(trace),
        )

    def _by_momentum(self, trace: Trace) -> Iterator[Finding]:
        """Yield the layer that is furthest off because its momentum hardly moves its statistics in the whole run."""
        steps = len(trace.steps)
        slow = [
            one
            for one in trace.of(NormStatistics)
            if one.momentum and not one.initial and one.batches and _is_off(one)
            if (1 - one.momentum) ** max(steps, one.batches) > STILL_NEW
            if decode(one.moved) < MOVED and not _trains_like_this(trace, one.path)
        ]
        if not slow or steps < ENOUGH_STEPS or ended_early(trace):
            return
        layer = max(slow, key=lambda one: decode(one.mean_off))
        momentum = layer.momentum or 0.0
        steps = max(steps, layer.batches)
        diagnosis = StatisticsHardlyMoved(
            path=layer.path,
            layer=layer.layer,
            momentum=momentum,
            steps=steps,
            left=(1 - momentum) ** steps,
            mean_off=decode(layer.mean_off),
            variance_ratio=decode(layer.variance_ratio),
        )
        modes = modes_of(trace, layer.path)
        place = next((m.location for m in modes if not m.training and not m.backwards), None)
        yield self.found(
            trace,
            diagnosis,
            severity="warning",
            step=layer.step,
            location=with_momentum(trace, momentum) or place,
            symptom_at=place,
        )

    def _in_evaluation(self, trace: Trace) -> Iterator[Finding]:
        by_model: dict[str, list[NormStatistics]] = {}
        for one in trace.of(NormStatistics):
            if one.initial and one.scaled and not _trains_like_this(trace, one.path):
                by_model.setdefault(one.path, []).append(one)
        for path, layers in by_model.items():
            layer = max(layers, key=lambda one: decode(one.mean_off))
            off, ratio = decode(layer.mean_off), decode(layer.variance_ratio)
            if not _is_off(layer):
                continue
            diagnosis = StatisticsNeverMoved(
                path=path,
                layer=layer.layer,
                layers=len({one.layer for one in layers}),
                batches=layer.batches,
                momentum=layer.momentum,
                mean_off=off,
                variance_ratio=ratio,
            )
            evaluated = next(
                (m.location for m in modes_of(trace, path) if not m.training and not m.backwards),
                None,
            )
            made = with_momentum(trace, 0.0) if layer.momentum == 0 else None
            yield self.found(
                trace,
                diagnosis,
                severity="warning",
                step=layer.step,
                location=made or evaluated,
                symptom_at=evaluated,
            )


def _is_noisy(one: NormStatistics) -> bool:
    """Tell whether the statistics of one batch are visibly not those of the data."""
    ratio = decode(one.variance_ratio)
    is_other = ratio > 0 and max(ratio, 1 / ratio) >= NOISY_RATIO
    return decode(one.mean_off) >= NOISY or is_other


def _is_off(layer: NormStatistics) -> bool:
    """Tell whether what comes in differs from the statistics by more than the noise of a batch."""
    ratio = abs(math.log(decode(layer.variance_ratio)))
    return decode(layer.mean_off) >= FAR or ratio >= math.log(OTHER)


def _trains_like_this(trace: Trace, path: str) -> bool:
    """Tell whether the model trains in eval mode, too: then both modes agree."""
    return any(mode.backwards and not mode.training for mode in modes_of(trace, path))
