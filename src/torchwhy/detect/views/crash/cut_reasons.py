"""Why an expression ends the graph of the backward pass, in a sentence: by its kind and its text."""

from __future__ import annotations

from torchwhy.source.calls import Call
from torchwhy.source.values import context_of, expression_of, text_of

# What takes a value out of its graph by a method of this name, or otherwise.
REASONS = {
    "item": "`.item()` makes a plain number of it",
    "tolist": "`.tolist()` makes plain numbers of it",
    "numpy": "`.numpy()` makes an array of it",
    "data": "`.data` is the value without its graph",
    "detach": "`.detach()` takes it out of the graph",
    "detach_": "`.detach_()` takes it out of the graph",
    "argmax": "`argmax` has no derivative",
    "argmin": "`argmin` has no derivative",
    "argsort": "`argsort` has no derivative",
    "long": "whole numbers have no derivative",
    "int": "whole numbers have no derivative",
    "bool": "truth values have no derivative",
    "one_hot": "one-hot codes of whole numbers have no derivative",
    **dict.fromkeys(
        ("comparison", "eq", "ne", "gt", "lt", "ge", "le"), "a comparison has no derivative"
    ),
    "switched-off": "recording of graphs was switched off here, and not on again",
    "frozen": "every parameter of the model is frozen here",
}
# What makes a new tensor or number of a value.
MAKERS = {
    "tensor": "makes a new tensor, which knows nothing of the old one's graph",
    "as_tensor": "makes a new tensor of plain numbers",
    "from_numpy": "makes a new tensor of an array",
    "Tensor": "makes a new tensor, which knows nothing of the old one's graph",
    "FloatTensor": "makes a new tensor, which knows nothing of the old one's graph",
    "float": "makes a plain number of it",
    "Variable": "makes a new variable, which knows nothing of the old one's graph",
}
SWITCH = "no_grad"  # a `with` statement or decorator under which no graph is recorded
EVERYWHERE = (SWITCH, "frozen", "switched-off")  # what cuts more than the expression itself


def reason_of(kind: str, expression: str, *, switch: str | None = None) -> str:
    """Return why a cut of some kind is one; `switch` is what the variable of a `with` statement holds."""
    if kind == SWITCH:
        words = _switch_words(expression)
        holds = f", for `{_context(expression)}` is `{switch}`" if switch is not None else ""
        return f"`{words}` keeps no graph{holds}"
    if kind in MAKERS:
        call = expression_of(expression)
        name = text_of(call.func) if isinstance(call, Call) else kind
        return f"`{name}(…)` {MAKERS[kind]}"
    return REASONS.get(kind, "it ends the graph")


def _switch_words(expression: str) -> str:
    """Return `with torch.no_grad():` or `@torch.no_grad()` of the text of a statement or a decorator."""
    context = _context(expression)
    return f"with {context}:" if expression.startswith(("with ", "async with ")) else f"@{context}"


def _context(expression: str) -> str:
    """Return `torch.no_grad()` of `with torch.no_grad():`."""
    context = context_of(expression)
    return expression.strip() if context is None else text_of(context)
