"""A seed → the choices that make a training program. All of them are settings that train well."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

TASKS = ("classes", "regression", "binary", "image", "tokens", "language", "autoencoder")
STYLES = ("script", "main", "functions", "trainer")
LOOPS = ("loader", "loader", "loader", "permutation", "rows", "cycle", "full")
NAMES = {
    "model": ("model", "net", "network", "m"),
    "opt": ("optimizer", "opt", "optim"),
    "loss": ("loss", "l", "objective"),
    "x": ("x", "inputs", "xb", "features"),
    "y": ("y", "targets", "yb", "labels"),
    "out": ("out", "outputs", "pred", "logits"),
    "loader": ("loader", "train_loader", "batches"),
    "sched": ("scheduler", "sched", "schedule"),
    "X": ("X", "data", "train_x"),
    "Y": ("Y", "truth", "train_y"),
}
# Rates at which every task below learns, by optimizer; each was tried on all architectures.
RATES = {
    "SGD": 0.05,
    "Adam": 3e-3,
    "AdamW": 3e-3,
    "RMSprop": 1e-3,
    "Adagrad": 0.02,
    "NAdam": 2e-3,
    "RAdam": 5e-3,
    "Adamax": 5e-3,
    "Adadelta": 1.0,
    "LBFGS": 0.1,
    "by hand": 0.05,
}
FUSED = ("SGD", "Adam", "AdamW", "Adagrad")
PLAIN_TASKS = ("classes", "regression", "binary", "image", "autoencoder")


@dataclass(frozen=True)
class Plan:
    """All choices of one program."""

    seed: int
    task: str
    style: str
    loop: str
    names: dict[str, str]
    optimizer: str
    options: str  # further arguments of the optimizer
    rate: float
    batch: int
    rows: int
    epochs: int
    hidden: int
    depth: int
    classes: int
    activation: str
    norm: str
    dropout: float
    architecture: str
    scheduler: str
    zero_grad: str
    sampler: str
    workers: int
    autocast: str
    accumulation: int
    clip: str
    groups: str
    two_optimizers: bool
    frozen: bool
    average: str
    compiled: bool
    call: str
    checkpointed: bool
    own_function: bool
    hooks: tuple[str, ...]
    evaluation: str
    loss_style: str
    augmentation: str
    keeps: tuple[str, ...]
    double: bool
    collector: bool  # whether Python's garbage collector runs by itself

    def describe(self) -> str:
        """Return the choices that differ from the plainest program."""
        plain = ("", "none", "no", 1, 0, 0.0, False, ())
        left_out = ("seed", "names", "rows", "hidden", "rate", "loss_style", "classes", "epochs")
        return ", ".join(
            f"{name}={value}"
            for name, value in vars(self).items()
            if name not in left_out and value not in plain
        )


def draw(seed: object, *, richness: float = 1.0, **fixed: Any) -> Plan:
    """Return the plan of a seed. `richness` scales how often a program has an extra; `fixed` overrides choices."""
    chance = random.Random(f"plan {seed}")
    choices = _draw_core(chance, fixed) | _draw_extras(chance, richness)
    choices.update(fixed)
    return Plan(seed=chance.randrange(10**6), **_consistent(choices, chance))


def _draw_core(chance: random.Random, fixed: dict[str, Any]) -> dict[str, Any]:
    task = fixed.get("task", chance.choice(TASKS))
    optimizer = fixed.get("optimizer", _optimizer(chance, task))
    return {
        "task": task,
        "style": chance.choice(STYLES),
        "loop": chance.choice(LOOPS),
        "names": {token: chance.choice(words) for token, words in NAMES.items()},
        "optimizer": optimizer,
        "options": _options(chance, optimizer),
        "rate": RATES[optimizer],
        "batch": chance.choice((16, 32, 50)),
        "rows": chance.choice((192, 256, 400)),
        "epochs": chance.choice((5, 8, 12)),
        "hidden": chance.choice((16, 32, 48)),
        "depth": chance.choice((1, 2, 2, 3)),
        "classes": chance.choice((3, 4, 5)),
        "activation": chance.choice(("ReLU", "GELU", "Tanh", "SiLU", "LeakyReLU", "ELU")),
        "architecture": chance.choice(("sequential", "attributes", "list", "residual")),
        "zero_grad": chance.choice(
            ("start", "start", "before backward", "end", "model", "by hand")
        ),
        "loss_style": chance.choice(("module", "functional", "by hand")),
        "evaluation": chance.choice(("no", "no_grad", "no_grad", "inference", "best")),
        "collector": chance.random() < 0.5,
    }


def _optimizer(chance: random.Random, task: str) -> str:
    every = ["Adam", "Adam", "AdamW", "RMSprop", "NAdam", "RAdam", "Adamax"]
    if task in PLAIN_TASKS:
        every += ["SGD", "SGD", "Adagrad", "Adadelta", "LBFGS", "by hand"]
    return chance.choice(every)


def _options(chance: random.Random, optimizer: str) -> str:
    if optimizer == "LBFGS":
        # Without a line search it diverges now and then.
        return chance.choice((", max_iter=4", ", max_iter=3")) + ", line_search_fn='strong_wolfe'"
    found = chance.choice(("", "", ", foreach=True", ", foreach=False"))
    if optimizer in FUSED and chance.random() < 0.3:
        found = ", fused=True"
    if optimizer == "SGD":
        found += chance.choice(("", ", momentum=0.5", ", momentum=0.8, nesterov=True"))
    if optimizer in ("Adam", "AdamW"):
        found += chance.choice(("", "", ", amsgrad=True", ", betas=(0.9, 0.99)"))
    if optimizer == "RMSprop":
        found += chance.choice(("", ", centered=True", ", momentum=0.3"))
    return found


def _draw_extras(chance: random.Random, richness: float) -> dict[str, Any]:
    def maybe(share: float, *values: Any, otherwise: Any = "no") -> Any:
        return chance.choice(values) if chance.random() < share * richness else otherwise

    hooks = ("forward", "tensor", "backward", "step", "parameter")
    keeps = ("losses", "checkpoint", "resume", "copies")
    return {
        "norm": maybe(0.5, "batch", "layer", otherwise="none"),
        "dropout": maybe(0.35, 0.1, 0.2, otherwise=0.0),
        "scheduler": maybe(0.6, "step", "cosine", "one cycle", "warmup", "plateau", "exponential"),
        "sampler": maybe(0.35, "replacement", "weighted", "subset", "batch", "generator"),
        "workers": maybe(0.05, 1, otherwise=0),
        "autocast": maybe(0.2, "bfloat16", "bfloat16", "scaler"),
        "accumulation": maybe(0.2, 2, 4, otherwise=1),
        "clip": maybe(0.35, "norm", "norm", "value", "foreach"),
        "groups": maybe(0.3, "decay", "rates"),
        "two_optimizers": maybe(0.12, True, otherwise=False),
        "frozen": maybe(0.12, True, otherwise=False),
        "average": maybe(0.25, "ema", "by hand", "swa"),
        "compiled": maybe(0.08, True, otherwise=False),
        "call": maybe(0.12, "functional", otherwise="plain"),
        "checkpointed": maybe(0.12, True, otherwise=False),
        "own_function": maybe(0.15, True, otherwise=False),
        "hooks": tuple(hook for hook in hooks if chance.random() < 0.12 * richness),
        "augmentation": maybe(0.3, "torch", "numpy", "random"),
        "keeps": tuple(kept for kept in keeps if chance.random() < 0.2 * richness),
        "double": maybe(0.06, True, otherwise=False),
    }


def _consistent(choices: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """Take back what does not go together, or what would not train well."""
    if choices["optimizer"] in ("LBFGS", "by hand"):
        choices.update(autocast="no", accumulation=1, groups="no", two_optimizers=False)
        choices.update(clip="no", scheduler="no", average="no", frozen=False)
        choices["hooks"] = tuple(hook for hook in choices["hooks"] if hook != "step")
        choices["keeps"] = tuple(one for one in choices["keeps"] if one != "resume")
    if choices["optimizer"] == "LBFGS":
        choices.update(loop="full", dropout=0.0, augmentation="no", norm="none")
    if choices["optimizer"] == "by hand":
        choices["zero_grad"] = chance.choice(("model", "by hand"))
    if choices["task"] in ("tokens", "language"):
        choices.update(augmentation="no", double=False)
        choices["norm"] = "layer" if choices["norm"] == "batch" else choices["norm"]
        if choices["autocast"] == "scaler":  # torch has no float16 recurrent layers on the CPU
            choices["autocast"] = "bfloat16"
    if choices["task"] == "binary" and choices["loss_style"] == "by hand":
        choices["loss_style"] = "functional"
    if choices["loop"] in ("full", "rows", "permutation"):
        choices.update(sampler="no", workers=0)
    if choices["loop"] == "full":
        choices.update(accumulation=1, epochs=choices["epochs"] * 8)
    if choices["autocast"] != "no":
        choices.update(double=False, compiled=False, loss_style="functional")
    if choices["accumulation"] > 1:
        choices["zero_grad"] = "end"
    if choices["two_optimizers"]:
        choices.update(groups="no", frozen=False, keeps=())
    if choices["frozen"]:
        choices["groups"] = "no"
    if choices["compiled"]:
        choices.update(checkpointed=False, hooks=(), call="plain", norm="none", average="no")
    if choices["call"] == "functional":
        choices.update(compiled=False, average="no")
    if choices["evaluation"] == "no" and choices["scheduler"] == "plateau":
        choices["evaluation"] = "no_grad"
    return choices
