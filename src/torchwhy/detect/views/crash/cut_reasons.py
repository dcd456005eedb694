"""Why an expression cuts the autograd graph, as a sentence made from its kind and its text."""

from __future__ import annotations

from itertools import chain

from torchwhy.source.calls import Call
from torchwhy.source.values import contexts_of, expression_of, text_of

# By the name of the method that cuts the graph, or by another kind of cut.
REASONS = {
    "item": "`.item()` returns a plain number",
    "tolist": "`.tolist()` returns plain numbers",
    "numpy": "`.numpy()` returns an array",
    "data": "`.data` is the value without its graph",
    "detach": "`.detach()` takes it out of the graph",
    "detach_": "`.detach_()` takes it out of the graph",
    "argmax": "`argmax` has no derivative",
    "argmin": "`argmin` has no derivative",
    "argsort": "`argsort` has no derivative",
    "long": "integers have no derivative",
    "int": "integers have no derivative",
    "bool": "booleans have no derivative",
    "one_hot": "one-hot codes of integers have no derivative",
    **dict.fromkeys(
        ("comparison", "eq", "ne", "gt", "lt", "ge", "le"), "a comparison has no derivative"
    ),
    "switched-off": "gradients were switched off here and not on again",
    "frozen": "every parameter of the model is frozen here",
}
# By the function that makes a new tensor or number from a value.
MAKERS = {
    "tensor": "makes a new tensor without the old one's graph",
    "as_tensor": "makes a new tensor from plain numbers",
    "from_numpy": "makes a new tensor from an array",
    "Tensor": "makes a new tensor without the old one's graph",
    "FloatTensor": "makes a new tensor without the old one's graph",
    "float": "returns a plain number",
    "Variable": "makes a new variable without the old one's graph",
}
SWITCH = "no_grad"  # A `with` statement or decorator that switches gradients off.
EVERYWHERE = (SWITCH, "frozen", "switched-off")  # These cut more than the expression itself.


def reason_of(kind: str, expression: str, *, switch: str | None = None) -> str:
    """Return why an expression cuts the graph; `switch` is the value of the variable in a `with` statement."""
    if kind == SWITCH:
        context = _context(expression)
        if context is None:
            return f"`@{expression.strip()}` keeps no graph"
        holds = f", because `{context}` is `{switch}`" if switch is not None else ""
        return f"`with {context}:` keeps no graph{holds}"
    if kind in MAKERS:
        call = expression_of(expression)
        name = text_of(call.func) if isinstance(call, Call) else kind
        return f"`{name}(…)` {MAKERS[kind]}"
    return REASONS.get(kind, "it cuts the graph")


def _context(expression: str) -> str | None:
    """Return `torch.no_grad()` for `with torch.no_grad():`, None for a decorator."""
    contexts = [text_of(context) for context in contexts_of(expression)]
    named = (text for text in contexts if "grad" in text or "inference" in text)
    return next(chain(named, contexts), None)
