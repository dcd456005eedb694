"""A plan → a whole program, in one of four styles."""

from __future__ import annotations

from tests.fuzz.data import USES_LOADER, write_data, write_loader
from tests.fuzz.models import write_model
from tests.fuzz.plan import Plan
from tests.fuzz.script import Line, Script, Writer
from tests.fuzz.testimony import write_noting, write_testimony
from tests.fuzz.training import write_evaluation, write_setup, write_step

IMPORTS = """import copy
import gc
import io
import random

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.checkpoint import checkpoint
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, SubsetRandomSampler
from torch.utils.data import TensorDataset, WeightedRandomSampler
"""
FURTHER_NAMES = (
    "criterion",
    "ema",
    "scaler",
    "opt2",
    "dataset",
    "VX",
    "VY",
    "step_model",
    "best",
    "seen",
)
LOCAL_NAMES = ("x", "y", "out", "loss")


def write_program(plan: Plan, *, sworn: bool) -> Script:
    """Return the program. A sworn one also tells bit by bit what it has computed."""
    to = Writer()
    to.add(IMPORTS)
    if sworn:
        to.add("import testimony\nimport witness\n")
    to.add(f"random.seed({plan.seed})")
    to.add(f"np.random.seed({plan.seed})")
    to.add(f"torch.manual_seed({plan.seed})", "seed")
    if sworn and not plan.collector:
        to.add("gc.disable()")
    to.add("\n")
    write_model(plan, to)
    {"script": _script, "main": _main, "functions": _functions, "trainer": _trainer}[plan.style](
        plan, to, sworn
    )
    return to.done()


def names_of(plan: Plan) -> dict[str, str]:
    """Return what this program calls its things; attributes in a trainer."""
    names = {**{name: name.lower() for name in FURTHER_NAMES}, **plan.names}
    names.update(VX="valid_x", VY="valid_y")
    if plan.style == "trainer":
        names = {
            token: name if token in LOCAL_NAMES else f"self.{name}" for token, name in names.items()
        }
    return names


def text_of(plan: Plan, *, sworn: bool) -> str:
    """Return the program as text."""
    return write_program(plan, sworn=sworn).render(names_of(plan))


def _setup(plan: Plan) -> tuple[Line, ...]:
    to = Writer()
    write_data(plan, to)
    write_loader(plan, to)
    write_setup(plan, to)
    if plan.evaluation == "best":
        to.add('$best = (float("inf"), None)')
    return to.lines


def _epoch(plan: Plan, *, sworn: bool) -> tuple[Line, ...]:
    """Return the lines of one epoch: all batches."""
    body = Writer()
    write_step(plan, body)
    if sworn:
        write_noting(body)
    if "losses" in plan.keeps:
        body.add("history.append($loss.item())", "keep")
    body.add("total += $loss.item()", "total")
    to = Writer()
    to.add("total = 0.0")
    if plan.loop == "cycle":
        to.add("stream = iter($loader)")
        to.add("for number in range(len($loader)):", "batches")
        to.add("$x, $y = next(stream)", "take", depth=1)
    elif plan.loop in USES_LOADER:
        to.add("for number, ($x, $y) in enumerate($loader):", "batches")
    elif plan.loop == "permutation":
        to.add(f"order = torch.randperm({plan.rows})", "order")
        to.add(f"for number, start in enumerate(range(0, {plan.rows}, {plan.batch})):", "batches")
        to.add(f"rows = order[start : start + {plan.batch}]", depth=1)
        to.add("$x, $y = $X[rows], $Y[rows]", "take", depth=1)
    elif plan.loop == "rows":
        to.add(f"for number in range({-(-plan.rows // plan.batch)}):", "batches")
        to.add(f"rows = torch.randint({plan.rows}, ({plan.batch},))", depth=1)
        to.add("$x, $y = $X[rows], $Y[rows]", "take", depth=1)
    else:
        to.add("for number, ($x, $y) in enumerate([($X, $Y)]):", "batches")
    to.include(body.lines, depth=1)
    return to.lines


def _epoch_end(plan: Plan, *, evaluation: tuple[Line, ...], sworn: bool) -> tuple[Line, ...]:
    to = Writer()
    if evaluation:
        to.include(evaluation)
        if plan.evaluation == "best":
            to.add("if score < $best[0]:", "is best")
            to.add("$best = (score, copy.deepcopy($model.state_dict()))", "best", depth=1)
    if plan.scheduler == "plateau":
        to.add("$sched.step(score)", "scheduler step")
    elif plan.scheduler in ("step", "cosine", "exponential"):
        to.add("$sched.step()", "scheduler step")
    shown = "epoch, total, score" if evaluation else "epoch, total"
    to.add(f"print({shown})", "print")
    if sworn:
        to.add("testimony.alive('epoch')")
    return to.lines


def _evaluation(plan: Plan) -> tuple[Line, ...]:
    if plan.evaluation == "no":
        return ()
    to = Writer()
    write_evaluation(plan, to)
    return to.lines


def _finish(plan: Plan, *, sworn: bool) -> tuple[Line, ...]:
    to = Writer()
    if plan.evaluation == "best":
        to.add("$model.load_state_dict($best[1])")
    if plan.average != "no":
        to.add("with torch.no_grad():")
        to.add("print('average', $ema($VX).float().mean().item())", depth=1)
    if "checkpoint" in plan.keeps:
        to.add("file = io.BytesIO()")
        to.add("torch.save($model.state_dict(), file)", "save")
    if "resume" in plan.keeps:
        to.add("$opt.load_state_dict(copy.deepcopy($opt.state_dict()))")
    if "copies" in plan.keeps:
        to.add("copied = copy.deepcopy($model)")
    to.add("print('done')")
    if sworn:
        write_testimony(plan, to)
    return to.lines


def _whole(plan: Plan, *, sworn: bool) -> tuple[Line, ...]:
    to = Writer()
    if "losses" in plan.keeps:
        to.add("history = []")
    to.add(f"for epoch in range({plan.epochs}):", "epochs")
    to.include(_epoch(plan, sworn=sworn), depth=1)
    to.include(_epoch_end(plan, evaluation=_evaluation(plan), sworn=sworn), depth=1)
    return to.lines


def _script(plan: Plan, to: Writer, sworn: bool) -> None:  # noqa: FBT001 - one of four alike
    to.include(_setup(plan))
    to.include(_whole(plan, sworn=sworn))
    to.include(_finish(plan, sworn=sworn))


def _main(plan: Plan, to: Writer, sworn: bool) -> None:  # noqa: FBT001 - one of four alike
    to.add("def main():")
    to.include(_setup(plan), depth=1)
    to.include(_whole(plan, sworn=sworn), depth=1)
    to.include(_finish(plan, sworn=sworn), depth=1)
    to.add("\n")
    to.add('if __name__ == "__main__":')
    to.add("main()", depth=1)


def _functions(plan: Plan, to: Writer, sworn: bool) -> None:  # noqa: FBT001 - one of four alike
    to.include(_setup(plan))
    if "losses" in plan.keeps:
        to.add("history = []")
    to.add("\n")
    to.add("def train_epoch():")
    to.include(_epoch(plan, sworn=sworn), depth=1)
    to.add("return total", depth=1)
    to.add("\n")
    evaluation = _evaluation(plan)
    call = Writer()
    if evaluation:
        to.add("def evaluate():")
        to.include(evaluation, depth=1)
        to.add("return score", depth=1)
        to.add("\n")
        call.add("score = evaluate()")
    to.add(f"for epoch in range({plan.epochs}):", "epochs")
    to.add("total = train_epoch()", depth=1)
    to.include(_epoch_end(plan, evaluation=call.lines, sworn=sworn), depth=1)
    to.include(_finish(plan, sworn=sworn))


def _trainer(plan: Plan, to: Writer, sworn: bool) -> None:  # noqa: FBT001 - one of four alike
    to.add("class Trainer:")
    to.add("def __init__(self):", depth=1)
    to.include(_setup(plan), depth=2)
    to.add("")
    evaluation, call = _evaluation(plan), Writer()
    if evaluation:
        to.add("def evaluate(self):", depth=1)
        to.include(evaluation, depth=2)
        to.add("return score", depth=2)
        to.add("")
        call.add("score = self.evaluate()")
    to.add("def fit(self):", depth=1)
    if "losses" in plan.keeps:
        to.add("history = []", depth=2)
    to.add(f"for epoch in range({plan.epochs}):", "epochs", depth=2)
    to.include(_epoch(plan, sworn=sworn), depth=3)
    to.include(_epoch_end(plan, evaluation=call.lines, sworn=sworn), depth=3)
    to.include(_finish(plan, sworn=sworn), depth=2)
    to.add("\n")
    to.add("Trainer().fit()")
