"""The program runs and does not learn as it should, its data are wrong, or its memory grows."""

# ruff: noqa: E501 - a table: one fault a line

from __future__ import annotations

from tests.fuzz.faults.fault import (
    GUILTY,
    WITH_CLASS,
    Fault,
    keeping,
    put_after,
    put_before,
    rewrite,
)
from tests.fuzz.faults.wiring import SIMPLE_UPDATE
from tests.fuzz.plan import Plan
from tests.fuzz.script import Script

LOADED = {"loop": "loader", "sampler": "no", "workers": 0, **SIMPLE_UPDATE}
SORT = "order = torch.argsort($Y)"


def _sorted(_: Plan, script: Script) -> Script:
    script = script.after("split labels", SORT, "$X, $Y = $X[order], $Y[order]")
    return script.change(
        "shuffled loader", lambda text: text.replace(", shuffle=True", ""), becomes=GUILTY
    )


FAULTS = (
    Fault("all weights 0", put_before("optimizer", "[nn.init.zeros_(p) for p in $model.parameters()]"), {"constant-initialisation": GUILTY}, {"task": ("classes", "regression"), "norm": "none", "architecture": ("attributes", "list"), **SIMPLE_UPDATE}),
    Fault("all weights alike", put_before("optimizer", "[nn.init.constant_(p, 0.05) for p in $model.parameters()]"), {"constant-initialisation": GUILTY}, {"task": ("classes", "regression"), "norm": "none", "dropout": 0.0, "architecture": ("attributes", "list"), **SIMPLE_UPDATE}),
    Fault("weights far too large", put_before("optimizer", "[nn.init.normal_(p, std=30.0) for p in $model.parameters() if p.dim() > 1]"), {"badly-scaled-initialisation": GUILTY}, {"task": ("classes", "regression"), "norm": "none", "architecture": ("attributes", "list"), "depth": (2, 3), **SIMPLE_UPDATE}),
    Fault("inputs × 10⁴", put_after("rows", "$X = 1e4 * $X"), {"unscaled-inputs": (GUILTY, "call", "stem use"), "wrong-value-range": (GUILTY, "call")}, {"task": ("classes", "binary"), **SIMPLE_UPDATE, "optimizer": "SGD", "norm": "none", "architecture": ("attributes", "list")}),
    Fault("targets × 10³", put_after("labels", "$Y = 1e3 * $Y"), {"unscaled-targets": ("loss", GUILTY)}, {"task": "regression", **SIMPLE_UPDATE, "optimizer": "SGD", "clip": "no"}),
    Fault("weight decay 10", rewrite("optimizer", "lr=", "weight_decay=10.0, lr="), {"weight-decay-too-strong": GUILTY}, {"task": ("classes", "regression"), **SIMPLE_UPDATE, "optimizer": ("SGD", "Adam"), "scheduler": "no"}),
    Fault("momentum 0.9999", rewrite("optimizer", "lr=0.05", "lr=0.05, momentum=0.9999"), {"momentum-too-high": GUILTY, "learning-rate-too-high": GUILTY}, {"task": ("classes", "regression"), **SIMPLE_UPDATE, "optimizer": "SGD", "options": "", "scheduler": "no", "clip": "no"}),
    Fault("sorted and not shuffled", _sorted, {"unshuffled-training-data": (GUILTY, "loader", "shuffled loader")}, {"task": ("classes", "image"), **LOADED, "batch": 16}),
    Fault("inputs shuffled without labels", put_before("split", "$X = $X[torch.randperm(len($X))]"), {"pairs-shuffled-apart": GUILTY}, {"task": "classes", **LOADED}, checked=True),
    Fault("dead relus", put_before("optimizer", "nn.init.constant_($model.inp.bias, -100.0)"), {"dead-units": (GUILTY, "stem use")}, {"task": "classes", "activation": "ReLU", "architecture": ("attributes", "list"), "norm": "none", "double": False, **SIMPLE_UPDATE}),
    Fault("saturated tanh", put_before("return", "h = torch.tanh(1e3 * h + 5e3)"), {"saturated-activations": GUILTY}, {"task": "classes", "architecture": WITH_CLASS, **SIMPLE_UPDATE}),
    Fault("outlier of 10⁶", put_after("split labels", "$X[5] *= 1e6"), {"outliers": ("loss", GUILTY, "call"), "unscaled-inputs": ("call", "stem use")}, {"task": ("classes", "regression"), **SIMPLE_UPDATE, "norm": "none", "architecture": ("attributes", "list")}),
    Fault("few rows drawn", rewrite("shuffled loader", "shuffle=True", "sampler=WeightedRandomSampler([1.0] * 12, len($dataset))"), {"narrow-sampling": GUILTY}, {"task": ("classes", "regression"), **LOADED}),
    Fault("loss kept with its graph", keeping("kept.append($loss)"), {"retained-graph": GUILTY}, {"style": "functions", "task": ("classes", "regression"), **LOADED}),
    Fault("total of losses with their graphs", rewrite("total", "$loss.item()", "$loss"), {"retained-graph": GUILTY}, {"task": ("classes", "regression"), **LOADED, "epochs": 5, "rows": 400, "batch": 16}),
    Fault("outputs kept", keeping("kept.append($out.detach().clone())"), {"growing-collection": GUILTY}, {"style": "functions", "task": "autoencoder", **LOADED}),
    Fault("result thrown away", put_before("return", "F.layer_norm(h, h.shape[1:])"), {"discarded-result": GUILTY}, {"task": ("classes", "regression"), "architecture": WITH_CLASS, **SIMPLE_UPDATE}),
    Fault("dead rate after one epoch", rewrite("scheduler", "gamma=0.5", "gamma=0.0001"), {"scheduler-misuse": (GUILTY, "scheduler step")}, {"scheduler": "step", "task": ("classes", "regression"), **LOADED}),
)  # fmt: skip
