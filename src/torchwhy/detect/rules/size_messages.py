"""Messages of torch about sizes and shapes, indices and labels."""

from __future__ import annotations

from torchwhy.detect.rules import message_kinds as kinds
from torchwhy.detect.rules.message_rows import GENERAL, SPECIAL, Row

PRODUCTS = (
    Row(
        kinds.Product,
        r"mat1 and mat2 shapes cannot be multiplied \(\d+x(?P<left>\d+) and (?P<right>\d+)x\d+\)",
        "mat1 and mat2 shapes cannot be multiplied (8x1568 and 1050x10)",
    ),
    Row(
        kinds.Product,
        r"size mismatch, got input \(\d+\), mat \(\d+x(?P<left>\d+)\), vec \((?P<right>\d+)\)",
        "size mismatch, got input (2), mat (2x4), vec (3)",
    ),
    Row(
        kinds.InnerSizes,
        r"Expected size for first two dimensions of batch2 tensor to be: \[\d+, (?P<left>\d+)\] "
        r"but got: \[\d+, (?P<right>\d+)\]",
        "Expected size for first two dimensions of batch2 tensor to be: [4, 12] but got: [4, 7].",
    ),
    Row(
        kinds.EinsumLetter,
        r"einsum\(\): subscript (?P<letter>\w+) has size (?P<left>\d+) for operand \d+ which does not broadcast with "
        r".* size (?P<right>\d+)",
        "einsum(): subscript d has size 6 for operand 1 which does not broadcast with previously seen size 8",
    ),
    Row(
        kinds.InnerSizes,
        r"inconsistent tensor size, expected tensor \[(?P<left>\d+)\] and src \[(?P<right>\d+)\]",
        "inconsistent tensor size, expected tensor [3] and src [4] to have the same number of elements, but got 3 and "
        "4 elements respectively",
    ),
    Row(
        kinds.InnerSizes,
        r"einsum\(\): the number of subscripts in the equation \((?P<left>\d+)\) does not match the number of "
        r"dimensions \((?P<right>\d+)\)",
        "einsum(): the number of subscripts in the equation (2) does not match the number of dimensions (3) for "
        "operand 0 and no ellipsis was given",
    ),
    Row(
        kinds.NotAMatrix,
        r"batch[12] must be a 3D tensor|"
        r"(?:mat1|mat2|self|vec|tensor1|tensor2) must be a (?:matrix|vector)",
        "self must be a matrix",
    ),
)
LAYERS = (
    Row(
        kinds.Features,
        r"input has inconsistent input_size: got (?P<given>\d+) expected (?P<wanted>\d+)",
        "input has inconsistent input_size: got 6 expected 4",
    ),
    Row(
        kinds.Features,
        r"input\.size\(-1\) must be equal to input_size\. Expected (?P<wanted>\d+), got (?P<given>\d+)",
        "input.size(-1) must be equal to input_size. Expected 4, got 6",
    ),
    Row(
        kinds.Features,
        r"bilinear\(\): input\d size does not match weight size: got (?P<given>\d+) but expected (?P<wanted>\d+)",
        "bilinear(): input1 size does not match weight size: got 5 but expected 3",
    ),
    Row(
        kinds.Features,
        r"normalized_shape=\[(?:\d+, )*(?P<wanted>\d+)\].*but got input of size\[(?:\d+, )*(?P<given>\d+)\]",
        "Given normalized_shape=[24], expected input with shape [*, 24], but got input of size[4, 32]",
    ),
    Row(
        kinds.Features,
        r"expecting embedding dimension of (?P<wanted>\d+), but got (?P<given>\d+)",
        "was expecting embedding dimension of 4, but got 6",
    ),
    Row(
        kinds.Channels,
        r"to have (?P<wanted>\d+) channels, but got (?P<given>\d+) channels instead",
        "Given groups=1, weight of size [8, 3, 3, 3], expected input[8, 1, 28, 28] to have 3 channels, but got 1 "
        "channels instead",
    ),
    Row(
        kinds.Channels,
        r"size at dim=1 to match num_features \((?P<wanted>\d+)\), but got: (?P<given>\d+)",
        "expected input's size at dim=1 to match num_features (3), but got: 4.",
    ),
    Row(
        kinds.Channels,
        r"weight of shape \[(?P<wanted>\d+)\] and input of shape \[\d+, (?P<given>\d+)",
        "Expected weight to be a vector of size equal to the number of channels in input, but got weight of shape [4] "
        "and input of shape [2, 6, 5, 5]",
    ),
    Row(
        kinds.Channels,
        r"(?:running_mean|weight) should contain (?P<given>\d+) elements not (?P<wanted>\d+)",
        "running_mean should contain 24 elements not 16",
    ),
    Row(
        kinds.InputDimensions,
        r"expected (?P<least>\d)D (?:or (?P<most>\d)D )?input \(got (?P<given>\d)D input\)",
        "expected 2D or 3D input (got 1D input)",
    ),
    Row(
        kinds.InputDimensions,
        r"Expected (?P<least>\d)D \(unbatched\) or (?P<most>\d)D \(batched\) input to \w+, but got input of size",
        "Expected 3D (unbatched) or 4D (batched) input to conv2d, but got input of size: [5, 5]",
    ),
    Row(
        kinds.InputDimensions,
        r"Expected input to be 2D or 3D, got (?P<given>\d)D",
        "LSTM: Expected input to be 2D or 3D, got 1D instead",
    ),
    Row(
        kinds.InputDimensions,
        r"For unbatched 2-D input, hx (?:and cx )?should also be 2-D but got",
        "For unbatched 2-D input, hx and cx should also be 2-D but got (3-D, 3-D) tensors",
    ),
    Row(
        kinds.InputDimensions,
        r"non-empty (?P<least>\d)D or (?P<most>\d)D \(batch mode\) tensor expected for input",
        "non-empty 3D or 4D (batch mode) tensor expected for input",
    ),
    Row(
        kinds.InputDimensions,
        r"Expected (?P<least>\d)D or (?P<most>\d)D \(batch mode\) tensor",
        "max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but got:[5]",
    ),
    Row(
        kinds.NoSecondDimension,
        r"Dimension out of range \(expected to be in range of \[-1, 0\], but got 1\)",
        "Dimension out of range (expected to be in range of [-1, 0], but got 1)",
    ),
    Row(
        kinds.OneValuePerChannel,
        r"Expected more than 1 (?:value per channel|spatial element) when training, "
        r"got input size (?:torch\.Size\()?\[(?P<shape>[\d, ]*)\]",
        "Expected more than 1 value per channel when training, got input size torch.Size([1, 8])",
    ),
)
SHAPES = (
    Row(
        kinds.Elementwise,
        r"size of tensor a \((?P<left>\d+)\) must match the size of tensor b \((?P<right>\d+)\)"
        r"(?: at non-singleton dimension (?P<dimension>\d+))?",
        "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 0",
    ),
    Row(
        kinds.Joined,
        r"Sizes of tensors must match except in dimension (?P<dimension>\d+)"
        r"(?:\. Expected size (?P<left>\d+) but got size (?P<right>\d+))?",
        "Sizes of tensors must match except in dimension 1. Expected size 25 but got size 24 for tensor number 1 in "
        "the list.",
    ),
    Row(
        kinds.HiddenSize,
        r"Expected hidden(?:\[\d\])? size \((?P<wanted>\d+, (?P<left>\d+), \d+)\), "
        r"got \[(?P<given>\d+, (?P<right>\d+), \d+)\]",
        "Expected hidden[0] size (1, 4, 8), got [1, 16, 8]",
    ),
    Row(
        kinds.OtherSizes,
        r"Index tensor must have the same number of dimensions as",
        "Index tensor must have the same number of dimensions as input tensor",
    ),
    Row(
        kinds.OtherSizes,
        r"shape mismatch: value tensor of shape",
        "shape mismatch: value tensor of shape [5, 4] cannot be broadcast to indexing result of shape [3, 4]",
    ),
    Row(
        kinds.OtherSizes,
        r"[Ee]xpect(?:ed|ing) key_padd(?:ed|ing)_mask",
        "Expected key_padded_mask.shape[1] to be 5, but got 6",
    ),
    Row(
        kinds.OtherSizes,
        r"[Ee]xpected `?attn_mask`? ",
        "For batched (3-D) `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found 4-D tensor instead",
    ),
    Row(
        kinds.OtherSizes,
        r"shape of the mask \[.*\] at index \d+ does not match the shape of the indexed tensor",
        "The shape of the mask [5] at index 0 does not match the shape of the indexed tensor [4, 4] at index 0",
    ),
    Row(
        kinds.OtherSizes,
        r"Shape mismatch: objects cannot be broadcast",
        "Shape mismatch: objects cannot be broadcast to a single shape",
        until="2.12",
    ),
    Row(
        kinds.Stacked,
        r"stack expects each tensor to be equal size"
        r"(?:, but got \[(?P<first>[\d, ]*)\] at entry (?P<first_entry>\d+) "
        r"and \[(?P<other>[\d, ]*)\] at entry (?P<other_entry>\d+))?",
        "stack expects each tensor to be equal size, but got [4] at entry 0 and [5] at entry 1",
    ),
    Row(
        kinds.RowsDiffer,
        r"expected sequence of length (?P<first>\d+) at dim \d+ \(got (?P<other>\d+)\)",
        "expected sequence of length 3 at dim 1 (got 2)",
    ),
    Row(
        kinds.SamplesDiffer,
        r"each element in list of batch should be of equal size",
        "each element in list of batch should be of equal size",
    ),
    Row(
        kinds.ArraysDiffer,
        r"all input arrays must have the same shape",
        "all input arrays must have the same shape",
    ),
    Row(
        kinds.ArraysDiffer,
        r"inhomogeneous shape",
        "setting an array element with a sequence. The requested array has an inhomogeneous shape after 1 dimensions.",
    ),
    Row(
        kinds.ArraysDiffer,
        r"Trying to resize storage that is not resizable",
        "Trying to resize storage that is not resizable",
    ),
    Row(
        kinds.Reshaped,
        r"shape '\[(?P<asked>[-\d, ]+)\]' is invalid for input of size (?P<there>\d+)",
        "shape '[32, -1]' is invalid for input of size 72",
    ),
    Row(
        kinds.Reshaped,
        r"unflatten: Provided sizes \[(?P<asked>[-\d, ]+)\] don't multiply up to the size of dim \d+ "
        r"\((?P<there>\d+)\)",
        "unflatten: Provided sizes [32, 7, 7] don't multiply up to the size of dim 1 (784) in the input tensor",
    ),
    Row(
        kinds.StridedView,
        r"view size is not compatible with input tensor's size and stride",
        "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
        "contiguous subspaces). Use .reshape(...) instead.",
    ),
)
TARGETS = (
    Row(
        kinds.CtcLengths,
        r"(?:input|target)_lengths must be of size batch_size",
        "input_lengths must be of size batch_size",
    ),
    Row(
        kinds.BatchSizes,
        r"Expected input batch_size \((?P<left>\d+)\) to match target batch_size \((?P<right>\d+)\)",
        "Expected input batch_size (64) to match target batch_size (4).",
    ),
    Row(
        kinds.LossShapes,
        r"size mismatch \(got input: \[(?P<output>[\d, ]*)\] ?, target: \[(?P<target>[\d, ]*)",
        "size mismatch (got input: [2], target: [1])",
    ),
    Row(
        kinds.TargetShape,
        r"multi-target not supported",
        "0D or 1D target tensor expected, multi-target not supported",
    ),
    Row(
        kinds.TargetShape,
        r"[Ee]xpected target (?:size|batch|to)",
        "Expected target size [4, 50], got [4, 12]",
    ),
    Row(
        kinds.TargetShape,
        r"[Tt]arget size \(torch\.Size.*(?:different (?:to|from) the|must be the same as) input size",
        "Target size (torch.Size([3])) must be the same as input size (torch.Size([3, 1]))",
    ),
    Row(
        kinds.TargetShape,
        r"input and target (?:batch|shapes|size).*(?:do not match|must|don't match)",
        "input and target batch or spatial sizes don't match: target [1, 2, 3], input [1, 3, 2, 2]",
    ),
    Row(
        kinds.TargetShape,
        r"only batches of spatial targets supported",
        "only batches of spatial targets supported (3D tensors) but got targets of dimension: 4",
    ),
    Row(
        kinds.TargetShape,
        r"inconsistent target size",
        "inconsistent target size: [2, 4] for input of size: [3, 4]",
    ),
)
RANGES = (
    Row(kinds.IndexRange, r"index out of range in self", "index out of range in self"),
    Row(
        kinds.IndexBounds,
        r"index (?P<index>-?\d+) is out of bounds for dimension (?P<dimension>\d+) with size (?P<size>\d+)",
        "index 48 is out of bounds for dimension 0 with size 48",
    ),
    Row(
        kinds.IndexRange,
        r"takes value -?\d+ which is not in the valid range",
        "index 1 of input takes value 9 which is not in the valid range [0, 5)",
    ),
    Row(
        kinds.IndexRange,
        r"out of range: tried to access index -?\d+ on a tensor of \d+ elements",
        "out of range: tried to access index 99 on a tensor of 12 elements.",
    ),
    Row(
        kinds.IndexRange,
        r"index out of bounds|indices? .* out of (?:bounds|range)",
        'Assertion `-sizes[i] <= index && index < sizes[i] && "index out of bounds"` failed.',
        specificity=GENERAL,
    ),
    Row(kinds.LabelRange, r"Target -?\d+ is out of bounds", "Target 255 is out of bounds."),
    Row(
        kinds.OneHotRange,
        r"Class values must be (?:smaller than num_classes|non-negative)",
        "Class values must be smaller than num_classes.",
    ),
    Row(kinds.LabelRange, r"target out of range", "target out of range"),
    Row(
        kinds.LabelRange,
        r"nll_loss.*Assertion|t >= 0 && t < n_classes",
        "nll_loss_forward_reduce_cuda_kernel_2d: Assertion `t >= 0 && t < n_classes` failed.",
        specificity=SPECIAL,
    ),
)
UNPACKING = Row(
    kinds.Unpacking,
    r"values to unpack \(expected (?P<wanted>\d+)",
    "not enough values to unpack (expected 2, got 1)",
)

SIZE_MESSAGES = (*PRODUCTS, *LAYERS, *SHAPES, *TARGETS, *RANGES, UNPACKING)
