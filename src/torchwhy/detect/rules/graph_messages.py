"""Messages of torch about the graph of the backward pass, memory and weights."""

from __future__ import annotations

from torchwhy.detect.rules import message_kinds as kinds
from torchwhy.detect.rules.message_rows import GENERAL, SPECIAL, Row


class HookedInPlace(kinds.ViewInPlace):
    """A statement or layer changes the output of a module with a full backward hook in place."""


GRAPH_MESSAGES = (
    Row(
        HookedInPlace,
        r"Output \d+ of BackwardHookFunction(?:Backward)? is a view and is being modified inplace",
        "Output 0 of BackwardHookFunction is a view and is being modified inplace. This view was created inside a "
        "custom Function",
        specificity=SPECIAL,
    ),
    Row(
        kinds.FreedGraph,
        r"backward through the graph a second time",
        "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
        "been freed).",
    ),
    Row(
        kinds.StaleValue,
        r"modified by an inplace operation",
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        "[torch.FloatTensor [4, 3]], which is output 0 of Mul, is at version 1; expected version 0 instead.",
    ),
    Row(
        kinds.LeafInPlace,
        r"a (?:view of a )?leaf Variable that requires grad is being used in an in-place operation",
        "a view of a leaf Variable that requires grad is being used in an in-place operation.",
    ),
    Row(
        kinds.ViewInPlace,
        r"is a view and (?:is being|its base or another view of its base has been) modified inplace",
        "Output 0 of Unbind is a view and is being modified inplace. This view is the output of a function that "
        "returns multiple views.",
    ),
    Row(
        kinds.NothingRequiresGrad,
        r"element \d+ of tensors does not require grad and does not have a grad_fn",
        "element 0 of tensors does not require grad and does not have a grad_fn",
    ),
    Row(
        kinds.NumberWithoutBackward,
        r"'(?P<kind>float|int|numpy\.\w+)' object has no attribute 'backward'",
        "'float' object has no attribute 'backward'",
    ),
    Row(
        kinds.UnusedInGraph,
        r"differentiated Tensors? .*appears? to not have been used in the graph",
        "The differentiated Tensor at index 0 appears to not have been used in the graph. Set allow_unused=True if "
        "this is the desired behavior.",
    ),
    Row(
        kinds.NeedsNoGradient,
        r"differentiated Tensors? .*does not require grad",
        "One of the differentiated Tensors does not require grad",
    ),
    Row(
        kinds.InferenceTensor,
        r"Inference tensors cannot be saved for backward",
        "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
        "computation tracked by autograd.",
    ),
    Row(
        kinds.NonScalar,
        r"grad can be implicitly created only for (?:real )?scalar outputs",
        "grad can be implicitly created only for scalar outputs",
    ),
    Row(
        kinds.NegativeStride,
        r"stride in the given numpy array is negative",
        "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
        "currently supported.",
    ),
    Row(
        kinds.FanIn,
        r"Fan in and fan out can not be computed for tensor with fewer than 2 dimensions",
        "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions",
    ),
    Row(
        kinds.InitialiserDimensions,
        r"Only tensors with (?:2 or more|2|3, 4, or 5) dimensions are supported",
        "Only tensors with 2 or more dimensions are supported",
    ),
    Row(
        kinds.OutOfMemory,
        r"can't allocate memory: you tried to allocate (?P<amount>\d+) bytes",
        "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to "
        "allocate 4000000000000 bytes. Error code 12 (Cannot allocate memory)",
    ),
    Row(
        kinds.OutOfMemory,
        r"(?s)out of memory\. Tried to allocate (?P<amount>[\d.]+) (?P<unit>[KMGT]?i?B)"
        r"(?:.*?(?P<free>[\d.]+ \w+) is free)?",
        "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.69 GiB of which 1.20 GiB is "
        "free.",
    ),
    Row(
        kinds.OutOfMemory,
        r"Unable to allocate (?P<amount>[\d.]+) (?P<unit>[KMGTP]?i?B) for an array "
        r"with shape \((?P<shape>[\d, ]+)\)",
        "Unable to allocate 728. TiB for an array with shape (1000000, 1000000, 100) and data type float64",
    ),
    Row(
        kinds.OutOfMemory,
        r"(?i)\bout of memory\b|can't allocate memory|unable to allocate .* for an array",
        "CUDA error: out of memory",
        specificity=GENERAL,
    ),
)
