"""Errors of backward passes, custom Functions, checkpointing and compiled code, with advice."""

from __future__ import annotations

from torchwhy.detect.rules.advised.advice_rows import Advised
from torchwhy.detect.rules.message_rows import SPECIAL

AUTOGRAD_ERRORS = (
    Advised(
        "shape-of-gradient",
        # The nodes of torch's own functions end in a number.
        r"Function (?P<one>\w+)Backward returned an invalid gradient at index (?P<other>\d+)",
        "Function LinearFunctionBackward returned an invalid gradient at index 1 - got [8, 1] but expected shape "
        "compatible with [1, 8]",
        "look at what `backward` of `{one}` returns at index {other}, counted from 0: it must have the shape of the "
        "argument of `forward` at the same index after `ctx`",
    ),
    Advised(
        "static-function",
        r"Legacy autograd function with non-static forward",
        "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function "
        "with static forward method.",
        "put `@staticmethod` above `forward(ctx, …)` and `backward(ctx, …)`, with `ctx` in place of `self`, and call "
        "the class by `apply`, without creating an instance",
    ),
    Advised(
        "gradient-of-output",
        r"Mismatch in shape: grad_output\[\d+\] has a shape of",
        "Mismatch in shape: grad_output[0] has a shape of torch.Size([1]) and output[0] has a shape of torch.Size([]).",
        "leave the gradients out if the outputs are single numbers; else give each output one of its own shape: "
        "`torch.ones_like(output)`",
    ),
    Advised(
        "complex-loss",
        r"grad can be implicitly created only for real scalar outputs but got torch\.complex",
        "grad can be implicitly created only for real scalar outputs but got torch.complex64",
        "make the loss real where it is computed: take the magnitude, `.abs()`, before squares and means",
        specificity=SPECIAL,
    ),
    Advised(
        "scalar-function",
        r"Expected f\(\*args\) to return a scalar [Tt]ensor, got",
        "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with 1 dims.",
        "let the function return one number, as by `.mean()`; for a gradient of each sample, let it compute the loss "
        "of one sample and use `vmap(grad(function))`",
    ),
    Advised(
        "other-recomputation",
        r"A different number of tensors was saved during the original forward and recomputation"
        r"|Recomputed values for the following tensors have different metadata",
        "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
        "recomputation.",
        "let the checkpointed function compute the same both times: the backward pass runs it again, so it must not "
        "depend on anything that has changed since, such as a counter, a flag, or a random choice of Python",
    ),
    Advised(
        "differentiated-twice",
        r"trying to differentiate twice a function that was marked with @once_differentiable",
        "trying to differentiate twice a function that was marked with @once_differentiable",
        "remove `@once_differentiable` if that `backward` consists of torch operations: `create_graph=True` asks for "
        "the gradient of a gradient",
    ),
    Advised(
        "flag-of-result",
        r"you can only change requires_grad flags of leaf variables",
        "you can only change requires_grad flags of leaf variables.",
        "cut the result from its graph with `.detach()`; to freeze layers, use `requires_grad_(False)` on the module",
    ),
    Advised(
        "branch-in-graph",
        r"(?s)^Data-dependent branching.*line (?P<one>\d+), in",
        'Data-dependent branching\n\nfrom user code:\n  File "train.py", line 14, in forward\n    if h.max() > 3:',
        "choose with `torch.where(condition, a, b)` instead of the `if` on line {one}, or compile without "
        "`fullgraph=True`",
    ),
    Advised(
        "value-in-export",
        r"Could not (?:guard on|extract specialized integer from) data-dependent expression",
        "Could not guard on data-dependent expression u0 > 3.0 (unhinted: u0 > 3.0).  (Size-like symbols: none)",
        "one graph cannot hold a branch or a size that depends on values: choose with `torch.where(condition, a, b)` "
        "and without `.item()`, or put the branches into `torch.cond`",
    ),
)
