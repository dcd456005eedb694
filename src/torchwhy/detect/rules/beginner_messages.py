"""Errors that say what is wrong but not what to do, with the advice that experienced users give."""

from __future__ import annotations

from torchwhy.detect.rules.advised.autograd_errors import AUTOGRAD_ERRORS
from torchwhy.detect.rules.advised.data_errors import DATA_ERRORS
from torchwhy.detect.rules.advised.model_errors import MODEL_ERRORS
from torchwhy.detect.rules.message_kinds import BeginnersError
from torchwhy.detect.rules.message_rows import SPECIAL, Row

ADVISED = (*DATA_ERRORS, *MODEL_ERRORS, *AUTOGRAD_ERRORS)
ADVICE = {
    **{error.name: error.advice for error in ADVISED},
    "tuple-for-tensor": "take the tensor out of the tuple: a recurrent layer returns output and state, "
    "`output, state = layer(x)`",
    "numpy-of-graph": "read the value without its graph: `.detach().numpy()`",
    "numpy-of-bfloat16": "convert it first, because NumPy has no bfloat16: `.float().numpy()`",
    "before-module-init": "call `super().__init__()` first in the `__init__` of the module",
    "no-forward": "define a method with exactly this name: `def forward(self, x)`",
    "list-called": "call its layers one after another, `for layer in self.layers: x = layer(x)`, or make it an "
    "nn.Sequential, which does so",
    "topk-of-fewer": "ask for no more than there are: `k = min(k, x.size(dim))`",
    "float-for-slice": "divide integers with `//`, which gives an integer, where the bound is computed",
    "pickled-function": "define the function at the top of the file, not as a lambda or inside another function: a "
    "worker process that is spawned gets the dataset by pickle; or load with `num_workers=0`",
    "tensor-for-parameter": "change the values of the parameter in place, `with torch.no_grad(): weight.copy_(new)`, "
    "which keeps it in the optimizer",
    "no-parameters": "give the optimizer a model whose layers are attributes, or in an nn.ModuleList, "
    "not in a plain list",
    "non-leaf": "create the tensor first and make it require gradients last: "
    "`w = (…).detach().requires_grad_()`, or nn.Parameter",
    "method-not-called": "call the method with parentheses, as in `model.parameters()`",
    "port-taken": "end the earlier job that still holds the port (`ss -ltnp` names it), or choose another one: "
    "`torchrun --master_port 29501`, or `--standalone` on a single machine, which takes a free port",
    "rank-missing": "find out why the other ranks did not come: each must be started, with the same address, port and "
    "world size, and reach `init_process_group` within its timeout",
    "several-to-scalar": "reduce it to one number first: `.mean().item()`",
    "truth-of-several": "decide for each element with `torch.where(condition, a, b)`, or for all with "
    "`.all()` or `.any()`",
    "tensor-for-list": "put the tensors into a list: `torch.cat([a, b], dim=1)`",
    "heads-divide-width": "choose a number of heads that divides the width, or a width that is a multiple of it",
    "unsorted-lengths": "give pack_padded_sequence `enforce_sorted=False`",
    "gradients-returned": "return one gradient for each argument of `forward`, None for those that need none",
    "unscaled-twice": "call `scaler.update()` after every `unscale_`, also after a step that is skipped; with several "
    "passes per step, unscale only before the step",
    "no-inf-checks": "find out why no parameter of this optimizer has a gradient: the scaled loss does not depend on "
    "them (a `detach()` or `no_grad` between), or the gradients were cleared before the step",
    "unscaled-half": "keep the weights in float32 (no `.half()` and no `.to(torch.float16)`) and let `torch.autocast` "
    "compute in float16: a GradScaler divides the gradients of float32 weights only",
    "norm-in-vmap": "replace the BatchNorm by a GroupNorm, or make it with `track_running_stats=False`: under vmap "
    "each sample would update the same running statistics",
    "random-in-vmap": 'say how vmap draws random numbers: `vmap(function, randomness="different")` gives each call its '
    "own dropout mask",
    "metric-for-schedule": "pass the number to watch, `scheduler.step(validation_loss)`: ReduceLROnPlateau lowers the "
    "rate when it stops falling",
    "targets-in-unit-interval": "bring the targets to 0 … 1 (images without their normalisation, labels from 0), or "
    "use a loss for any values, such as mse_loss",
    "frames-of-ctc": "give the lengths in frames of the model's output: strides and poolings shorten them",
    "empty-sequence": "leave out empty sequences before they are packed, or give each of them one token",
    "branch-in-vmap": "choose for each element with `torch.where(condition, a, b)` instead of `if`, and read no values "
    "with `.item()`",
    "write-in-vmap": "collect the parts in a list and use `torch.stack`, or create the tensor that is written to from "
    "an argument of the function: `x.new_zeros(…)`",
    "copy-of-graph": "keep what the module stores in its forward pass without its graph, `self.name = value.detach()`, "
    "or copy `state_dict()`",
    "no-directory": "create the directory first: `os.makedirs(directory, exist_ok=True)`",
    "device-name": "name a device that torch knows: `cpu`, `cuda`, `cuda:0`, `mps`",
    "worker-killed": "use fewer workers or smaller batches: the system killed the worker, because memory ran out "
    "(in a container, give it more shared memory: `docker run --shm-size=8g`)",
    "worker-died": "run once with `num_workers=0`, which shows the worker's own error",
    "start-in-main": 'move the code that starts the training under `if __name__ == "__main__":`, because each worker '
    "process imports this file",
    "cuda-after-fork": "let the loader yield CPU tensors and move them in the loop, or start the processes with "
    '`torch.multiprocessing.set_start_method("spawn")`',
    "nccl-missing": 'use the backend for CPUs: `init_process_group("gloo")`; NCCL needs GPUs',
    "weights-per-class": "give the loss one weight for each output of the model, or the model one output for "
    "each weight",
}


def _row(name: str, pattern: str, example: str) -> Row:
    return Row(BeginnersError, pattern, example, fields={"name": name})


BEGINNER_MESSAGES = (
    *(error.row for error in ADVISED),
    _row(
        "tuple-for-tensor",
        r"must be Tensor, not tuple",
        "linear(): argument 'input' (position 1) must be Tensor, not tuple",
    ),
    _row(
        "numpy-of-graph",
        r"Can't call numpy\(\) on Tensor that requires grad",
        "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.",
    ),
    _row(
        "numpy-of-bfloat16",
        r"Got unsupported ScalarType BFloat16",
        "Got unsupported ScalarType BFloat16",
    ),
    _row(
        "before-module-init",
        r"before Module\.__init__\(\) call",
        "cannot assign module before Module.__init__() call",
    ),
    _row(
        "no-forward",
        r'missing the required "forward" function',
        'Module [Net] is missing the required "forward" function',
    ),
    Row(
        BeginnersError,
        r'Module \[Module(?:List|Dict)\] is missing the required "forward" function',
        'Module [ModuleList] is missing the required "forward" function',
        specificity=SPECIAL,
        fields={"name": "list-called"},
    ),
    _row(
        "topk-of-fewer",
        r"selected index k out of range",
        "selected index k out of range",
    ),
    _row(
        "float-for-slice",
        r"slice indices must be integers or None",
        "slice indices must be integers or None or have an __index__ method",
    ),
    _row(
        "pickled-function",
        r"Can't (?:pickle|get) local object",
        "Can't pickle local object 'Data.__init__.<locals>.<lambda>'",
    ),
    _row(
        "tensor-for-parameter",
        r"cannot assign '.*' as parameter '\w+' \(torch\.nn\.Parameter or None expected\)",
        "cannot assign 'torch.FloatTensor' as parameter 'weight' (torch.nn.Parameter or None expected)",
    ),
    _row(
        "no-parameters",
        r"optimizer got an empty parameter list",
        "optimizer got an empty parameter list",
    ),
    _row("non-leaf", r"can't optimize a non-leaf Tensor", "can't optimize a non-leaf Tensor"),
    _row(
        "method-not-called",
        r"'method' object is not (?:iterable|subscriptable)",
        "'method' object is not iterable",
    ),
    _row(
        "several-to-scalar",
        r"elements cannot be converted to Scalar",
        "a Tensor with 3 elements cannot be converted to Scalar",
    ),
    _row(
        "truth-of-several",
        r"Boolean value of Tensor with more than one value is ambiguous",
        "Boolean value of Tensor with more than one value is ambiguous",
    ),
    _row(
        "tensor-for-list",
        r"argument 'tensors' \(position 1\) must be tuple of Tensors, not Tensor",
        "cat(): argument 'tensors' (position 1) must be tuple of Tensors, not Tensor",
    ),
    _row(
        "heads-divide-width",
        r"embed_dim must be divisible by num_heads",
        "embed_dim must be divisible by num_heads",
    ),
    _row(
        "unsorted-lengths",
        r"`lengths` array must be sorted in decreasing order",
        "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True.",
    ),
    _row(
        "gradients-returned",
        r"returned an incorrect number of gradients",
        "function FnBackward returned an incorrect number of gradients (expected 2, got 1)",
    ),
    _row(
        "unscaled-twice",
        r"unscale_\(\) has already been called on this optimizer",
        "unscale_() has already been called on this optimizer since the last update().",
    ),
    _row(
        "no-inf-checks",
        r"No inf checks were recorded for this optimizer",
        "No inf checks were recorded for this optimizer.",
    ),
    _row(
        "unscaled-half",
        r"Attempting to unscale FP16 gradients",
        "Attempting to unscale FP16 gradients.",
    ),
    _row(
        "norm-in-vmap",
        r"Batch norm got a batched tensor as input while the running_mean or running_var",
        "Batch norm got a batched tensor as input while the running_mean or running_var, which will be updated in "
        "place, were not batched.",
    ),
    _row(
        "random-in-vmap",
        r"vmap: called random operation while in randomness error mode",
        "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
        "randomness flags on vmap or perform the randomness operation out of vmap",
    ),
    _row(
        "metric-for-schedule",
        r"ReduceLROnPlateau\.step\(\) missing 1 required positional argument: 'metrics'",
        "ReduceLROnPlateau.step() missing 1 required positional argument: 'metrics'",
    ),
    _row(
        "targets-in-unit-interval",
        r"all elements of target should be between 0 and 1",
        "all elements of target should be between 0 and 1",
    ),
    _row(
        "frames-of-ctc",
        r"Expected input_lengths to have value at most",
        "Expected input_lengths to have value at most 23, but got value 45 (while checking arguments for "
        "ctc_loss_allocate_outputs)",
    ),
    _row(
        "empty-sequence",
        r"Length of all samples has to be greater than 0",
        "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0",
    ),
    _row(
        "branch-in-vmap",
        r"vmap: It looks like you're .*data-dependent control flow",
        "vmap: It looks like you're either (1) calling .item() on a Tensor or (2) attempting to use a Tensor in some "
        "data-dependent control flow or (3) encountering this error in PyTorch internals.",
    ),
    _row(
        "write-in-vmap",
        r"vmap: .* is not possible because there exists a Tensor `other` in extra_args",
        "vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor `other` in "
        "extra_args that has more elements than `self`.",
    ),
    _row(
        "copy-of-graph",
        r"Only Tensors created explicitly by the user \(graph leaves\) support the deepcopy protocol",
        "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.",
    ),
    _row(
        "no-directory",
        r"Parent directory .* does not exist",
        "Parent directory runs/best does not exist.",
    ),
    _row(
        "device-name",
        r"device type at start of device string",
        "Expected one of cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, vulkan, "
        "mps, meta, hpu, mtia, privateuseone device type at start of device string: gpu",
    ),
    _row(
        "worker-killed",
        r"DataLoader worker \(pid \d+\) is killed by signal: (?:Killed|Bus error|Terminated)",
        "DataLoader worker (pid 4711) is killed by signal: Killed. ",
    ),
    _row(
        "worker-died",
        r"DataLoader worker \(pid(?:\(s\))? [\d, ]+\) (?:exited unexpectedly"
        r"|is killed by signal: (?:Segmentation|Abort))",
        "DataLoader worker (pid(s) 4711, 4712) exited unexpectedly",
    ),
    _row(
        "start-in-main",
        r"An attempt has been made to start a new process before the\s+current process has finished",
        "An attempt has been made to start a new process before the current process has finished its bootstrapping "
        "phase.",
    ),
    _row(
        "cuda-after-fork",
        r"Cannot re-initialize CUDA in forked subprocess",
        "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn' "
        "start method",
    ),
    _row(
        "nccl-missing",
        r"ProcessGroupNCCL is only supported with GPUs|Distributed package doesn't have NCCL",
        "Distributed package doesn't have NCCL built in",
    ),
    _row(
        "weights-per-class",
        r"weight tensor should be defined either for all \d+ classes",
        "weight tensor should be defined either for all 4 classes or no classes but got weight tensor of shape: [3]",
    ),
    _row(
        "port-taken",
        r"EADDRINUSE|[Aa]ddress already in use",
        "The server socket has failed to listen on any local network address. port: 29500, useIpv6: false, code: -98, "
        "name: EADDRINUSE, message: address already in use",
    ),
    _row(
        "rank-missing",
        r"Timed out after \d+ seconds waiting for clients\. \d+/\d+ clients joined",
        "Timed out after 301 seconds waiting for clients. 1/2 clients joined.",
    ),
)
