"""Small questions about the syntax of a program: which argument, which name, assigned where."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchwhy.detect.edits import Source, last_word


def module_names(source: Source) -> set[str]:
    """Return the names under which modules are imported: `torch`, `F`, `np`."""
    found = set()
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            found |= {alias.asname or alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {alias.asname or alias.name for alias in node.names if alias.name.islower()}
    return found


def root_name(node: ast.expr) -> str | None:
    """Return `torch` for `torch.nn.functional.relu`."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def is_method(source: Source, call: ast.Call) -> bool:
    """Tell whether this is `x.log()` and not `torch.log(x)` or `log(x)`."""
    if not isinstance(call.func, ast.Attribute) or is_own(call):
        return False
    return root_name(call.func.value) not in module_names(source)


def is_own(node: ast.expr | None) -> bool:
    """Tell whether this is `self.layer(x)`, which is no operation on `self`, whatever its name."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    owner = node.func.value
    return isinstance(owner, ast.Name) and owner.id in ("self", "cls")


def operand_of(source: Source, node: ast.expr, *, number: int = 0) -> ast.expr | None:
    """Return an operand of a call, a method call or an operator; a method's own value is number 0."""
    if isinstance(node, ast.BinOp):
        return (node.left, node.right)[number] if number < 2 else None
    if not isinstance(node, ast.Call):
        return None
    values: list[ast.expr] = list(node.args)
    if is_method(source, node):
        assert isinstance(node.func, ast.Attribute)
        values.insert(0, node.func.value)
    if number < len(values):
        return values[number] if not isinstance(values[number], ast.Starred) else None
    names = ("input", "other") if number < 2 else ()
    return keyword(node, *names[number : number + 1])


def keyword(call: ast.Call, *names: str) -> ast.expr | None:
    """Return the value of the first of these keywords that a call has."""
    for name in names:
        for given in call.keywords:
            if given.arg == name:
                return given.value
    return None


def assignments(name: str, *, within: ast.AST) -> list[ast.stmt]:
    """Return the statements of a scope that give a name a value, also as loop variables and in tuples."""
    found = []
    for node in ast.walk(within):
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.For):
            targets = [node.target]
        words = (word for target in targets for word in ast.walk(target))
        if isinstance(node, ast.stmt) and any(
            isinstance(word, ast.Name) and word.id == name and isinstance(word.ctx, ast.Store)
            for word in words
        ):
            found.append(node)
    return found


def value_of_name(source: Source, node: ast.expr) -> ast.expr | None:
    """Return the expression a name was given, if it was given just one and that still means the same here."""
    if not isinstance(node, ast.Name):
        return None
    made = assignments(node.id, within=source.scope_of(node))
    if len(made) != 1 or not isinstance(made[0], ast.Assign) or made[0].lineno >= node.lineno:
        return None
    if len(made[0].targets) != 1 or not isinstance(made[0].targets[0], ast.Name):
        return None
    value = made[0].value
    between = range(made[0].lineno + 1, node.lineno)
    for name in names_in(value):
        changed = assignments(name, within=source.scope_of(node))
        if any(statement.lineno in between for statement in changed):
            return None
    return value


def uses(name: str, *, within: ast.AST) -> int:
    """Return how often a scope reads a name."""
    return sum(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
        for node in ast.walk(within)
    )


def names_in(node: ast.AST) -> set[str]:
    """Return the names that an expression reads."""
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def optimizer_calls(source: Source) -> Iterator[ast.Call]:
    """Yield the calls that make optimizers of torch."""
    kinds = (
        "SGD",
        "Adam",
        "AdamW",
        "RMSprop",
        "Adagrad",
        "Adadelta",
        "NAdam",
        "RAdam",
        "Adamax",
        "LBFGS",
        "Rprop",
    )
    yield from source.calls(*kinds)


def enclosing(source: Source, node: ast.AST, *kinds: type[ast.AST]) -> ast.AST | None:
    """Return the nearest piece of syntax of these kinds around another."""
    place = source.parents.get(node)
    while place is not None and not isinstance(place, kinds):
        place = source.parents.get(place)
    return place


def word_of(node: ast.expr | None) -> str | None:
    """Return the last word of what a call calls: `softmax` for `torch.softmax(x)`."""
    return last_word(node.func) if isinstance(node, ast.Call) else None


def torch_name(source: Source) -> str | None:
    """Return the name under which torch is imported in this file."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == "torch":
                    return alias.asname or "torch"
                if alias.name.startswith("torch.") and alias.asname is None:
                    return "torch"
    return None


def one_line(text: str) -> str:
    """Return a text for a title: on one line."""
    return " ".join(text.split())
