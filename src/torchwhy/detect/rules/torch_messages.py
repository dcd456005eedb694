"""Errors of torch that say what is wrong and not what to do: the sentence that experienced users add to them."""

from __future__ import annotations

ADVICE = (
    (
        r"must be Tensor, not tuple",
        "take the tensor out of the tuple: a recurrent layer gives output and state, `output, state = layer(x)`",
    ),
    (
        r"Can't call numpy\(\) on Tensor that requires grad",
        "read the value without its graph: `.detach().numpy()`",
    ),
    (
        r"Got unsupported ScalarType BFloat16",
        "NumPy has no bfloat16: convert it first, `.float().numpy()`",
    ),
    (
        r"before Module\.__init__\(\) call",
        "call `super().__init__()` first in the `__init__` of the module",
    ),
    (
        r'missing the required "forward" function',
        "give the class a method of exactly this name: `def forward(self, x)`",
    ),
    (
        r"optimizer got an empty parameter list",
        "give the optimizer a model whose layers are attributes, or in an nn.ModuleList, not in a plain list",
    ),
    (
        r"can't optimize a non-leaf Tensor",
        "make the tensor first and let it require gradients last: `w = (…).detach().requires_grad_()`, or nn.Parameter",
    ),
    (
        r"'method' object is not (?:iterable|subscriptable)",
        "call the method: write its brackets, as in `model.parameters()`",
    ),
    (
        r"Tried to step \d+ times\. The specified number of total steps is",
        "make the scheduler for as many steps as the whole training calls it: total_steps=epochs * len(loader)",
    ),
    (
        r"elements cannot be converted to Scalar",
        "reduce it to one number first: `.mean().item()`",
    ),
    (
        r"Boolean value of Tensor with more than one value is ambiguous",
        "decide for each element with `torch.where(condition, a, b)`, or for all with `.all()` or `.any()`",
    ),
    (
        r"argument 'tensors' \(position 1\) must be tuple of Tensors, not Tensor",
        "put the tensors into a list: `torch.cat([a, b], dim=1)`",
    ),
    (
        r"embed_dim must be divisible by num_heads",
        "choose a number of heads that divides the width, or a width that is a multiple of it",
    ),
    (
        r"`lengths` array must be sorted in decreasing order",
        "give pack_padded_sequence `enforce_sorted=False`",
    ),
    (
        r"returned an incorrect number of gradients",
        "return one gradient for each argument of `forward`, None for those that need none",
    ),
    (
        r"Unexpected key\(s\) in state_dict: \"module\.",
        "they were saved from an nn.DataParallel: save `model.module.state_dict()`, or cut `module.` off the keys",
    ),
    (
        r"weight tensor should be defined either for all \d+ classes",
        "give the loss one weight for each output of the model, or the model one output for each weight",
    ),
)
