"""Messages of torch about numbers of dimensions, masks, values and matrices that a function does not take."""

from __future__ import annotations

from torchwhy.detect.rules.message_kinds import OtherSizes, TorchMessage
from torchwhy.detect.rules.message_rows import GENERAL, SPECIAL, Row
from torchwhy.diagnosis import Shape


class DimensionCount(TorchMessage):
    """A tensor has `given` dimensions, but the call is written for another number of them."""

    given: int
    wanted: int | None = None
    dimension: int | None = None  # the one that the call names and the tensor does not have
    names_sizes: str | None = None  # the call names a size for each dimension


class TooSmall(TorchMessage):
    """A convolution or pooling layer got an input that is smaller than its kernel."""

    left: str  # what is left of the input, as torch writes it
    kernel: str | None = None


class MaskShape(OtherSizes):
    """An attention mask has another shape than the attention needs."""

    given: Shape
    wanted: Shape


class DimensionsDiffer(OtherSizes):
    """Tensors with different numbers of dimensions are concatenated."""

    first: int
    second: int


class InPlaceShape(OtherSizes):
    """An in-place operation would have to change the shape of the tensor that it writes to."""

    there: Shape
    made: Shape


class RoomShape(OtherSizes):
    """A tensor of one shape cannot take, or be expanded to, another: `there` and `made`."""

    there: Shape
    made: Shape


class RangeRefused(TorchMessage):
    """A function refuses values outside of its range; the autopsy has measured them."""


class MatrixRefused(TorchMessage):
    """A decomposition or solver failed at this matrix, because it is not what it `lacks`."""

    lacks: str


DIMENSION_MESSAGES = (
    Row(
        DimensionCount,
        r"input\.dim\(\) = (?P<given>\d+) is not equal to len\(dims\) = (?P<wanted>\d+)",
        "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
        "ordering of dimensions i.e. input.dim() = 2 is not equal to len(dims) = 3",
    ),
    Row(
        DimensionCount,
        r"too many indices for tensor of dimension (?P<given>\d+)",
        "too many indices for tensor of dimension 2",
    ),
    Row(
        DimensionCount,
        r"Dimension out of range \(expected to be in range of \[-(?P<given>\d+), \d+\], but got (?P<dimension>-?\d+)\)",
        "Dimension out of range (expected to be in range of [-2, 1], but got 2)",
        specificity=GENERAL,
    ),
    Row(
        DimensionCount,
        r"number of sizes provided \((?P<wanted>\d+)\) must be greater or equal to the number of dimensions in the "
        r"tensor \((?P<given>\d+)\)",
        "expand(torch.FloatTensor{[1, 16, 32]}, size=[5, 16]): the number of sizes provided (2) must be greater or "
        "equal to the number of dimensions in the tensor (3)",
        fields={"names_sizes": "all"},
    ),
    Row(
        TooSmall,
        r"Calculated padded input size per channel: \((?P<left>[\d x]+)\)\. Kernel size: \((?P<kernel>[\d x]+)\)",
        "Calculated padded input size per channel: (1 x 1). Kernel size: (3 x 3). Kernel size can't be greater than "
        "actual input size",
    ),
    Row(
        TooSmall,
        r"Given input size: \(\d+x(?P<left>[\dx]+)\)\. Calculated output size: .* Output size is too small",
        "Given input size: (8x1x1). Calculated output size: (8x0x0). Output size is too small",
    ),
    Row(
        MaskShape,
        r"shape of the \dD attn_mask is torch\.Size\(\[(?P<given>[\d, ]+)\]\), but should be \((?P<wanted>[\d, ]+)\)",
        "The shape of the 2D attn_mask is torch.Size([10, 10]), but should be (12, 12).",
        specificity=SPECIAL,
    ),
    Row(
        DimensionsDiffer,
        r"Tensors must have same number of dimensions: got (?P<first>\d+) and (?P<second>\d+)",
        "Tensors must have same number of dimensions: got 2 and 1",
        specificity=SPECIAL,
    ),
    Row(
        InPlaceShape,
        r"output with shape \[(?P<there>[\d, ]*)\] doesn't match the broadcast shape \[(?P<made>[\d, ]*)\]",
        "output with shape [3] doesn't match the broadcast shape [2, 3]",
        specificity=SPECIAL,
    ),
    Row(
        RoomShape,
        r"expanded size of the tensor \((?P<left>\d+)\) must match the existing size \((?P<right>\d+)\) "
        r"at non-singleton dimension \d+\.\s+Target sizes: \[(?P<there>[\d, ]*)\]\.\s+"
        r"Tensor sizes: \[(?P<made>[\d, ]*)\]",
        "The expanded size of the tensor (5) must match the existing size (4) at non-singleton dimension 1.  Target "
        "sizes: [3, 5].  Tensor sizes: [3, 4]",
        specificity=SPECIAL,
    ),
    Row(
        RangeRefused,
        r"all elements of input should be between 0 and 1",
        "all elements of input should be between 0 and 1",
    ),
    Row(
        RangeRefused,
        r"probability tensor contains either `inf`, `nan` or element < 0",
        "probability tensor contains either `inf`, `nan` or element < 0",
    ),
    Row(
        MatrixRefused,
        r"input is not positive-definite",
        "linalg.cholesky: The factorization could not be completed because the input is not positive-definite (the "
        "leading minor of order 4 is not positive-definite).",
        fields={"lacks": "positive definite"},
    ),
    Row(
        MatrixRefused,
        r"input matrix is singular|The diagonal element \d+ is zero, the (?:inversion|solve) could not be completed",
        "torch.linalg.solve: The solver failed because the input matrix is singular.",
        fields={"lacks": "invertible"},
    ),
    Row(
        MatrixRefused,
        r"algorithm failed to converge because the input matrix (?:contained non-finite values|is ill-conditioned)",
        "linalg.svd: The algorithm failed to converge because the input matrix contained non-finite values.",
        fields={"lacks": "finite and well conditioned"},
    ),
)
