"""Errors of layers, modules, and functions of tensors, with advice."""

from __future__ import annotations

from torchwhy.detect.rules.advised.advice_rows import Advised
from torchwhy.detect.rules.message_rows import GENERAL, SPECIAL

MODEL_ERRORS = (
    Advised(
        "batch-of-transformer",
        r"the batch number of src and tgt must be equal",
        "the batch number of src and tgt must be equal",
        "create the nn.Transformer with `batch_first=True` if the batch is the first dimension; without it the batch "
        "is the second one",
    ),
    Advised(
        "ragged-dimensions",
        r"cannot call binary pointwise function \S+ with inputs of shapes \(.*j\d+.*j\d+",
        "cannot call binary pointwise function add.Tensor with inputs of shapes (8, j1, 16) and (8, j2, 16)",
        "build the second nested tensor with the offsets of the first: `torch.nested.nested_tensor_from_jagged(values, "
        "offsets=x.offsets())`; torch takes only tensors that share their offsets for equally long",
    ),
    Advised(
        "packed-for-tensor",
        r"must be Tensor, not PackedSequence",
        "linear(): argument 'input' (position 1) must be Tensor, not PackedSequence",
        "turn it into a padded tensor first: `output, lengths = pad_packed_sequence(output, batch_first=True)`",
    ),
    Advised(
        "labels-of-ctc",
        r"size at least (?P<one>\d+) at dimension 1, but got size (?P<other>\d+) for argument #2 'targets'",
        "Expected tensor to have size at least 6 at dimension 1, but got size 5 for argument #2 'targets' (while "
        "checking arguments for ctc_loss_allocate_outputs)",
        "count only labels that are in the targets: the largest of the target lengths is {one}, but the targets have "
        "{other} columns",
    ),
    Advised(
        "offsets-of-bags",
        r"offsets\[0\] has to be 0",
        "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, got "
        "6",
        "let the offsets begin with 0 and leave out the last sum: `torch.tensor([0, *lengths[:-1]]).cumsum(0)`",
    ),
    Advised(
        "sparse-operand",
        r"Could not run 'aten::\w+(?:\.\w+)?' with arguments from the 'Sparse\w+' backend",
        "Could not run 'aten::_softmax' with arguments from the 'SparseCPU' backend.",
        "this operation has no version for sparse tensors: use the one in `torch.sparse` (mm, softmax, log_softmax, "
        "sum), or convert the tensor with `.to_dense()`",
        specificity=GENERAL,
    ),
    Advised(
        "float-for-quantised",
        r"Could not run 'quantized::\w+(?:\.\w+)?' with arguments from the '(?:CPU|CUDA)' backend",
        "Could not run 'quantized::linear' with arguments from the 'CPU' backend.",
        "quantise the input at the start of `forward` with a `torch.ao.quantization.QuantStub()`, and end with a "
        "`DeQuantStub()`; then prepare and convert the model anew",
    ),
    Advised(
        "types-in-script",
        r"found Tensor \(inferred\)|to be of type 'Tensor' because it was not annotated",
        "all inputs of range must be ints, found Tensor (inferred) in argument 0",
        "annotate the arguments that are not tensors, as in `def forward(self, x, count: int)`: torch.jit.script takes "
        "all others for tensors",
    ),
    Advised(
        "arguments-of-forward",
        r"\.forward\(\) (?:takes \d+ positional|missing \d+ required|got an unexpected keyword|takes from \d+)",
        "Net.forward() takes 2 positional arguments but 3 were given",
        "pass the model what its `forward` takes, or add the argument there; Python's numbers count `self`",
    ),
    Advised(
        "registered-attribute",
        r"attribute '(?P<one>\w+)' already exists",
        "\"attribute 'mean' already exists\"",
        "remove the earlier assignment of `self.{one}`, or register under another name",
    ),
    Advised(
        "dot-in-name",
        r"name can\\?'t contain \"\.\", got: (?P<one>[\w.]+)",
        "'module name can\\'t contain \".\", got: shape.v2'",
        'use a name without a dot in place of "{one}", such as one in which `replace(".", "_")` has put underscores',
    ),
    Advised(
        "channels-per-group",
        r"num_channels \((?P<one>\d+)\) must be divisible by num_groups \((?P<other>\d+)\)",
        "num_channels (48) must be divisible by num_groups (32)",
        "choose a number of groups that divides {one}, or a number of channels that is a multiple of {other}",
    ),
    Advised(
        "dimensions-to-resize",
        r"Input and output must have the same number of spatial dimensions, but got input with spatial dimensions of",
        "Input and output must have the same number of spatial dimensions, but got input with spatial dimensions of "
        "[32] and output size of torch.Size([16, 16]).",
        "give the input the dimensions batch, channels, height and width: masks without a channel need "
        "`unsqueeze(1)` before, and `squeeze(1)` after",
    ),
    Advised(
        "minus-of-bool",
        r"Subtraction, the `-` operator, with a bool tensor is not supported",
        "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use "
        "the `~` or `logical_not()` operator instead.",
        "invert the mask with `~mask` instead of `1 - mask`, or compute with numbers: `1 - mask.float()`",
    ),
    Advised(
        "inverted-float",
        r"~ \(operator\.invert\) is only implemented on integer and Boolean-type tensors",
        "~ (operator.invert) is only implemented on integer and Boolean-type tensors",
        "make the mask boolean first: `~mask.bool()`",
    ),
    Advised(
        "elements-of-scalar",
        r"(?:iteration over|len\(\) of) a 0-d tensor",
        "iteration over a 0-d tensor",
        "it holds a single number: if a `squeeze()` made it, name the dimension, as in `squeeze(1)`, because without a "
        "number it also removes the batch dimension of a batch of one sample",
    ),
    Advised(
        "dtype-of-mask",
        r"Expected attn_mask dtype to be bool or float or to match query dtype",
        "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: long int and  "
        "query.dtype: float instead.",
        "pass a boolean mask that is True where attention is allowed: `mask.bool()`",
        specificity=SPECIAL,
    ),
    Advised(
        "scalars-concatenated",
        r"zero-dimensional tensor \(at position \d+\) cannot be concatenated",
        "zero-dimensional tensor (at position 0) cannot be concatenated",
        "use `torch.stack`, which makes a vector of single numbers",
    ),
    Advised(
        "tensor-of-tensors",
        r"only one element tensors can be converted to Python scalars",
        "only one element tensors can be converted to Python scalars",
        "join tensors with `torch.stack(…)`: `torch.tensor(…)` takes numbers; where a single number is meant, reduce "
        "first, as in `.mean()`",
    ),
)
