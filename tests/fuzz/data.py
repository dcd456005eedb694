"""The text of the data, the loaders and the loss."""

from __future__ import annotations

from tests.fuzz.models import FEATURES, LENGTH, WORDS
from tests.fuzz.plan import Plan
from tests.fuzz.script import Writer

HELD_OUT = 64
USES_LOADER = ("loader", "cycle")


def write_data(plan: Plan, to: Writer) -> None:
    """Draw the rows by a rule that a small network learns, and keep some for evaluation."""
    total = plan.rows + HELD_OUT
    for text, role in _rows(plan, total):
        to.add(text, role)
    if plan.double:
        to.add("$X = $X.double()")
        if plan.task in ("regression", "binary", "autoencoder"):
            to.add("$Y = $Y.double()")
    to.add(f"$X, $VX = $X[:{plan.rows}], $X[{plan.rows}:]", "split")
    to.add(f"$Y, $VY = $Y[:{plan.rows}], $Y[{plan.rows}:]", "split labels")


def _rows(plan: Plan, total: int) -> list[tuple[str, str]]:
    if plan.task == "classes":
        return [
            (f"centres = 2 * torch.randn({plan.classes}, {FEATURES})", ""),
            (f"$Y = torch.randint({plan.classes}, ({total},))", "labels"),
            (f"$X = centres[$Y] + torch.randn({total}, {FEATURES})", "rows"),
        ]
    if plan.task == "image":
        return [
            (f"patterns = torch.randn({plan.classes}, 1, 8, 8)", ""),
            (f"$Y = torch.randint({plan.classes}, ({total},))", "labels"),
            (f"$X = patterns[$Y] + 0.7 * torch.randn({total}, 1, 8, 8)", "rows"),
        ]
    if plan.task == "tokens":
        return [
            (f"$Y = torch.randint({plan.classes}, ({total},))", "labels"),
            (f"noise = torch.randint({WORDS}, ({total}, {LENGTH}))", ""),
            (
                f"$X = torch.where(torch.rand({total}, {LENGTH}) < 0.5, $Y[:, None] * 2, noise)",
                "rows",
            ),
        ]
    if plan.task == "language":
        return [
            (
                f"start, stride = torch.randint({WORDS}, ({total}, 1)), torch.randint(1, 3, ({total}, 1))",
                "",
            ),
            (f"text = (start + stride * torch.arange({LENGTH + 1})) % {WORDS}", ""),
            ("$X = text[:, :-1]", "rows"),
            ("$Y = text[:, 1:]", "labels"),
        ]
    if plan.task == "autoencoder":
        return [
            (f"$X = torch.randn({total}, 3) @ torch.randn(3, {FEATURES}) / 2", "rows"),
            ("$Y = $X.clone()", "labels"),
        ]
    rule = "torch.tanh($X @ slope / 2)" if plan.task == "regression" else "($X @ slope > 0).float()"
    return [
        (f"slope = torch.randn({FEATURES})", ""),
        (f"$X = torch.randn({total}, {FEATURES})", "rows"),
        (f"$Y = {rule}", "labels"),
    ]


def write_loader(plan: Plan, to: Writer) -> None:
    """Make the loader and its sampler, if the loop has one."""
    if plan.loop not in USES_LOADER:
        return
    to.add("$dataset = TensorDataset($X, $Y)", "dataset")
    workers = f", num_workers={plan.workers}" if plan.workers else ""
    rows = plan.rows
    if plan.sampler == "replacement":
        chosen = f"batch_size={plan.batch}, sampler=RandomSampler($dataset, replacement=True)"
    elif plan.sampler == "weighted":
        chosen = (
            f"batch_size={plan.batch}, sampler=WeightedRandomSampler(torch.ones({rows}), {rows})"
        )
    elif plan.sampler == "subset":
        chosen = f"batch_size={plan.batch}, sampler=SubsetRandomSampler(range({rows}))"
    elif plan.sampler == "batch":
        chosen = (
            f"batch_sampler=BatchSampler(RandomSampler($dataset), {plan.batch}, drop_last=False)"
        )
    elif plan.sampler == "generator":
        chosen = (
            f"batch_size={plan.batch}, shuffle=True, generator=torch.Generator().manual_seed(7)"
        )
    else:
        chosen = f"batch_size={plan.batch}, shuffle=True"
    role = "shuffled loader" if plan.sampler == "no" else "loader"
    to.add(f"$loader = DataLoader($dataset, {chosen}{workers})", role)


def batches_per_epoch(plan: Plan) -> int:
    """Return how many batches an epoch has."""
    if plan.loop == "full":
        return 1
    return -(-plan.rows // plan.batch)


def loss_of(plan: Plan, out: str, labels: str) -> str:
    """Return the expression of the loss."""
    if plan.task == "language":
        out, labels = f"{out}.reshape(-1, {WORDS})", f"{labels}.reshape(-1)"
    if plan.loss_style == "module":
        return f"$criterion({out}, {labels})"
    if plan.task in ("regression", "autoencoder"):
        by_hand = f"(({out} - {labels}) ** 2).mean()"
        return by_hand if plan.loss_style == "by hand" else f"F.mse_loss({out}, {labels})"
    if plan.task == "binary":
        return f"F.binary_cross_entropy_with_logits({out}, {labels})"
    if plan.loss_style == "by hand":
        return f"-torch.log_softmax({out}, dim=1).gather(1, {labels}.unsqueeze(1)).mean()"
    return f"F.cross_entropy({out}, {labels})"


def criterion_of(plan: Plan) -> str:
    """Return the expression of the loss module."""
    return {
        "regression": "nn.MSELoss()",
        "autoencoder": "nn.MSELoss()",
        "binary": "nn.BCEWithLogitsLoss()",
    }.get(plan.task, "nn.CrossEntropyLoss()")
