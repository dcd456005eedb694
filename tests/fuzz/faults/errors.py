"""The program stops with an exception."""

# ruff: noqa: E501 - a table: one fault a line

from __future__ import annotations

from dataclasses import replace

from tests.fuzz.faults.fault import (
    CLASSES,
    GUILTY,
    WITH_CLASS,
    Fault,
    put_after,
    put_before,
    rewrite,
    wrap,
)
from tests.fuzz.faults.wiring import SIMPLE_UPDATE
from tests.fuzz.models import outputs
from tests.fuzz.plan import Plan
from tests.fuzz.script import Script


def _head_too_wide(plan: Plan, script: Script) -> Script:
    wider = f"({plan.hidden + 3}, {outputs(plan)})"
    return script.change(
        "head",
        lambda text: text.replace(f"({plan.hidden}, {outputs(plan)})", wider),
        becomes=GUILTY,
    )


def _last_batch_of_one(plan: Plan, script: Script) -> Script:
    rows = (plan.rows // plan.batch - 1) * plan.batch + 1
    return script.after("split labels", f"$X, $Y = $X[:{rows}], $Y[:{rows}]", new_role=GUILTY)


def _fixed_batch(plan: Plan, script: Script) -> Script:
    line = f"h = h.view({plan.batch}, {plan.hidden})"
    return script.before("return", line, new_role=GUILTY)


def _label_too_large(plan: Plan, script: Script) -> Script:
    return script.before("split", f"$Y[5] = {plan.classes}", new_role=GUILTY)


def _too_few_steps(plan: Plan, script: Script) -> Script:
    return script.change(
        "scheduler",
        lambda text: text.replace("total_steps=", f"total_steps={plan.epochs} or "),
        becomes=GUILTY,
    )


def _call_without_gradients(_: Plan, script: Script) -> Script:
    marked = script.before("call", "with torch.no_grad():", new_role=GUILTY)
    return Script(
        tuple(replace(one, depth=one.depth + (one.role == "call")) for one in marked.lines)
    )


FAULTS = (
    Fault("linear of a wrong size", _head_too_wide, {"linear-size-mismatch": GUILTY}, {"task": ("classes", "regression", "image", "tokens"), **SIMPLE_UPDATE}),
    Fault("flatten forgotten", rewrite("flatten", "h.flatten(1)", "h"), {"linear-size-mismatch": GUILTY}, {"task": "image", "architecture": WITH_CLASS, **SIMPLE_UPDATE}),
    Fault("conv of wrong channels", rewrite("conv", "Conv2d(1,", "Conv2d(3,"), {"channel-mismatch": (GUILTY, "conv use", "call")}, {"task": "image", "architecture": WITH_CLASS, **SIMPLE_UPDATE}),
    Fault("label out of range", _label_too_large, {"label-out-of-range": "loss"}, {"task": ("classes", "image"), "loss_style": ("module", "functional"), **SIMPLE_UPDATE}),
    Fault("labels as floats", put_before("call", "$y = $y.float()"), {"label-dtype": ("loss", GUILTY)}, {"task": CLASSES, "loss_style": ("module", "functional"), **SIMPLE_UPDATE}),
    Fault("inputs as doubles", put_before("call", "$x = $x.double()"), {"dtype-mismatch": ("call", GUILTY, "stem use")}, {"task": ("classes", "regression"), "double": False, **SIMPLE_UPDATE}),
    Fault("bce of other shapes", rewrite("return", ".squeeze(-1)", ""), {"target-shape-mismatch": "loss"}, {"task": "binary", **SIMPLE_UPDATE}),
    Fault("hidden changed in place", put_before("return", "h = torch.exp(h * 0.01)", "k = h.sum()", "h += k"), {"inplace-modification": GUILTY}, {"architecture": WITH_CLASS, **SIMPLE_UPDATE}),
    Fault("weight changed before backward", put_before("backward", "nn.init.normal_($model.head.weight)"), {"inplace-modification": GUILTY}, {"architecture": WITH_CLASS, **SIMPLE_UPDATE}),
    Fault("backward twice", put_after("backward", "$loss.backward()"), {"graph-freed": GUILTY}, SIMPLE_UPDATE),
    Fault("loss not reduced", rewrite("loss", "$y)", '$y, reduction="none")'), {"non-scalar-backward": "backward"}, {"task": ("classes", "regression", "image"), "loss_style": "functional", **SIMPLE_UPDATE}),
    Fault("item of the loss", wrap("loss", "(", ").item()"), {"detached-graph": (GUILTY, "backward"), "no-graph": (GUILTY, "backward")}, SIMPLE_UPDATE),
    Fault("forward without gradients", _call_without_gradients, {"no-graph": GUILTY}, SIMPLE_UPDATE),
    Fault("embedding too small", rewrite("embedding", "Embedding(12,", "Embedding(10,"), {"index-out-of-range": (GUILTY, "rnn use")}, {"task": ("tokens", "language"), **SIMPLE_UPDATE}),
    Fault("view of a transposed tensor", rewrite("loss", "$out.reshape(-1, 12)", "$out.transpose(0, 1).view(-1, 12)"), {"noncontiguous-view": GUILTY}, {"task": "language", "loss_style": ("functional", "module"), **SIMPLE_UPDATE}),
    Fault("batch norm of one row", _last_batch_of_one, {"batchnorm-of-one": ("norm use", "batches", "loader", "shuffled loader", "call")}, {"task": ("classes", "regression"), "norm": "batch", "loop": "loader", "sampler": "no", **SIMPLE_UPDATE}),
    Fault("batch size written into the model", _fixed_batch, {"ragged-last-batch": GUILTY}, {"architecture": WITH_CLASS, "task": ("classes", "regression"), "rows": 400, "batch": 32, "loop": "loader", "sampler": "no", **SIMPLE_UPDATE, "evaluation": "no"}),
    Fault("schedule too short", _too_few_steps, {"scheduler-past-its-end": GUILTY}, {"scheduler": "one cycle", "loop": "loader", **SIMPLE_UPDATE}),
    Fault("keys of another model", put_before("optimizer", "$model.load_state_dict({f'module.{name}': value for name, value in $model.state_dict().items()})"), {"state-dict-mismatch": GUILTY}, SIMPLE_UPDATE),
    Fault("one sample instead of a batch", rewrite("call", "($x)", "($x[0])"), {"missing-batch-dimension": (GUILTY, "norm use")}, {"task": ("classes", "image"), "norm": "batch", "call": "plain", "compiled": False, "augmentation": "no", **SIMPLE_UPDATE}),
    Fault("matmul the wrong way round", put_before("return", "h = h @ torch.randn(7, h.shape[1])"), {"matmul-size-mismatch": GUILTY}, {"architecture": WITH_CLASS, "task": ("classes", "regression"), "double": False, **SIMPLE_UPDATE}),
    Fault("sizes that do not broadcast", put_before("return", "h = h + torch.ones(h.shape[1] + 1)"), {"broadcast-mismatch": GUILTY}, {"architecture": WITH_CLASS, "task": ("classes", "regression"), "double": False, **SIMPLE_UPDATE}),
    Fault("cuda on a machine without", put_before("optimizer", '$model.to("cuda")'), {"missing-device": GUILTY}, SIMPLE_UPDATE),
)  # fmt: skip
