"""The text of the model: a stem for the task's inputs, a body in one of several styles, a head."""

from __future__ import annotations

from tests.fuzz.plan import Plan
from tests.fuzz.script import Writer

FEATURES = 8
WORDS = 12
LENGTH = 10
OWN_FUNCTION = """class Gate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * (x > 0) + 0.1 * x * (x <= 0)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * torch.where(x > 0, 1.0, 0.1).to(gradient.dtype)

"""


def outputs(plan: Plan) -> int:
    """Return how many numbers the head gives."""
    return {"regression": 1, "binary": 1, "language": WORDS, "autoencoder": FEATURES}.get(
        plan.task, plan.classes
    )


def attends(plan: Plan) -> bool:
    """Tell whether the words see each other by attention; a language model must not see the next one."""
    return plan.task == "tokens" and plan.depth == 2


def write_model(plan: Plan, to: Writer) -> None:
    """Write the classes of the model; a sequential one for plain features needs none."""
    if plan.own_function:
        to.add(OWN_FUNCTION)
    if is_sequential(plan):
        return
    if plan.architecture == "residual":
        _write_block(plan, to)
    to.add("class Net(nn.Module):")
    to.add("def __init__(self):", depth=1)
    to.add("super().__init__()", depth=2)
    _write_layers(plan, to)
    to.add("")
    to.add("def forward(self, x):", "forward", depth=1)
    _write_forward(plan, to)
    to.add("")
    to.add("")


def is_sequential(plan: Plan) -> bool:
    """Tell whether the model is one `nn.Sequential`, without a class."""
    needs_class = plan.own_function or plan.checkpointed
    plain = plan.task in ("classes", "autoencoder", "image")
    return plan.architecture == "sequential" and plain and not needs_class


def write_sequential(plan: Plan, to: Writer) -> None:
    """Write the model as one expression."""
    to.add("$model = nn.Sequential(", "model")
    if plan.task == "image":
        to.add(f"nn.Conv2d(1, 8, 3, padding=1), nn.{plan.activation}(), nn.MaxPool2d(2),", depth=1)
        to.add("nn.Flatten(),", depth=1)
        to.add(f"nn.Linear(128, {plan.hidden}),", "hidden layer", depth=1)
    else:
        to.add(f"nn.Linear({FEATURES}, {plan.hidden}),", "hidden layer", depth=1)
    norm = {"batch": f"nn.BatchNorm1d({plan.hidden}),", "layer": f"nn.LayerNorm({plan.hidden}),"}
    if plan.norm in norm:
        to.add(norm[plan.norm], "norm", depth=1)
    to.add(f"nn.{plan.activation}(),", "activation", depth=1)
    if plan.dropout:
        to.add(f"nn.Dropout({plan.dropout}),", depth=1)
    for _ in range(plan.depth - 1):
        to.add(f"nn.Linear({plan.hidden}, {plan.hidden}), nn.{plan.activation}(),", depth=1)
    to.add(f"nn.Linear({plan.hidden}, {outputs(plan)}),", "head", depth=1)
    to.add(")")


def _write_block(plan: Plan, to: Writer) -> None:
    to.add(f"""class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        return x + F.{_function(plan)}(self.inner(self.norm(x)))

""")


def _function(plan: Plan) -> str:
    return {"LeakyReLU": "leaky_relu"}.get(plan.activation, plan.activation.lower())


def _write_layers(plan: Plan, to: Writer) -> None:
    width = plan.hidden
    for text, role in _stem(plan):
        to.add(text, role, depth=2)
    if plan.architecture == "list":
        to.add(
            f"self.layers = nn.ModuleList([nn.Linear({width}, {width}) for _ in range({plan.depth})])",
            "module list",
            depth=2,
        )
    elif plan.architecture == "residual":
        to.add(
            f"self.blocks = nn.Sequential(*[Block({width}) for _ in range({plan.depth})])", depth=2
        )
    else:
        for number in range(plan.depth):
            to.add(f"self.fc{number} = nn.Linear({width}, {width})", f"fc{number}", depth=2)
    norm = {"batch": "BatchNorm1d", "layer": "LayerNorm"}
    if plan.norm in norm and plan.task != "language":
        to.add(f"self.norm = nn.{norm[plan.norm]}({width})", "norm", depth=2)
    if plan.dropout:
        to.add(f"self.drop = nn.Dropout({plan.dropout})", depth=2)
    to.add(f"self.head = nn.Linear({width}, {outputs(plan)})", "head", depth=2)


def _stem(plan: Plan) -> list[tuple[str, str]]:
    width = plan.hidden
    if plan.task == "image":
        return [
            ("self.conv = nn.Conv2d(1, 8, 3, padding=1)", "conv"),
            (f"self.inp = nn.Linear(128, {width})", "hidden layer"),
        ]
    if plan.task in ("tokens", "language"):
        kind = "nn.LSTM" if plan.depth == 3 else "nn.GRU"
        made = f"self.rnn = {kind}({width}, {width}, batch_first=True)"
        if attends(plan):
            sizes = f"{width}, 4, {2 * width}, dropout={plan.dropout}"
            made = f"self.rnn = nn.TransformerEncoderLayer({sizes}, batch_first=True)"
        return [(f"self.embed = nn.Embedding({WORDS}, {width})", "embedding"), (made, "rnn")]
    return [(f"self.inp = nn.Linear({FEATURES}, {width})", "hidden layer")]


def _write_forward(plan: Plan, to: Writer) -> None:
    def add(text: str, role: str = "") -> None:
        to.add(text, role, depth=2)

    if plan.task == "image":
        add(f"h = F.max_pool2d(F.{_function(plan)}(self.conv(x)), 2)", "conv use")
        add(f"h = F.{_function(plan)}(self.inp(h.flatten(1)))", "flatten")
    elif plan.task in ("tokens", "language"):
        left = "h" if attends(plan) else "h, _"
        add(f"{left} = self.rnn(self.embed(x))", "rnn use")
        if plan.task == "tokens":
            add("h = h.mean(dim=1)", "pooling")
    else:
        add(f"h = F.{_function(plan)}(self.inp(x))", "stem use")
    _write_body(plan, add)
    result = "self.head(h)"
    if plan.task in ("regression", "binary"):
        add(f"return {result}.squeeze(-1)", "return")
    else:
        add(f"return {result}", "return")


def _write_body(plan: Plan, add) -> None:
    if plan.norm != "none" and plan.task != "language":
        add("h = self.norm(h)", "norm use")
    if plan.architecture == "list":
        add("for layer in self.layers:")
        add(f"    h = F.{_function(plan)}(layer(h))", "body use")
    elif plan.architecture == "residual" and plan.checkpointed:
        add("h = checkpoint(self.blocks, h, use_reentrant=False)", "body use")
    elif plan.architecture == "residual":
        add("h = self.blocks(h)", "body use")
    else:
        for number in range(plan.depth):
            if plan.checkpointed and number == 0:
                add("h = checkpoint(self.fc0, h, use_reentrant=False)", "body use")
            else:
                add(f"h = F.{_function(plan)}(self.fc{number}(h))", "body use")
    if plan.own_function:
        add("h = Gate.apply(h)")
    if plan.dropout:
        add("h = self.drop(h)")
