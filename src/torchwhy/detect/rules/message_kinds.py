"""The message of an exception as data: one class per kind of message, whatever the wording."""

from __future__ import annotations

from torchwhy.diagnosis import FrozenFields, Shape


class TorchMessage(FrozenFields):
    """The message of an exception; an instance of this class itself is a message that the table does not know."""


# Sizes of tensors.


class UnequalSizes(TorchMessage):
    """Two sizes must be equal but differ."""

    left: int | None = None
    right: int | None = None


class InnerSizes(UnequalSizes):
    """The inner sizes of a product of matrices differ."""


class Product(InnerSizes):
    """The inner sizes of the product in a linear layer differ."""


class EinsumLetter(InnerSizes):
    """One letter of an einsum stands for two sizes."""

    letter: str


class NotAMatrix(TorchMessage):
    """A product got a tensor with an unsupported number of dimensions."""


class Features(TorchMessage):
    """A layer expects a different number of features than its input has."""

    wanted: int
    given: int


class Channels(TorchMessage):
    """A layer expects a different number of channels than its input has."""

    wanted: int
    given: int


class Elementwise(UnequalSizes):
    """Two tensors cannot be combined element by element."""

    dimension: int | None = None


class Joined(UnequalSizes):
    """Tensors cannot be concatenated along a dimension, because another one differs."""

    dimension: int | None = None


class HiddenSize(UnequalSizes):
    """The state of a recurrent layer has another shape than wanted: batch sizes `left` wanted, `right` given."""

    wanted: Shape
    given: Shape


class OtherSizes(UnequalSizes):
    """Shapes that must match differ: of masks, indices, expanded or assigned tensors."""


class Stacked(UnequalSizes):
    """Tensors of different shapes are stacked; entries count from 0."""

    first: Shape | None = None
    first_entry: int | None = None
    other: Shape | None = None
    other_entry: int | None = None


class RowsDiffer(TorchMessage):
    """Rows of different lengths cannot become one tensor."""

    first: int
    other: int


class SamplesDiffer(TorchMessage):
    """Lists of different lengths are collated."""


class ArraysDiffer(TorchMessage):
    """Arrays or storages of different sizes are combined; a ragged batch if a loader is making one."""


class TargetShape(UnequalSizes):
    """A loss compares shapes that do not match."""


class BatchSizes(TargetShape):
    """The output has `left` rows and the target `right`."""


class CtcLengths(TorchMessage):
    """A CTC loss got another number of lengths than its second dimension, the batch, has sequences."""


class LossShapes(TargetShape):
    """A loss names both shapes that do not match."""

    output: Shape
    target: Shape


class InputDimensions(TorchMessage):
    """A layer expects a different number of dimensions."""

    least: int | None = None
    most: int | None = None
    given: int | None = None


class NoSecondDimension(TorchMessage):
    """An operation uses dimension 1 of a vector."""


class OneValuePerChannel(TorchMessage):
    """Batch normalisation got a single value per channel."""

    shape: Shape


class Reshaped(TorchMessage):
    """A tensor of `there` elements cannot have the sizes that were asked for."""

    asked: Shape
    there: int


class StridedView(TorchMessage):
    """A `view` would have to join dimensions that are not in order in memory."""


# Indices and labels.


class IndexRange(TorchMessage):
    """An index is out of range."""


class IndexBounds(IndexRange):
    """An index is out of range for a dimension."""

    index: int
    dimension: int
    size: int


class LabelRange(TorchMessage):
    """A label is not a class index."""


class OneHotRange(LabelRange):
    """A label is outside the number of classes that `one_hot` got."""


# Dtypes and devices.


class Devices(TorchMessage):
    """One operation got tensors on different devices."""


class ToNumpy(Devices):
    """NumPy cannot read a tensor that is not on the CPU."""

    device: str


class Dtypes(TorchMessage):
    """Dtypes that must be equal differ."""


class ScalarType(Dtypes):
    """An operation names the dtype that it expects and the one that it found, such as `Float` and `Double`."""

    expected: str
    found: str


class FoundDtype(Dtypes):
    """A loss names the dtype that it found and the one that it expects."""

    found: str
    expected: str


class MeanOfIntegers(Dtypes):
    """The mean of integers has no dtype."""


class IndexDtype(Dtypes):
    """An index must have an integer dtype."""


class UnsupportedDtype(Dtypes):
    """An operation does not support a dtype."""

    dtype: str


class ResultDtype(Dtypes):
    """A result cannot be cast to the dtype of the tensor that it is written to."""


class ClassNumbersWanted(TorchMessage):
    """A loss expects class indices of dtype int64."""


class ProbabilitiesWanted(TorchMessage):
    """A target of the output's shape must contain probabilities."""


class NumberTooLarge(TorchMessage):
    """A number is too large for float16."""


# The graph of the backward pass.


class FreedGraph(TorchMessage):
    """An earlier backward pass freed the graph."""


class StaleValue(TorchMessage):
    """An in-place operation changed a value that the backward pass needs."""


class LeafInPlace(TorchMessage):
    """A statement changes a weight in place while autograd records."""


class ViewInPlace(TorchMessage):
    """A statement changes a view in place that must not change."""


class NothingRequiresGrad(TorchMessage):
    """The value of a backward pass depends on nothing that requires a gradient."""


class NumberWithoutBackward(TorchMessage):
    """The program calls `backward()` on a plain number; `kind` is its type."""

    kind: str


class UnusedInGraph(TorchMessage):
    """The result does not depend on the tensor to differentiate by."""


class NeedsNoGradient(TorchMessage):
    """A tensor to differentiate by does not require a gradient."""


class InferenceTensor(TorchMessage):
    """A tensor made under `inference_mode` is used for training."""


class NonScalar(TorchMessage):
    """A backward pass starts from more than one number."""


# The rest.


class NegativeStride(TorchMessage):
    """A reversed array cannot become a tensor."""


class InitialiserDimensions(TorchMessage):
    """A function accepts only tensors with certain numbers of dimensions, as initialisers do."""


class FanIn(InitialiserDimensions):
    """The same in a wording that only initialisers use."""


class OutOfMemory(TorchMessage):
    """Memory ran out: an operation asked for `amount` in `unit`, and the accelerator had `free` left."""

    amount: float | None = None
    unit: str = "B"
    shape: Shape | None = None
    free: str | None = None


class UnsafeLoad(TorchMessage):
    """`torch.load` refuses a checkpoint that contains more than weights; `refused` is the first such class."""

    refused: str | None = None


class UnreadableFile(TorchMessage):
    """`torch.load` cannot read the file: it is damaged, or not a checkpoint."""


class MissingDevice(TorchMessage):
    """The program uses a kind of device that is not there."""

    device: str


class DeviceNumber(MissingDevice):
    """The program uses a GPU by a number that is too large."""


class LoadedToMissingDevice(MissingDevice):
    """A checkpoint was saved from a device that is not there."""


class StateMismatch(TorchMessage):
    """The keys or sizes of a state are not those of the model that loads it."""


class OptimizerStateMismatch(StateMismatch):
    """The parameter groups of a state are not those of the optimizer that loads it."""


class SparseRefused(TorchMessage):
    """An optimizer or operation does not support sparse gradients."""


class DenseRefused(TorchMessage):
    """An optimizer supports only sparse gradients."""


class ScheduleOver(TorchMessage):
    """A schedule was stepped beyond its last step."""

    made: int
    length: int


class OutsideSupport(TorchMessage):
    """A distribution is asked for the probability of values that it cannot have."""


class LateDeviceError(TorchMessage):
    """A GPU reports a failure later than it happened; `name` is its entry in the table of advice."""

    name: str
    switch: str | None = None  # of the environment, that makes every launch wait


class PeerLost(TorchMessage):
    """A collective failed because another rank is gone."""


class Unreduced(TorchMessage):
    """DistributedDataParallel waited for gradients that the last backward pass did not give."""


class ChildFailed(TorchMessage):
    """A process that started others reports that one of them failed; `number` counts them from 0."""

    number: int


class MissingModule(TorchMessage):
    """A package is not installed."""

    module: str


class Unpacking(TorchMessage):
    """A sequence has a different number of parts than the program unpacks."""

    wanted: int


class BeginnersError(TorchMessage):
    """A common beginner's error, by its name in the table of advice; `one` and `other` are parts of the message."""

    name: str
    one: str | None = None
    other: str | None = None


class ConstraintViolated(TorchMessage):
    """A distribution refuses a parameter whose values lie outside of its constraint."""

    parameter: str
    constraint: str
