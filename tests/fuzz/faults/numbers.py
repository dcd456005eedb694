"""A number is born that is not finite."""

# ruff: noqa: E501 - a table: one fault a line

from __future__ import annotations

from tests.fuzz.faults.fault import GUILTY, WITH_CLASS, Fault, put_after, put_before, rewrite, wrap
from tests.fuzz.faults.wiring import SIMPLE_UPDATE
from tests.fuzz.plan import Plan
from tests.fuzz.script import Script

IN_MODEL = {
    "architecture": WITH_CLASS,
    "task": ("classes", "regression", "image"),
    "own_function": False,
    "double": False,
    "clip": ("no", "norm"),
    "optimizer": ("Adam", "AdamW", "SGD", "RMSprop"),
    "two_optimizers": False,
    "autocast": "no",
}
FEATURES = {"task": ("classes", "regression", "autoencoder"), **SIMPLE_UPDATE}
DATA = (GUILTY, "loader", "shuffled loader", "batches", "take", "split")


def _rates_times(factor: float):
    def edit(plan: Plan, script: Script) -> Script:
        old, new = f"lr={plan.rate}", f"lr={plan.rate * factor:g}"
        return script.change("optimizer", lambda text: text.replace(old, new), becomes=GUILTY)

    return edit


def _epsilon_of_rare_words(_: Plan, script: Script) -> Script:
    larger = script.change("embedding", lambda text: text.replace("Embedding(12,", "Embedding(40,"))
    return larger.change(
        "optimizer", lambda text: text.replace("lr=", "eps=0.0, lr="), becomes=GUILTY
    )


FAULTS = (
    Fault("log of a negative number", rewrite("return", "self.head(h)", "self.head(torch.log(h))"), {"log-of-nonpositive": GUILTY}, {**IN_MODEL, "dropout": 0.0}),
    Fault("log of a zero", put_before("return", "h = torch.log(torch.relu(h))"), {"log-of-nonpositive": GUILTY}, IN_MODEL),
    Fault("division by zero", put_before("return", "h = h / (h - h).sum(dim=-1, keepdim=True)"), {"division-by-zero": GUILTY}, IN_MODEL),
    Fault("constant column normalised", put_after("rows", "$X[:, 3] = 1.0", "$X = ($X - $X.mean(0)) / $X.std(0)"), {"division-by-zero": GUILTY, "nonfinite-data": GUILTY}, {"task": "classes", **SIMPLE_UPDATE}),
    Fault("root at zero", wrap("loss", "torch.sqrt(($out - $out.detach()).pow(2)).mean() + ", ""), {"root-gradient-at-zero": GUILTY}, {**SIMPLE_UPDATE, "task": ("classes", "regression")}),
    Fault("norm of a zero", put_before("return", "h = h * (h.detach() * 0 * h).pow(2).sum(-1, keepdim=True).sqrt()"), {"root-gradient-at-zero": GUILTY}, IN_MODEL),
    Fault("exp overflows", put_before("return", "h = torch.exp(h * 1e4)"), {"exp-overflow": GUILTY}, {**IN_MODEL, "activation": ("ReLU", "GELU", "SiLU")}),
    Fault("acos outside its domain", put_before("return", "h = torch.acos(h + 2)"), {"domain-error": GUILTY}, IN_MODEL),
    Fault("mean of nothing", wrap("loss", "$out[$out > 1e9].mean() + ", ""), {"empty-reduction": GUILTY}, {**SIMPLE_UPDATE, "task": ("classes", "regression", "image")}),
    Fault("softmax of a masked row", put_before("return", 'h = torch.softmax(h.masked_fill(h < 1e9, float("-inf")), dim=-1)'), {"fully-masked-softmax": GUILTY}, IN_MODEL),
    Fault("where hides a bad branch", put_before("return", "h = torch.where(h > 0, torch.sqrt(h), torch.zeros_like(h))"), {"masked-branch-gradient": GUILTY, "root-gradient-at-zero": GUILTY, "domain-error": GUILTY}, {**IN_MODEL, "activation": "Tanh", "architecture": "attributes"}),
    Fault("half precision overflows", put_before("return", "h = ((h.half() + 1) * 7e4).float()"), {"half-precision-overflow": GUILTY}, IN_MODEL),
    Fault("NaN in a row of the data", put_after("rows", '$X[17, 0] = float("nan")'), {"nonfinite-data": DATA, "nonfinite-literal": GUILTY}, FEATURES),
    Fault("infinity in the labels", put_after("labels", '$Y[23] = float("inf")'), {"nonfinite-data": DATA, "nonfinite-literal": GUILTY}, {"task": "regression", **SIMPLE_UPDATE}),
    Fault("epsilon 0", _epsilon_of_rare_words, {"optimizer-epsilon": GUILTY}, {"task": "tokens", **SIMPLE_UPDATE, "optimizer": ("Adam", "AdamW", "RMSprop")}),
    Fault("weights with a NaN", put_before("optimizer", 'nn.init.constant_(list($model.parameters())[0], float("nan"))'), {"nonfinite-weights": (GUILTY, "model"), "nonfinite-literal": GUILTY}, SIMPLE_UPDATE),
    Fault("learning rate × 10⁴", _rates_times(1e4), {"learning-rate-too-high": GUILTY}, {**SIMPLE_UPDATE, "scheduler": "no", "clip": "no"}),
    Fault("learning rate ÷ 10⁶", _rates_times(1e-6), {"learning-rate-too-low": GUILTY}, {**SIMPLE_UPDATE, "scheduler": "no", "optimizer": ("Adam", "SGD")}),
)  # fmt: skip
