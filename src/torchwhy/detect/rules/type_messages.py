"""Messages of torch about dtypes and devices."""

from __future__ import annotations

from torchwhy.detect.rules import message_kinds as kinds
from torchwhy.detect.rules.message_rows import GENERAL, SPECIAL, Row

TYPE_MESSAGES = (
    # Devices.
    Row(
        kinds.Devices,
        r"Expected all tensors to be on the same device",
        "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!",
    ),
    Row(
        kinds.Devices,
        r"Tensor on device \S+ is not on the expected device \S+",
        "Tensor on device meta is not on the expected device cpu!",
    ),
    Row(
        kinds.Devices,
        r"Input type \(torch\.(?:cuda\.\w+\) and weight type \(torch\.\w+|\w+\) and weight type \(torch\.cuda\.\w+)\) "
        r"should be the same",
        "Input type (torch.FloatTensor) and weight type (torch.cuda.FloatTensor) should be the same or input should be "
        "a MKLDNN tensor and weight is a dense tensor",
        specificity=SPECIAL,
    ),
    Row(
        kinds.Devices,
        r"[Tt]ensor for argument #\d+ '\w+' is on \w+, but expected",
        "Tensor for argument #2 'mat1' is on CPU, but expected it to be on GPU (while checking arguments for addmm)",
        until="2.12",
    ),
    Row(
        kinds.Devices,
        r"[Ii]ndices should be either on cpu or on the same device",
        "indices should be either on cpu or on the same device as the indexed tensor (cpu)",
    ),
    Row(
        kinds.Devices,
        r"Placeholder storage has not been allocated on",
        "Placeholder storage has not been allocated on MPS device!",
    ),
    Row(
        kinds.ToNumpy,
        r"can't convert (?P<device>\w+(?::\d+)?) device type tensor to numpy",
        "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.",
    ),
    # Dtypes.
    Row(
        kinds.Dtypes,
        r"(?:must|to) have the same dtype, but got",
        "mat1 and mat2 must have the same dtype, but got Double and Float",
    ),
    Row(
        kinds.Dtypes,
        r"\): self \(\w+\) and source \(\w+\) must have the same scalar type",
        "index_add_(): self (Float) and source (BFloat16) must have the same scalar type",
    ),
    Row(
        kinds.Dtypes,
        r"Expected self\.dtype to be equal to src\.dtype",
        "scatter(): Expected self.dtype to be equal to src.dtype",
    ),
    Row(
        kinds.Dtypes,
        r"Input type \([\w: .]+\) and (?:bias|weight) type \([\w: .]+\) should be the same",
        "Input type (double) and bias type (float) should be the same",
    ),
    Row(
        kinds.Dtypes,
        r"dtype \(torch\.\w+\) does not match weight dtype",
        "RNN input dtype (torch.float64) does not match weight dtype (torch.float32). Convert input: "
        "input.to(torch.float32), or convert model: model.to(torch.float64)",
    ),
    Row(
        kinds.Dtypes,
        r"mixed dtype \(CPU\)",
        "mixed dtype (CPU): all inputs must share same datatype.",
        specificity=SPECIAL,
    ),
    Row(
        kinds.Dtypes,
        r"Index put requires the source and destination dtypes match",
        "Index put requires the source and destination dtypes match, got Float for the destination and Long for the "
        "source.",
    ),
    Row(
        kinds.Dtypes,
        r"Only Tensors of floating point and complex dtype can require gradients",
        "Only Tensors of floating point and complex dtype can require gradients",
    ),
    Row(
        kinds.Dtypes,
        r"[Ee]xpected .* to have (?:scalar type|dtype)",
        "nonzero: Expected out tensor to have scalar type Long but got scalar typeFloat",
        specificity=GENERAL,
    ),
    Row(
        kinds.ScalarType,
        r"expected scalar type (?P<expected>\w+) but found (?P<found>\w+)",
        "expected scalar type Double but found Float",
    ),
    Row(
        kinds.FoundDtype,
        r"Found dtype (?P<found>\w+) but expected (?P<expected>\w+)",
        "Found dtype Long but expected Float",
    ),
    Row(
        kinds.MeanOfIntegers,
        r"could not infer output dtype",
        "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: Long",
    ),
    Row(
        kinds.IndexDtype,
        r"to have one of the following scalar types: Long, Int; but got",
        "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
        "torch.FloatTensor instead (while checking arguments for embedding)",
    ),
    Row(
        kinds.IndexDtype,
        r"tensors used as indices must be long",
        "tensors used as indices must be long, int, byte or bool tensors",
    ),
    Row(
        kinds.IndexDtype,
        r"[Ee]xpected dtype int(?:32|64)(?:/int64)? for index",
        "gather(): Expected dtype int32/int64 for index",
    ),
    Row(
        kinds.UnsupportedDtype,
        r"not implemented for '(?P<dtype>\w+)'",
        "\"log_softmax_lastdim_kernel_impl\" not implemented for 'Long'",
    ),
    Row(
        kinds.ResultDtype,
        r"can't be cast to the desired output type",
        "result type Float can't be cast to the desired output type Long",
    ),
    Row(
        kinds.NumberTooLarge,
        r"value cannot be converted to type (?:c10|at)::Half without overflow",
        "value cannot be converted to type c10::Half without overflow",
    ),
    # Labels.
    Row(
        kinds.ClassNumbersWanted,
        r"expected target dtype to be Long",
        "expected target dtype to be Long or Byte, but got Float",
    ),
    Row(
        kinds.ClassNumbersWanted,
        r"one_hot is only applicable to index tensor of type LongTensor",
        "one_hot is only applicable to index tensor of type LongTensor.",
    ),
    Row(
        kinds.ProbabilitiesWanted,
        r"target with class probabilities",
        "Expected floating point type for target with class probabilities, got Long",
    ),
    Row(
        kinds.ConstraintViolated,
        r"Expected (?:parameter|value argument) (?P<parameter>\w+) [\s\S]*?"
        r"constraint (?P<constraint>\w+(?:\([^)]*\))?)",
        "Expected parameter scale (Tensor of shape (2,)) of distribution Normal(loc: torch.Size([2]), scale: "
        "torch.Size([2])) to satisfy the constraint GreaterThan(lower_bound=0.0), but found invalid values:\n"
        "tensor([0., 1.])",
    ),
)
