"""Edits of a model's layers and calls: activations, registration, dimensions, kept weights."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from torchwhy.diagnosis import Shape
from torchwhy.finding import Fix, SourceSpan
from torchwhy.source.bindings import assignments, value_of_name
from torchwhy.source.calls import is_method, keyword, operand_of, torch_name, word_of
from torchwhy.source.edits import Edit, Source, in_brackets

LAYERS = {
    "softmax": ("Softmax", "LogSoftmax"),
    "sigmoid": ("Sigmoid",),
    "relu": ("ReLU", "LeakyReLU", "GELU", "ELU", "SiLU"),
    "tanh": ("Tanh",),
}


Places = Sequence[SourceSpan | None]


def without_activation(places: Places, source: Source, *kinds: str) -> Iterator[Fix]:
    """Yield the program without an activation of these kinds, be it a call or a layer."""
    for place in (one for one in places if one is not None):
        file = source if place.file == source.file else source.others(place.file)
        node = None if file is None else file.at(place)
        for call in (
            _activations(file, node, kinds) if file is not None and node is not None else ()
        ):
            assert file is not None
            yield from _without_call(file, call)
    layers = [name for kind in kinds for name in LAYERS[kind]]
    lines = {place.line for place in places if place is not None and place.file == source.file}
    for call in sorted(source.calls(*layers), key=lambda one: one.lineno not in lines):
        yield from _without_layer(source, call)


def _activations(source: Source, node: ast.expr, kinds: tuple[str, ...]) -> Iterator[ast.Call]:
    """Yield the activations in an expression, and those that a name in it is bound to."""
    parts: list[ast.expr] = [node, *(one for one in ast.walk(node) if isinstance(one, ast.expr))]
    for part in parts:
        call = part if isinstance(part, ast.Call) else value_of_name(source, part)
        if isinstance(call, ast.Call) and word_of(call) in kinds:
            yield call


def _without_call(source: Source, call: ast.Call) -> Iterator[Fix]:
    value = operand_of(source, call)
    if value is not None:
        text = source.of(value)
        parent = source.parents.get(call)
        is_plain = isinstance(parent, ast.stmt | ast.Call)
        shown = text if is_plain else in_brackets(text, value)
        yield from source.fix(f"remove {word_of(call)}", source.replace(call, shown))


def _without_layer(source: Source, call: ast.Call) -> Iterator[Fix]:
    """Yield a layer removed from the end of a Sequential, or replaced by nn.Identity if it has a name."""
    holder = source.parents.get(call)
    shown = " ".join(source.of(call).split())
    if isinstance(holder, ast.Call) and word_of(holder) == "Sequential":
        if len(holder.args) > 1 and holder.args[-1] is call:
            start = source.stretch(holder.args[-2])[1]
            yield from source.fix(f"remove {shown}", Edit(start, source.stretch(call)[1], ""))
        return
    if isinstance(holder, ast.Assign):
        text = source.of(call.func).removesuffix(word_of(call) or "") + "Identity()"
        yield from source.fix(f"replace {shown} with {text}", source.replace(call, text))


def log_in_place(places: Places, source: Source) -> Iterator[Fix]:
    """Yield softmax turned into log_softmax, first at these places, then a loss that takes logits."""
    lines = {place.line for place in places if place is not None}
    calls = list(source.calls("softmax", "Softmax"))
    for call in sorted(calls, key=lambda one: one.lineno not in lines):
        word = word_of(call) or ""
        function = source.of(call.func)
        new = function.removesuffix(word) + ("log_softmax" if word == "softmax" else "LogSoftmax")
        yield from source.fix(f"use {new}", source.replace(call.func, new))
    for call in source.calls("nll_loss", "NLLLoss"):
        word = word_of(call) or ""
        function = source.of(call.func)
        new = function.removesuffix(word) + (
            "cross_entropy" if word == "nll_loss" else "CrossEntropyLoss"
        )
        yield from source.fix(f"use {new}, which takes logits", source.replace(call.func, new))


def other_dimension(places: Places, source: Source, *, axis: int = -1) -> Iterator[Fix]:
    """Yield a softmax over another dimension: the calls at these places and the layers of the file."""
    calls = [node for place in places if isinstance(node := source.at(place), ast.Call)]
    made = list(source.calls("Softmax", "LogSoftmax"))
    for call in [*calls, *made]:
        words = ("softmax", "log_softmax", "Softmax", "LogSoftmax")
        if word_of(call) not in words:
            continue
        number = 0 if call in made else 1
        given = keyword(call, "dim") or operand_of(source, call, number=number)
        if given is not None:
            yield from source.fix(
                f"apply the softmax over {'the last dimension' if axis < 0 else 'another dimension'}: dim={axis}",
                source.replace(given, str(axis)),
            )


def over_next_dimension(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield a mean, sum or maximum over dimension 1 instead of 0."""
    node = source.at(place)
    if not isinstance(node, ast.Call):
        return
    given = keyword(node, "dim", "axis") or operand_of(source, node, number=1)
    if given is not None:
        text = f"{word_of(node)} over dimension 1"
        yield from source.fix(f"take the {text}", source.replace(given, "1"))


def sigmoid_for_one(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield a sigmoid instead of a softmax over a single element, which is always 1."""
    prefix = _nn(source)
    if prefix is None:
        return
    for call in source.calls("Softmax"):
        yield from source.fix(
            f"use {prefix}.Sigmoid()", source.replace(call, f"{prefix}.Sigmoid()")
        )
    node = source.at(place)
    value = None if node is None else operand_of(source, node)
    if word_of(node) == "softmax" and value is not None and node is not None:
        text = f"{in_brackets(source.of(value), value)}.sigmoid()"
        yield from source.fix(f"use {text}", source.replace(node, text))


def same_shape(
    place: SourceSpan | None, source: Source, *, left: Shape, right: Shape
) -> Iterator[Fix]:
    """Yield one operand of a loss without its dimension of size 1, or the other operand with one."""
    node = source.at(place)
    if not isinstance(node, ast.BinOp | ast.Call):
        return
    for method in ("squeeze(-1)", "unsqueeze(-1)"):
        for number in (0, 1):
            operand = operand_of(source, node, number=number)
            if operand is None or isinstance(operand, ast.Constant):
                continue
            own, other = (left, right) if number == 0 else (right, left)
            if not _fits(own, other, method):
                continue
            text = f"{in_brackets(source.of(operand), operand)}.{method}"
            where = source.stretch(operand)
            if isinstance(node, ast.BinOp):
                where = source.in_own_brackets(operand)
            yield from source.fix(f"give both the same shape: {text}", Edit(*where, text))


def _fits(own: Shape, other: Shape, method: str) -> bool:
    """Tell whether a shape has a last dimension of size 1 that the other lacks, or lacks one that it has."""
    if method.startswith("un"):
        return len(own) < len(other) and other[-1] == 1
    return len(own) > len(other) and own[-1] == 1


def batch_first(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield `batch_first=True` for the layer."""
    node = source.at(place)
    if not isinstance(node, ast.Call) or keyword(node, "batch_first") is not None:
        return
    values = [*node.args, *(one.value for one in node.keywords)]
    if values:
        end = max(source.stretch(value)[1] for value in values)
        yield from source.fix("set batch_first=True", Edit(end, end, ", batch_first=True"))


def registered(places: Places, source: Source, family: str = "Module") -> Iterator[Fix]:
    """Yield `nn.ModuleList`, `nn.ParameterDict` and the like instead of plain lists and dictionaries at some places."""
    lines = [place.line for place in places if place is not None and place.file == source.file]
    values = [_plain_collection(source, line) for line in dict.fromkeys(lines)]
    found = list(dict.fromkeys(value for value in values if value is not None))
    prefix = _nn(source)
    if not found or prefix is None:
        return
    edits = []
    for value in found:
        kind = f"{family}{'Dict' if isinstance(value, ast.Dict) else 'List'}"
        is_empty = isinstance(value, ast.Dict | ast.List) and not ast.unparse(value).strip("[]{}")
        inside = "" if is_empty else source.of(value)
        edits.append(source.replace(value, f"{prefix}.{kind}({inside})"))
    what = "layers" if family == "Module" else "parameters"
    yield from source.fix(f"register the {what}: {prefix}.{kind}", *edits)


def _plain_collection(source: Source, line: int) -> ast.expr | None:
    """Return the list or dictionary that a statement creates or fills."""
    target, value = _target_and_value(source.statement_at(line))
    if isinstance(target, ast.Subscript):
        wanted = source.of(target.value)
        made = [
            one
            for one in ast.walk(source.tree)
            if isinstance(one, ast.Assign)
            and any(source.of(name) == wanted for name in one.targets)
        ]
        value = made[0].value if len(made) == 1 else None
    return value if isinstance(value, ast.List | ast.ListComp | ast.Tuple | ast.Dict) else None


def _target_and_value(statement: ast.stmt | None) -> tuple[ast.expr | None, ast.expr | None]:
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        return statement.targets[0], statement.value
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call = statement.value
        if isinstance(call.func, ast.Attribute) and call.func.attr == "append":
            # For `self.layers.append(layer)`, the edit belongs to the statement that creates `self.layers`.
            return ast.Subscript(value=call.func.value, slice=ast.Constant(0)), None
    return None, None


def _nn(source: Source) -> str | None:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ImportFrom) and node.module == "torch":
            names = {alias.name for alias in node.names if alias.asname is None}
            if "nn" in names:
                return "nn"
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == "torch.nn" and alias.asname:
                    return alias.asname
    torch = torch_name(source)
    return f"{torch}.nn" if torch is not None else None


def copied_weights(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield a copy of the state dict instead of a reference to the live weights."""
    node = source.at(place)
    calls = [node] if word_of(node) == "state_dict" else []
    line = place.line if place is not None else 0
    calls += [call for call in source.calls("state_dict") if call.lineno == line]
    for call in calls[:1]:
        assert isinstance(call, ast.Call)
        text = f"{{name: value.clone() for name, value in {source.of(call)}.items()}}"
        yield from source.fix(
            "keep a copy of the weights, not the weights", source.replace(call, text)
        )


def keep_graph(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield the expression without the calls that cut it off from its graph."""
    node = source.at(place)
    line = place.line if place is not None else 0
    statement = source.statement_at(line)
    if node is None and statement is not None:
        candidates = [
            one
            for one in ast.walk(statement)
            if isinstance(one, ast.Attribute) and one.attr == "data"
        ]
        node = candidates[0] if candidates else None
    if node is None:
        return
    outer = node
    parent = source.parents.get(node)
    while isinstance(parent, ast.Attribute | ast.Call) and _cuts(parent):
        outer = parent
        parent = source.parents.get(parent)
    text = source.of(outer)
    kept = ast.unparse(_Uncut().visit(ast.parse(text, mode="eval")).body)
    if kept != ast.unparse(ast.parse(text, mode="eval").body):
        yield from source.fix(f"keep the graph: {kept}", source.replace(outer, kept))


CUTS = {"detach", "requires_grad_", "item", "numpy", "cpu", "tolist", "clone_detached"}
MAKERS = {"from_numpy", "tensor", "as_tensor", "Variable", "Tensor", "Parameter"}


def _cuts(node: ast.expr) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr in CUTS | {"data"}
    return word_of(node) in CUTS | MAKERS


class _Uncut(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        word = word_of(node)
        if word in CUTS and isinstance(node.func, ast.Attribute):
            return node.func.value
        if word in MAKERS and node.args:
            return node.args[0]
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        return node.value if node.attr == "data" else node


def other_function(
    place: SourceSpan | None, source: Source, names: dict[str, str]
) -> Iterator[Fix]:
    """Yield the call at a place with another function."""
    line = place.line if place is not None else 0
    node = source.at(place)
    calls = [node] if word_of(node) in names else []
    calls += [call for call in source.calls(*names) if call.lineno == line]
    for call in calls[:1]:
        assert isinstance(call, ast.Call)
        word = word_of(call) or ""
        function = source.of(call.func)
        new = names[word] if "." in names[word] else function.removesuffix(word) + names[word]
        edit = source.replace(call.func, new)
        if "." in names[word] and is_method(source, call):
            value = operand_of(source, call)
            edit = source.replace(call, f"{new}({source.of(value)})") if value is not None else edit
        yield from source.fix(f"use {new} instead of {function}", edit)


def rewritten_after(source: Source, node: ast.expr | None, text: str) -> Iterator[Fix]:
    """Yield a new statement after the only assignment of a name; `{0}` in the text is the name."""
    if not isinstance(node, ast.Name):
        return
    made = assignments(node.id, within=source.scope_of(node)) or assignments(
        node.id, within=source.tree
    )
    if len(made) == 1 and isinstance(made[0], ast.Assign):
        written = text.format(node.id)
        yield from source.fix(written, source.insert_after(made[0], written))
