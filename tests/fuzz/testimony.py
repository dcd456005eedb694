"""The lines with which a program tells bit by bit what it has computed, and what of it is still alive."""

from __future__ import annotations

from tests.fuzz.plan import Plan
from tests.fuzz.script import Writer


def write_noting(to: Writer) -> None:
    """Note the loss, the output and the batch of a step, without keeping them alive."""
    to.add("testimony.note('loss', $loss)")
    to.add("testimony.note('batch', $x, $y)")
    to.add("witness.swear('loss', $loss)")


def write_testimony(plan: Plan, to: Writer) -> None:
    """Tell everything, let go of everything, and tell what is left before and after a garbage collection."""
    averages = plan.average != "no"
    optimizers = [] if plan.optimizer == "by hand" else ["$opt"]
    optimizers += ["$opt2"] if plan.two_optimizers else []
    models = ["$model", "$ema"] if averages else ["$model"]
    for model in models:
        to.add(f"witness.swear('model', {model})")
        to.add(f"testimony.versions({model})")
        to.add(f"testimony.note('model', {model}, *{model}.modules())")
        to.add(f"testimony.note('parameters', *{model}.parameters())")
        to.add(f"testimony.note('buffers', *{model}.buffers())")
    for optimizer in optimizers:
        to.add(f"witness.swear('optimizer', {optimizer})")
        to.add(f"testimony.states({optimizer})")
    if plan.hooks:
        to.add("witness.swear('seen', $seen)")
    let_go = [*models, *optimizers]
    let_go += ["$sched"] if plan.scheduler != "no" else []
    let_go += ["$step_model"] if plan.compiled else []
    if plan.style in ("script", "main", "trainer"):
        let_go += ["$x", "$y", "$loss"]
    to.add(f"del {', '.join(let_go)}")
    if not plan.collector:
        to.add("testimony.alive('let go')")
    to.add("gc.collect()")
    to.add("testimony.alive('collected')")
    to.add("witness.testify()")
