"""The table of private names, by the name of each feature. Needs no torch.

The rows about torch's compiler and profiler are here, all others beside it.
"""

from __future__ import annotations

from torchwhy.observe.torch_features.feature import Feature
from torchwhy.observe.torch_features.of_python import OF_PYTHON
from torchwhy.observe.torch_features.of_torch import OF_TORCH

OF_TOOLS = (
    Feature(
        "compiler-switch",
        (
            "torch._C._dynamo.eval_frame",
            "torch._C._dynamo.eval_frame.set_eval_frame",
        ),
        "torchwhy steps aside as soon as the program calls `torch.compile`, not only when compiled code runs",
        ("observe.torch_features.compiler.CompilerWatch",),
    ),
    Feature(
        "uncompiled-code",
        (
            "torch._C._dynamo.eval_frame.set_code_exec_strategy",
            "torch._C._dynamo.eval_frame._FrameExecStrategy",
            "torch._C._dynamo.eval_frame._FrameAction",
        ),
        "as above, and between two parts of compiled code, torch may compile torchwhy's own functions",
        ("observe.torch_features.compiler.uncompiled",),
        since="torch 2.7",
    ),
    Feature(
        "compiled-modules",
        ("module torch._dynamo", "torch.nn.Module()._modules"),
        "the paths of modules and parameters of a compiled model contain `_orig_mod`",
        ("observe.torch_features.compiler.original_of",),
    ),
    Feature(
        "global-hooks-asked",
        ("torch.nn.modules.module._has_any_global_hook",),
        "while a step of a compiled program is repeated, torch may warn of torchwhy's hooks",
        ("observe.torch_features.compiler.EagerStance",),
        since="torch 2.8",
    ),
    Feature(
        "step-wrapper",
        ("torch.optim.Optimizer.profile_hook_step",),
        "the steps of a compiled program are not recorded",
        ("observe.torch_features.compiler.step_code",),
    ),
    Feature(
        "scaler-update",
        ("torch.amp.GradScaler._maybe_opt_step",),
        "in a compiled program, losses under a GradScaler are recorded multiplied by its scale",
        ("observe.torch_features.torch_internals.scaler_update_code",),
    ),
    Feature(
        "profiler-switch",
        (
            "torch._C._autograd._profiler_enabled",
            "torch._C._autograd._enable_record_function",
            "torch.autograd.profiler._enable_profiler",
        ),
        "the program's profiler counts what torchwhy computes",
        (
            "observe.torch_features.mode_stack.unseen",
            "observe.torch_features.mode_stack.note_profiler",
        ),
    ),
)

FEATURES = {feature.name: feature for feature in (*OF_TORCH, *OF_TOOLS, *OF_PYTHON)}
