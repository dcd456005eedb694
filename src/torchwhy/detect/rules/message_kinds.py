"""What torch says in an exception, as data: one class per kind of statement, whatever the wording."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchwhy.diagnosis import Shape

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:  # Python 3.10 has none, and only type checkers read it

    def dataclass_transform(**_):  # noqa: ANN003, ANN201, D103
        return lambda decorated: decorated


@dataclass_transform(frozen_default=True, kw_only_default=True)
class TorchMessage:
    """What an exception says; an instance of this class itself is a message that the table does not know."""

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True, kw_only=True)(cls)


# Sizes of tensors.


class UnequalSizes(TorchMessage):
    """Two sizes should be equal and are not."""

    left: int | None = None
    right: int | None = None


class InnerSizes(UnequalSizes):
    """The inner sizes of a product of matrices differ."""


class Product(InnerSizes):
    """The same, of the product that a linear layer is made of."""


class EinsumLetter(InnerSizes):
    """One letter of an einsum stands for two sizes."""

    letter: str


class NotAMatrix(TorchMessage):
    """A product got a tensor with another number of dimensions than it takes."""


class Features(TorchMessage):
    """A layer takes another number of features than it is given."""

    wanted: int
    given: int


class Channels(TorchMessage):
    """A layer takes another number of channels than it is given."""

    wanted: int
    given: int


class Elementwise(UnequalSizes):
    """Two tensors cannot be combined element by element."""

    dimension: int | None = None


class Joined(UnequalSizes):
    """Tensors cannot be joined along a dimension, because another one differs."""

    dimension: int | None = None


class HiddenSize(UnequalSizes):
    """The state of a recurrent layer has another batch size than its input: `left` wanted, `right` given."""


class OtherSizes(UnequalSizes):
    """Shapes that must fit do not: masks, indices, what is expanded or written into."""


class Stacked(UnequalSizes):
    """Tensors of different shapes are stacked; entries count from 0."""

    first: Shape | None = None
    first_entry: int | None = None
    other: Shape | None = None
    other_entry: int | None = None


class RowsDiffer(TorchMessage):
    """Rows of different lengths are to become one tensor."""

    first: int
    other: int


class SamplesDiffer(TorchMessage):
    """Lists of different lengths are collated."""


class ArraysDiffer(TorchMessage):
    """Arrays or storages of different sizes are combined; a ragged batch if a loader is making one."""


class TargetShape(UnequalSizes):
    """A loss compares shapes that do not fit."""


class BatchSizes(TargetShape):
    """The output has `left` rows and the target `right`."""


class LossShapes(TargetShape):
    """A loss names both of the shapes that do not fit."""

    output: Shape
    target: Shape


class InputDimensions(TorchMessage):
    """A layer takes inputs with another number of dimensions."""

    least: int | None = None
    most: int | None = None
    given: int | None = None


class NoSecondDimension(TorchMessage):
    """Dimension 1 is asked of a vector."""


class OneValuePerChannel(TorchMessage):
    """Batch normalisation has a single value per channel to normalise with."""

    shape: Shape


class Reshaped(TorchMessage):
    """A tensor of `there` elements cannot have the sizes that were asked for."""

    asked: Shape
    there: int


class StridedView(TorchMessage):
    """A `view` would have to join dimensions that are not in order in memory."""


# Indices and labels.


class IndexRange(TorchMessage):
    """An index lies outside of what it selects from."""


class IndexBounds(IndexRange):
    """The same, with the dimension."""

    index: int
    dimension: int
    size: int


class LabelRange(TorchMessage):
    """A label is no class number."""


class OneHotRange(LabelRange):
    """The same, of `one_hot`, which is told the number of classes."""


# Number types and devices.


class Devices(TorchMessage):
    """Tensors on different devices meet."""


class ToNumpy(Devices):
    """A tensor of another device is read by NumPy."""

    device: str


class Dtypes(TorchMessage):
    """Number types that should be equal are not."""


class ScalarType(Dtypes):
    """An operation names the type it expects and the one it found, as `Float` and `Double`."""

    expected: str
    found: str


class FoundDtype(Dtypes):
    """The same of a loss."""

    found: str
    expected: str


class MeanOfIntegers(Dtypes):
    """The mean of whole numbers has no type."""


class IndexDtype(Dtypes):
    """An index must be a whole number."""


class UnsupportedDtype(Dtypes):
    """An operation does not exist for a number type."""

    dtype: str


class ResultDtype(Dtypes):
    """A result does not fit the type of the tensor it is written to."""


class ClassNumbersWanted(TorchMessage):
    """A loss wants class numbers of type int64."""


class ProbabilitiesWanted(TorchMessage):
    """A target of the output's shape must hold probabilities."""


class NumberTooLarge(TorchMessage):
    """A number is too large for float16."""


# The graph of the backward pass.


class FreedGraph(TorchMessage):
    """The graph was freed by an earlier backward pass."""


class StaleValue(TorchMessage):
    """A value that the backward pass needs was changed in place."""


class LeafInPlace(TorchMessage):
    """A weight is changed in place while gradients are recorded."""


class ViewInPlace(TorchMessage):
    """A view is changed in place that must not be."""


class NothingRequiresGrad(TorchMessage):
    """Nothing that went into the value of a backward pass requires a gradient."""


class UnusedInGraph(TorchMessage):
    """A tensor to differentiate by did not go into the result."""


class NeedsNoGradient(TorchMessage):
    """A tensor to differentiate by does not require a gradient."""


class InferenceTensor(TorchMessage):
    """A tensor made under `inference_mode` is used for training."""


class NonScalar(TorchMessage):
    """A backward pass starts from more than one number."""


# The rest.


class NegativeStride(TorchMessage):
    """A reversed array is to become a tensor."""


class InitialiserDimensions(TorchMessage):
    """A function takes only tensors of some numbers of dimensions, as initialisers do."""


class FanIn(InitialiserDimensions):
    """The same, in words that only an initialiser uses."""


class OutOfMemory(TorchMessage):
    """Memory ran out: so many `units` were asked for, on an accelerator that had `free` left."""

    amount: float | None = None
    unit: str = "B"
    shape: Shape | None = None
    free: str | None = None


class Unpacking(TorchMessage):
    """A sequence has another number of parts than it is taken apart into."""

    wanted: int


class BeginnersError(TorchMessage):
    """An error that every newcomer meets once, by its name in the table of advice."""

    name: str
