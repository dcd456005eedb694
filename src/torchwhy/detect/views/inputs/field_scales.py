"""Compares a field of the training data with the same field of the evaluation data: scale, centre, shape."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property

from torchwhy.plain_data import dataclass
from torchwhy.record.inputs.data_events import FieldSeen, LoaderSeen
from torchwhy.record.numbers import decode

FACTOR = 3.0  # between the standard deviations; augmentation changes them by far less
SHIFT = 3.0  # between the means, in standard deviations
SPREADS = 3.0  # times as far apart as groups of training rows are
SHAPE = 0.35  # largest difference of standardised quantiles that still are of one shape
PIXEL, WHITE = 255.0, 1.0  # largest values of a picture
BRIGHT = 0.8  # A picture reaches at least this share of the largest value.
STANDARD = 0.25  # How far mean 0 and standard deviation 1 of a standardised column may be missed.
UNEVEN = 3.0  # The scales of raw columns differ by more than this.
CHANCE = 3.0  # times √(ln columns / rows), twice the range of deviations that normal columns of one scale have
FEWEST_ROWS = 16
FEWEST_COLUMNS = 3


@dataclass(frozen=True)
class Scale:
    """Mean, standard deviation and range of a field as numbers."""

    mean: float
    deviation: float
    minimum: float
    maximum: float

    @classmethod
    def of(cls, field: FieldSeen) -> Scale:
        """Read them off a recorded field."""
        return cls(
            decode(field.mean),
            decode(field.deviation),
            decode(field.minimum),
            decode(field.maximum),
        )

    @property
    def is_finite(self) -> bool:
        """Tell whether all of them are numbers, and the values differ."""
        every = (self.mean, self.deviation, self.minimum, self.maximum)
        return all(map(math.isfinite, every)) and self.deviation > 0


@dataclass(frozen=True)
class Comparison:
    """One field of both."""

    training: FieldSeen
    evaluation: FieldSeen

    @cached_property
    def trained(self) -> Scale:
        """Return the scale in training."""
        return Scale.of(self.training)

    @cached_property
    def evaluated(self) -> Scale:
        """Return the scale in evaluation."""
        return Scale.of(self.evaluation)

    @cached_property
    def differs(self) -> bool:
        """Tell whether one is the other on another scale: pictures, or columns that only one side standardises."""
        return (self._is_affine_picture and self._is_apart) or self._lacks_standardisation

    @property
    def _is_apart(self) -> bool:
        """Tell whether scale or centre differ by more than between groups of training rows."""
        trained, evaluated = self.trained, self.evaluated
        means = [decode(one) for one in self.training.means]
        deviations = [decode(one) for one in self.training.deviations if decode(one) > 0]
        if not means or not deviations:
            return False
        wide = max(deviations) / min(deviations)
        far = max(abs(one - trained.mean) for one in means) / trained.deviation
        ratio = evaluated.deviation / trained.deviation
        shift = abs(evaluated.mean - trained.mean) / trained.deviation
        factor = max(ratio, 1 / ratio)
        return factor >= FACTOR * wide or shift >= SHIFT + SPREADS * far

    @property
    def _is_affine_picture(self) -> bool:
        """Tell whether one side holds raw values of pictures, and the other the same on another scale."""
        if _is_raw(self.training, self.trained) == _is_raw(self.evaluation, self.evaluated):
            return False
        return _differ_by(self.training, self.trained, self.evaluation, self.evaluated) <= SHAPE

    @property
    def _lacks_standardisation(self) -> bool:
        """Tell whether the columns of a table are standardised in training and raw in evaluation."""
        means = [decode(one) for one in self.training.column_means]
        deviations = [decode(one) for one in self.training.column_deviations]
        if len(means) < FEWEST_COLUMNS or len(means) != len(self.evaluation.column_means):
            return False
        if any(abs(one) > STANDARD for one in means):
            return False
        if any(abs(one - 1) > STANDARD for one in deviations):
            return False
        others = [decode(one) for one in self.evaluation.column_deviations]
        shifts = sorted(abs(decode(one)) for one in self.evaluation.column_means)
        if min(others) <= 0:
            return False
        factors = sorted(max(one, 1 / one) for one in others)
        scaled, moved = factors[len(factors) // 2] >= FACTOR, shifts[len(shifts) // 2] >= SHIFT
        spread = max(others) / min(others)
        if spread >= UNEVEN:
            return scaled or moved
        return scaled and moved and spread >= self._spread_by_chance

    @property
    def _spread_by_chance(self) -> float:
        """Return a bound of largest over smallest deviation among columns of equal scale, each of a few rows."""
        rows, columns = self.evaluation.rows, len(self.evaluation.column_deviations)
        return 1 + CHANCE * math.sqrt(math.log(columns) / rows)


def compared(training: LoaderSeen, evaluation: LoaderSeen) -> list[Comparison]:
    """Return the fields that both have: of real numbers, of one shape, with enough rows."""
    return list(_pairs(training, evaluation))


def _pairs(training: LoaderSeen, evaluation: LoaderSeen) -> Iterator[Comparison]:
    others = {field.path: field for field in evaluation.fields}
    for field in training.fields:
        other = others.get(field.path)
        if other is None or other.shape != field.shape or not field.shape:
            continue
        if min(field.rows, other.rows) < FEWEST_ROWS:
            continue
        found = Comparison(field, other)
        are_real = _is_real(field) and _is_real(other)
        if are_real and found.trained.is_finite and found.evaluated.is_finite:
            yield found


def _is_real(field: FieldSeen) -> bool:
    return field.dtype.startswith(("float", "bfloat")) or field.dtype == "uint8"


def _is_raw(field: FieldSeen, scale: Scale) -> tuple[bool, bool]:
    """Tell whether values go from 0 to 255, and whether from 0 to 1."""
    of_bytes = field.whole and BRIGHT * PIXEL <= scale.maximum <= PIXEL
    of_shares = BRIGHT * WHITE <= scale.maximum <= WHITE
    return scale.minimum >= 0 and of_bytes, scale.minimum >= 0 and of_shares


def _differ_by(one: FieldSeen, scale: Scale, other: FieldSeen, other_scale: Scale) -> float:
    """Return the largest difference between the standardised quantiles of two fields."""
    own = [(decode(q) - scale.mean) / scale.deviation for q in one.quantiles]
    others = [(decode(q) - other_scale.mean) / other_scale.deviation for q in other.quantiles]
    return max((abs(a - b) for a, b in zip(own, others, strict=True)), default=math.inf)
