"""Messages of torch about checkpoints, devices that are not there, states, optimizers and schedules."""

from __future__ import annotations

from torchwhy.detect.rules import message_kinds as kinds
from torchwhy.detect.rules.message_rows import SPECIAL, Row

# A GPU works through a queue of its own, so the Python line that hears of a failure is seldom the one that caused it.
SWITCH = "CUDA_LAUNCH_BLOCKING=1"
BLOCKING = (
    f"run again with `{SWITCH}` in the environment, which stops at the failing line, or on the CPU, whose "
    "message names the value"
)
IN_RANGE = (
    "check that labels are at least 0 and below the number of classes, and indices below the `num_embeddings` of the "
    "table: that is the usual cause"
)
REBUILT = (
    "install a torch that is built for this GPU: `torch.cuda.get_arch_list()` lists the architectures it has, "
    "`torch.cuda.get_device_capability()` the one it needs"
)
ADDED = (
    "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be "
    f"incorrect.\nFor debugging consider passing {SWITCH}"
)
LATE_ADVICE = {
    "assert": (BLOCKING, IN_RANGE),
    "memory-access": (BLOCKING, "check indices first: one that is out of range is the usual cause"),
    "launch": (BLOCKING, "if it happens at a random step, look for Xid messages of the driver in `dmesg`"),
    "library": (
        "use smaller batches once: these libraries report a lack of GPU memory like this, too",
        BLOCKING,
        "check that labels and indices are in range: after a failed assertion every later call fails",
    ),
    "no-kernel": (REBUILT,),
}  # fmt: skip


def _late(name: str, pattern: str, example: str) -> Row:
    return Row(kinds.LateDeviceError, pattern, example, fields={"name": name})


def _asynchronous(name: str, pattern: str, example: str) -> Row:
    """Return the row of an error whose message goes on with what torch adds to all errors of kernels."""
    said = rf"(?s)(?:{pattern})(?:.*?consider passing (?P<switch>\w+=1))?"
    return _late(name, said, f"{example}\n{ADDED}")


CHECKPOINT_MESSAGES = (
    Row(
        kinds.UnsafeLoad,
        r"(?s)Weights only load failed(?:.*?Unsupported (?:global: GLOBAL|class) (?P<refused>[\w.]+))?",
        "Weights only load failed. This file can still be loaded, to do so you have two options. WeightsUnpickler "
        "error: Unsupported global: GLOBAL __main__.Config was not an allowed global by default.",
    ),
    Row(
        kinds.UnsafeLoad,
        r"Cannot use ``weights_only=True`` with",
        "Cannot use ``weights_only=True`` with files saved in the legacy .tar format.",
    ),
    Row(
        kinds.UnreadableFile,
        r"(?s)Weights only load failed.*(?:Unsupported operand|invalid load key|persistent_load id must be)",
        "Weights only load failed. WeightsUnpickler error: Unsupported operand 118",
        specificity=SPECIAL,
    ),
    Row(
        kinds.UnreadableFile,
        r"PytorchStreamReader failed",
        "PytorchStreamReader failed reading zip archive: failed finding central directory",
    ),
    Row(
        kinds.UnreadableFile,
        r"^invalid load key, |^Ran out of input$|^pickle data was truncated",
        "invalid load key, '<'.",
    ),
    Row(
        kinds.StateMismatch,
        r"Error\(s\) in loading state_dict for \w+",
        'Error(s) in loading state_dict for Linear: Missing key(s) in state_dict: "weight", "bias".',
    ),
    Row(
        kinds.StateMismatch,
        r"Expected state_dict to be dict-like, got",
        "Expected state_dict to be dict-like, got <class 'torch.nn.modules.linear.Linear'>.",
    ),
    Row(
        kinds.OptimizerStateMismatch,
        r"loaded state dict (?:has a different number of parameter groups"
        r"|contains a parameter group that doesn't match)",
        "loaded state dict contains a parameter group that doesn't match the size of optimizer's group",
    ),
)

DEVICE_MESSAGES = (
    Row(
        kinds.MissingDevice,
        r"Torch not compiled with (?P<device>CUDA|XPU|MTIA|MPS) enabled",
        "Torch not compiled with CUDA enabled",
    ),
    Row(
        kinds.MissingDevice,
        r"PyTorch is not linked with support for (?P<device>\w+) devices",
        "PyTorch is not linked with support for mps devices",
    ),
    Row(
        kinds.MissingDevice,
        r"Found no NVIDIA driver|No CUDA GPUs are available|NVIDIA driver on your system is too old"
        r"|module 'torch\._C' has no attribute '_cuda_|CUDA driver version is insufficient"
        r"|no CUDA-capable device is detected",
        "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver",
        fields={"device": "CUDA"},
    ),
    Row(
        kinds.MissingDevice,
        r"Could not run 'aten::(?:empty|_copy|_to|_efficientzerotensor)\S*' with arguments from the "
        r"'(?P<device>CUDA|MPS|XPU|HIP)' backend",
        "Could not run 'aten::empty.memory_format' with arguments from the 'MPS' backend. This could be because the "
        "operator doesn't exist for this backend",
    ),
    Row(
        kinds.MissingDevice,
        r"No HIP GPUs are available",
        "No HIP GPUs are available",
        fields={"device": "HIP"},
    ),
    Row(
        kinds.MissingDevice,
        r"MPS backend (?:not available|is supported on MacOS)",
        "The MPS backend is supported on MacOS 14.0+. Current OS version can be queried using `sw_vers`",
        fields={"device": "MPS"},
    ),
    Row(
        kinds.DeviceNumber,
        r"CUDA error: invalid device ordinal|[Ii]nvalid device id",
        "CUDA error: invalid device ordinal",
        fields={"device": "CUDA"},
    ),
    Row(
        kinds.LoadedToMissingDevice,
        r"Attempting to deserialize object on (?:a )?(?P<device>[A-Za-z]+) device",
        "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are running "
        "on a CPU-only machine, please use torch.load with map_location=torch.device('cpu')",
    ),
    Row(
        kinds.LoadedToMissingDevice,
        r"don't know how to restore data location of \S+ \(tagged with (?P<device>\w+)",
        "don't know how to restore data location of torch.storage.UntypedStorage (tagged with mps:0)",
    ),
    _asynchronous(
        "assert",
        r"device-side assert triggered",
        "CUDA error: device-side assert triggered",
    ),
    _asynchronous(
        "memory-access",
        r"(?:CUDA|HIP|XPU) error: (?:an illegal memory access was encountered|misaligned address)",
        "CUDA error: an illegal memory access was encountered",
    ),
    _asynchronous(
        "launch",
        r"(?:CUDA|HIP|XPU) error: (?:unspecified launch failure|the launch timed out|unknown error|uncorrectable ECC)",
        "CUDA error: unspecified launch failure",
    ),
    _late(
        "library",
        r"C[Uu](?:BLAS|DNN|SOLVER|SPARSE|FFT)_STATUS_\w+|cu(?:BLAS|DNN|Solver|SPARSE|FFT) error|CUBLAS error",
        "CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`",
    ),
    _late(
        "no-kernel",
        r"no kernel image is available for execution on the device",
        "CUDA error: no kernel image is available for execution on the device",
    ),
)

OPTIMIZER_MESSAGES = (
    Row(
        kinds.SparseRefused,
        r"(?:does not support|is not compatible with) sparse grad",
        "Adam does not support sparse gradients, please consider SparseAdam instead",
    ),
    Row(
        kinds.SparseRefused,
        r"Could not run 'aten::\w*(?:norm|foreach|_fused)\w*(?:\.\w+)?' with arguments from the 'Sparse\w+' backend",
        "Could not run 'aten::_foreach_norm.Scalar' with arguments from the 'SparseCPU' backend.",
    ),
    Row(
        kinds.SparseRefused,
        r"add\(sparse, dense\) is not supported",
        "add(sparse, dense) is not supported. Use add(dense, sparse) instead.",
    ),
    Row(
        kinds.DenseRefused,
        r"does not support dense gradients",
        "SparseAdam does not support dense gradients, please consider Adam instead",
    ),
    Row(
        kinds.ScheduleOver,
        r"Tried to step (?P<made>\d+) times\. The specified number of total steps is (?P<length>\d+)",
        "Tried to step 3 times. The specified number of total steps is 2",
    ),
)

OTHER_MESSAGES = (
    Row(
        kinds.OutsideSupport,
        r"to be within the support",
        "Expected value argument (Tensor of shape (3,)) to be within the support (IntegerInterval(lower_bound=0, "
        "upper_bound=2)) of the distribution Categorical(logits: torch.Size([3])), but found invalid values",
    ),
    Row(
        kinds.MissingModule,
        r"^No module named '(?P<module>[\w.]+)'",
        "No module named 'tensorboard'",
    ),
)

EVERYDAY_MESSAGES = (
    *CHECKPOINT_MESSAGES,
    *DEVICE_MESSAGES,
    *OPTIMIZER_MESSAGES,
    *OTHER_MESSAGES,
)
