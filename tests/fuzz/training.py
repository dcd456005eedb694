"""The text of the training: the optimizer and what belongs to it, the step, the evaluation."""

from __future__ import annotations

from tests.fuzz.data import batches_per_epoch, criterion_of, loss_of
from tests.fuzz.models import is_sequential, write_sequential
from tests.fuzz.plan import Plan
from tests.fuzz.script import Writer


def write_setup(plan: Plan, to: Writer) -> None:
    """Make the model, the optimizer and all that stands before the loop."""
    if is_sequential(plan):
        write_sequential(plan, to)
    else:
        to.add("$model = Net()", "model")
    if plan.double:
        to.add("$model.double()")
    if plan.frozen:
        to.add("for p in list($model.parameters())[:2]:")
        to.add("p.requires_grad_(False)", "freeze", depth=1)
    if plan.compiled:
        to.add('$step_model = torch.compile($model, backend="eager")')
    if plan.loss_style == "module":
        to.add(f"$criterion = {criterion_of(plan)}", "criterion")
    _write_optimizer(plan, to)
    _write_scheduler(plan, to)
    if plan.average == "ema":
        to.add("$ema = AveragedModel($model, multi_avg_fn=get_ema_multi_avg_fn(0.95))")
    elif plan.average == "swa":
        to.add("$ema = AveragedModel($model)")
    elif plan.average == "by hand":
        to.add("$ema = copy.deepcopy($model)")
    if plan.autocast == "scaler":
        to.add('$scaler = torch.amp.GradScaler("cpu", init_scale=256.0)')
    _write_hooks(plan, to)


def _write_optimizer(plan: Plan, to: Writer) -> None:
    made, rest = f"torch.optim.{plan.optimizer}", f"lr={plan.rate}{plan.options}"
    if plan.optimizer == "by hand":
        return
    if plan.two_optimizers:
        to.add("parts = list($model.parameters())")
        to.add(f"$opt2 = {made}(parts[:2], {rest})")
        to.add(f"$opt = {made}(parts[2:], {rest})", "optimizer")
    elif plan.groups == "decay":
        to.add("matrices = [p for p in $model.parameters() if p.dim() > 1]")
        to.add("vectors = [p for p in $model.parameters() if p.dim() <= 1]")
        groups = "[{'params': matrices, 'weight_decay': 1e-4}, {'params': vectors}]"
        to.add(f"$opt = {made}({groups}, {rest})", "optimizer")
    elif plan.groups == "rates":
        to.add("parts = list($model.parameters())")
        slower = f"{{'params': parts[:2], 'lr': {plan.rate / 2}}}"
        to.add(f"$opt = {made}([{slower}, {{'params': parts[2:]}}], {rest})", "optimizer")
    elif plan.frozen:
        to.add("trained = [p for p in $model.parameters() if p.requires_grad]")
        to.add(f"$opt = {made}(trained, {rest})", "optimizer")
    else:
        to.add(f"$opt = {made}($model.parameters(), {rest})", "optimizer")


def _write_scheduler(plan: Plan, to: Writer) -> None:
    steps = plan.epochs * (-(-batches_per_epoch(plan) // plan.accumulation))
    text = {
        "step": f"StepLR($opt, step_size={max(plan.epochs // 2, 1)}, gamma=0.5)",
        "cosine": f"CosineAnnealingLR($opt, T_max={plan.epochs})",
        "exponential": f"ExponentialLR($opt, gamma={0.99 if plan.loop == 'full' else 0.9})",
        "plateau": "ReduceLROnPlateau($opt, patience=3)",
        "one cycle": f"OneCycleLR($opt, max_lr={plan.rate}, total_steps={steps}, cycle_momentum=False)",
        "warmup": "LambdaLR($opt, lambda step: min(1.0, (step + 1) / 10))",
    }.get(plan.scheduler)
    if text is not None:
        to.add(f"$sched = torch.optim.lr_scheduler.{text}", "scheduler")


def _write_hooks(plan: Plan, to: Writer) -> None:
    if plan.hooks:
        to.add("$seen = []")
    if "forward" in plan.hooks:
        to.add(
            "$model.register_forward_hook(lambda module, args, out: $seen.append(out.detach().abs().mean().item()))"
        )
    if "backward" in plan.hooks:
        to.add(
            "$model.register_full_backward_hook(lambda module, gin, gout: $seen.append(len(gout)))"
        )
    if "parameter" in plan.hooks:
        to.add("for p in $model.parameters():")
        to.add("if p.requires_grad:", depth=1)
        to.add("p.register_hook(lambda gradient: gradient * 1.0)", depth=2)
    if "step" in plan.hooks:
        to.add("$opt.register_step_post_hook(lambda optimizer, args, kwargs: $seen.append(1))")


def write_step(plan: Plan, to: Writer) -> None:
    """Write what is done with one batch."""
    _write_augmentation(plan, to)
    if plan.optimizer == "LBFGS":
        _write_closure(plan, to)
        return
    if plan.zero_grad in ("start", "model", "by hand"):
        _write_clearing(plan, to)
    deeper = 0
    if plan.autocast != "no":
        dtype = "float16" if plan.autocast == "scaler" else "bfloat16"
        to.add(f'with torch.autocast("cpu", dtype=torch.{dtype}):')
        deeper = 1
    to.add(f"$out = {_called(plan)}", "call", depth=deeper)
    to.add(f"$loss = {loss_of(plan, '$out', '$y')}", "loss", depth=deeper)
    if "tensor" in plan.hooks:
        to.add("$out.register_hook(lambda gradient: gradient.clone())")
    if plan.zero_grad == "before backward":
        _write_clearing(plan, to)
    scaled = "$loss" if plan.accumulation == 1 else f"($loss / {plan.accumulation})"
    scaled = f"$scaler.scale({scaled})" if plan.autocast == "scaler" else scaled
    to.add(f"{scaled}.backward()", "backward")
    _write_update(plan, to)


def _called(plan: Plan) -> str:
    if plan.call == "functional":
        return "torch.func.functional_call($model, dict($model.named_parameters()), ($x,))"
    return "$step_model($x)" if plan.compiled else "$model($x)"


def _write_augmentation(plan: Plan, to: Writer) -> None:
    text = {
        "torch": "$x = $x + 0.01 * torch.randn_like($x)",
        "numpy": "$x = $x * float(1 + 0.01 * np.random.randn())",
        "random": "$x = $x if random.random() < 0.5 else $x * 1.01",
    }.get(plan.augmentation)
    if text is not None:
        to.add(text, "augmentation")


def _write_closure(plan: Plan, to: Writer) -> None:
    to.add("def closure():")
    _write_clearing(plan, to, depth=1)
    to.add(f"value = {loss_of(plan, _called(plan), '$y')}", "loss", depth=1)
    to.add("value.backward()", "backward", depth=1)
    to.add("return value", depth=1)
    to.add("$loss = $opt.step(closure)", "step")


def _write_clearing(plan: Plan, to: Writer, *, depth: int = 0) -> None:
    if plan.zero_grad == "by hand":
        to.add("for p in $model.parameters():", "clearing", depth=depth)
        to.add("p.grad = None", "clearing", depth=depth + 1)
    elif plan.zero_grad == "model" and plan.optimizer != "LBFGS":
        to.add("$model.zero_grad()", "clearing", depth=depth)
    else:
        to.add("$opt.zero_grad()", "clearing", depth=depth)
        if plan.two_optimizers:
            to.add("$opt2.zero_grad()", "clearing", depth=depth)


def _write_update(plan: Plan, to: Writer) -> None:
    if plan.optimizer == "by hand":
        to.add("with torch.no_grad():")
        to.add("for p in $model.parameters():", depth=1)
        to.add("if p.grad is not None:", depth=2)
        to.add(f"p -= {plan.rate} * p.grad", "step", depth=3)
        return
    deeper = 0
    if plan.accumulation > 1:
        last = batches_per_epoch(plan)
        to.add(f"if (number + 1) % {plan.accumulation} == 0 or number + 1 == {last}:")
        deeper = 1
    if plan.autocast == "scaler" and plan.clip != "no":
        to.add("$scaler.unscale_($opt)", depth=deeper)
        if plan.two_optimizers:
            to.add("$scaler.unscale_($opt2)", depth=deeper)
    clip = {
        "norm": "nn.utils.clip_grad_norm_($model.parameters(), 5.0)",
        "foreach": "nn.utils.clip_grad_norm_($model.parameters(), 5.0, foreach=False)",
        "value": "nn.utils.clip_grad_value_($model.parameters(), 1.0)",
    }.get(plan.clip)
    if clip is not None:
        to.add(clip, "clip", depth=deeper)
    step = "$scaler.step({})" if plan.autocast == "scaler" else "{}.step()"
    to.add(step.format("$opt"), "step", depth=deeper)
    if plan.two_optimizers:
        to.add(step.format("$opt2"), depth=deeper)
    if plan.autocast == "scaler":
        to.add("$scaler.update()", depth=deeper)
    if plan.scheduler in ("one cycle", "warmup"):
        to.add("$sched.step()", "scheduler step", depth=deeper)
    _write_average(plan, to, depth=deeper)
    if plan.zero_grad == "end":
        _write_clearing(plan, to, depth=deeper)


def _write_average(plan: Plan, to: Writer, *, depth: int) -> None:
    if plan.average in ("ema", "swa"):
        to.add("$ema.update_parameters($model)", "average", depth=depth)
    elif plan.average == "by hand":
        to.add("with torch.no_grad():", depth=depth)
        to.add("for slow, fast in zip($ema.parameters(), $model.parameters()):", depth=depth + 1)
        to.add("slow.lerp_(fast, 0.05)", "average", depth=depth + 2)


def write_evaluation(plan: Plan, to: Writer) -> None:
    """Write the evaluation on held-out rows, which gives `score`."""
    mode = "torch.inference_mode()" if plan.evaluation == "inference" else "torch.no_grad()"
    to.add("$model.eval()", "eval mode")
    to.add(f"with {mode}:", "no grad")
    to.add("guess = $model($VX)", "evaluation call", depth=1)
    to.add(f"score = {loss_of(plan, 'guess', '$VY')}.item()", "score", depth=1)
    to.add("$model.train()", "train mode")
