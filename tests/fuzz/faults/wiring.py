"""The program does not do what its author thinks."""

# ruff: noqa: E501 - a table: one fault a line

from __future__ import annotations

from tests.fuzz.faults.fault import (
    CLASSES,
    GUILTY,
    WITH_CLASS,
    Fault,
    both,
    drop,
    put_after,
    put_before,
    rewrite,
    swap,
    wrap,
)
from tests.fuzz.models import outputs
from tests.fuzz.plan import Plan
from tests.fuzz.script import Script

BY_LOADER = {"loop": ("loader", "permutation")}
WITH_STEP = {"optimizer": ("Adam", "AdamW", "SGD", "RMSprop"), "two_optimizers": False}
SIMPLE_UPDATE = {
    **WITH_STEP,
    "accumulation": 1,
    "autocast": "no",
    "zero_grad": "start",
    "frozen": False,
    "groups": "no",
}
EVALUATES = {"evaluation": ("no_grad", "inference", "best"), "style": ("script", "main", "trainer")}


def _new_head(plan: Plan, script: Script) -> Script:
    line = f"$model.head = nn.Linear({plan.hidden}, {outputs(plan)})"
    return script.after("optimizer", line, new_role="replaced head")


def _steps_every_batch(plan: Plan, script: Script) -> Script:
    text = script.first("scheduler step").text
    return script.without("scheduler step").after("total", text, new_role=GUILTY)


def _alias_of_an_early_epoch(_: Plan, script: Script) -> Script:
    early = script.change(
        "is best", lambda _: "if epoch < 2:"
    )  # An alias of the last epoch is right.
    return early.change(
        "best",
        lambda text: text.replace("copy.deepcopy($model.state_dict())", "$model.state_dict()"),
        becomes=GUILTY,
    )


def _unused_layer(plan: Plan, script: Script) -> Script:
    line = f"self.extra = nn.Linear({plan.hidden}, {plan.hidden})"
    return script.before("head", line, new_role=GUILTY)


FAULTS = (
    Fault("zero_grad left out", drop("clearing"), {"missing-zero-grad": "step"}, {"loop": ("loader", "permutation", "rows", "full")}),
    Fault("zero_grad without brackets", rewrite("clearing", "zero_grad()", "zero_grad"), {"missing-zero-grad": ("step", GUILTY)}, SIMPLE_UPDATE),
    Fault("zero_grad after backward", both(drop("clearing"), put_after("backward", "$opt.zero_grad()")), {"zero-grad-after-backward": GUILTY}, SIMPLE_UPDATE),
    Fault("backward left out", drop("backward"), {"missing-backward": "step"}, SIMPLE_UPDATE),
    Fault("backward without brackets", rewrite("backward", "backward()", "backward"), {"missing-backward": ("step", GUILTY)}, SIMPLE_UPDATE),
    Fault("step left out", drop("step"), {"missing-optimizer-step": ("backward", "optimizer")}, {**SIMPLE_UPDATE, "scheduler": "no", "average": "no", "clip": "no"}),
    Fault("step without brackets", rewrite("step", "step()", "step"), {"missing-optimizer-step": ("backward", "optimizer", GUILTY)}, {**SIMPLE_UPDATE, "scheduler": "no", "average": "no"}),
    Fault("hidden layer detached", rewrite("body use", "(h)", "(h.detach())"), {"detached-graph": GUILTY}, {"architecture": "residual", "checkpointed": False, **SIMPLE_UPDATE}),
    Fault("output through numpy", wrap("call", "torch.from_numpy(", ".detach().numpy()).requires_grad_()"), {"detached-graph": GUILTY}, {"task": ("classes", "regression"), **SIMPLE_UPDATE}),
    Fault("loss as new tensor", put_before("backward", "$loss = torch.tensor($loss.item(), requires_grad=True)"), {"detached-graph": GUILTY}, SIMPLE_UPDATE),
    Fault("never back to train mode", drop("train mode"), {"training-in-eval-mode": "eval mode"}, {**EVALUATES, **SIMPLE_UPDATE, "dropout": 0.2, "task": "classes", "architecture": WITH_CLASS}),
    Fault("evaluation in train mode", drop("eval mode"), {"evaluation-in-train-mode": "evaluation call"}, {**EVALUATES, **SIMPLE_UPDATE, "dropout": 0.2, "task": ("classes", "regression")}),
    Fault("softmax before cross entropy", wrap("return", "torch.softmax(", ", dim=-1)"), {"softmax-before-cross-entropy": GUILTY}, {"task": CLASSES, "architecture": WITH_CLASS, "loss_style": ("module", "functional"), **SIMPLE_UPDATE}),
    Fault("softmax layer before cross entropy", put_after("head", "nn.Softmax(dim=1),"), {"softmax-before-cross-entropy": (GUILTY, "model")}, {"task": "classes", "architecture": "sequential", "checkpointed": False, "own_function": False, "loss_style": ("module", "functional"), **SIMPLE_UPDATE}),
    Fault("sigmoid before bce with logits", wrap("return", "torch.sigmoid(", ")"), {"sigmoid-before-bce-with-logits": GUILTY}, {"task": "binary", **SIMPLE_UPDATE}),
    Fault("relu on logits", wrap("return", "F.relu(", ")"), {"activation-on-logits": GUILTY}, {"task": CLASSES, "architecture": WITH_CLASS, **SIMPLE_UPDATE}),
    Fault("softmax into nll", rewrite("loss", "cross_entropy($out, $y)", "nll_loss(torch.softmax($out, dim=1), $y)"), {"probabilities-into-nll": GUILTY}, {"task": CLASSES, "loss_style": "functional", **SIMPLE_UPDATE}),
    Fault("log of softmax", rewrite("loss", "torch.log_softmax($out, dim=1)", "torch.log(torch.softmax($out, dim=1))"), {"log-of-softmax": GUILTY}, {"task": CLASSES, "loss_style": "by hand", **SIMPLE_UPDATE}),
    Fault("softmax over the batch", rewrite("loss", "dim=1", "dim=0"), {"softmax-over-batch": GUILTY}, {"task": CLASSES, "loss_style": "by hand", **SIMPLE_UPDATE, **BY_LOADER}),
    Fault("(n, 1) against (n,)", rewrite("return", ".squeeze(-1)", ""), {"broadcast-in-loss": "loss"}, {"task": "regression", **SIMPLE_UPDATE}),
    Fault("layers in a plain list", rewrite("module list", "nn.ModuleList([nn.Linear", "list([nn.Linear"), {"unregistered-submodules": GUILTY}, {"architecture": "list", "task": ("classes", "regression", "autoencoder"), "double": False, **SIMPLE_UPDATE}),
    Fault("head replaced after the optimizer", _new_head, {"stale-optimizer-parameters": ("optimizer", "replaced head")}, {"architecture": WITH_CLASS, "task": ("classes", "regression"), "double": False, **SIMPLE_UPDATE}),
    Fault("optimizer gets the head only", rewrite("optimizer", "$model.parameters()", "$model.head.parameters()"), {"parameters-not-in-optimizer": GUILTY}, {"architecture": WITH_CLASS, "task": ("classes", "image"), **SIMPLE_UPDATE}),
    Fault("a layer that nothing uses", _unused_layer, {"unused-parameters": GUILTY}, {"architecture": WITH_CLASS, "double": False, "task": CLASSES, **SIMPLE_UPDATE}),
    Fault("everything frozen", put_before("optimizer", "$model.requires_grad_(False)"), {"frozen-everything": GUILTY, "no-graph": (GUILTY, "backward")}, SIMPLE_UPDATE),
    Fault("clip after step", swap("clip", "step"), {"clip-after-step": "clip"}, {"clip": ("norm", "value"), **SIMPLE_UPDATE}),
    Fault("scheduler of epochs steps per batch", _steps_every_batch, {"scheduler-misuse": (GUILTY, "scheduler")}, {"scheduler": "step", "style": ("script", "main"), "loop": "loader", "epochs": 8, "batch": 16, **SIMPLE_UPDATE}),
    Fault("rnn without batch_first", rewrite("rnn", ", batch_first=True", ""), {"lstm-batch-first": GUILTY}, {"task": "tokens", **SIMPLE_UPDATE}),
    Fault("reshape in place of a transpose", put_before("return", "h = h.reshape(h.shape[1], -1).t()"), {"samples-mixed": GUILTY}, {"architecture": WITH_CLASS, "task": ("classes", "regression"), "batch": 50, "loop": ("loader", "permutation"), "hidden": (16, 48), **SIMPLE_UPDATE}),
    Fault("loss summed over the batch", rewrite("loss", "$y)", '$y, reduction="sum")'), {"sum-over-batch": GUILTY, "learning-rate-too-high": "optimizer"}, {"task": ("classes", "regression"), "loss_style": "functional", **SIMPLE_UPDATE, "optimizer": "SGD", "loop": "loader"}),
    Fault("loss maximised", wrap("loss", "-(", ")"), {"loss-maximised": GUILTY}, {"task": ("classes", "regression", "autoencoder"), **SIMPLE_UPDATE}),
    Fault("accumulation not divided", rewrite("backward", "($loss / 4)", "$loss"), {"undivided-accumulation": GUILTY}, {"accumulation": 4, "autocast": "no", "optimizer": "SGD", "two_optimizers": False, "loop": ("loader", "permutation"), "batch": 16}),
    Fault("best weights are an alias", _alias_of_an_early_epoch, {"shared-state-dict-alias": GUILTY}, {"evaluation": "best", **SIMPLE_UPDATE, "loop": ("loader", "permutation")}),
    Fault("average that never moves", rewrite("average", "0.05", "0.0"), {"average-goes-wrong": GUILTY}, {"average": "by hand", "call": "plain", "compiled": False, **SIMPLE_UPDATE}),
    Fault("batch norm with momentum 0", rewrite("norm", ")", ", momentum=0.0)"), {"stale-running-statistics": (GUILTY, "evaluation call")}, {"norm": "batch", "task": ("classes", "image"), "compiled": False, **EVALUATES, **SIMPLE_UPDATE, "loop": ("loader", "permutation")}),
    Fault("evaluation with gradients", rewrite("no grad", "torch.no_grad()", "torch.enable_grad()"), {"missing-no-grad": "evaluation call"}, {"evaluation": "no_grad", **SIMPLE_UPDATE}),
)  # fmt: skip
