"""Edits of data and constants: loaders, literals, empty batches, uninitialised memory."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchwhy.finding import Fix, SourceSpan
from torchwhy.source.calls import keyword, operand_of, torch_name, word_of
from torchwhy.source.edits import Edit, Source, in_brackets
from torchwhy.source.text import one_line

CLEANED = ".nan_to_num(0.0, 0.0, 0.0)"  # replaces NaN and both infinities
# In a float32 softmax -1e9 masks as well as -inf does, and a row of only -1e9 stays finite.
MASKED = "-1e9"
FILLED = ("zeros", "ones", "full", "empty", "generate_square_subsequent_mask")  # floats by default
SPREADS = ("std", "norm", "ptp")
LOWEST_FLOAT16 = "-65504.0"


def loader_option(source: Source, name: str) -> Iterator[Fix]:
    """Yield a DataLoader with an option switched on."""
    for call in source.calls("DataLoader"):
        given = keyword(call, name)
        if given is not None:
            edit = source.replace(given, "True")
        else:
            values = [*call.args, *(one.value for one in call.keywords)]
            if not values:
                continue
            end = max(source.stretch(value)[1] for value in values)
            edit = Edit(end, end, f", {name}=True")
        yield from source.fix(f"set {name}=True in the DataLoader", edit)


def is_minus_infinity(node: ast.AST) -> bool:
    """Tell whether a node writes minus infinity: float("-inf"), -torch.inf, -math.inf."""
    if isinstance(node, ast.Call) and word_of(node) == "float" and len(node.args) == 1:
        return isinstance(node.args[0], ast.Constant) and str(
            node.args[0].value
        ).strip().lower() in (
            "-inf",
            "-infinity",
        )
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = node.operand
        name = (
            inner.attr
            if isinstance(inner, ast.Attribute)
            else inner.id
            if isinstance(inner, ast.Name)
            else ""
        )
        return name in ("inf", "infty", "infinity", "Inf")
    return False


def finite_mask(source: Source) -> Iterator[Fix]:
    """Yield a large negative number instead of every -inf in the file."""
    places = [
        node
        for node in ast.walk(source.tree)
        if isinstance(node, ast.expr) and is_minus_infinity(node)
    ]
    if places:
        edits = [source.replace(node, MASKED) for node in places]
        yield from source.fix(f"mask with {MASKED} instead of -inf", *edits)


def fitting_number(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield the bound of a tensor's dtype instead of a number that exceeds it."""
    node = source.at(place)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or not node.args:
        return
    value, tensor = node.args[-1], source.of(node.func.value)
    if word_of(node) in ("masked_fill", "masked_fill_", "fill_") and tensor.isidentifier():
        text = f"torch.finfo({tensor}.dtype).min"
        yield from source.fix(f"mask with {text}", source.replace(value, text))
    elif word_of(node) in ("masked_fill", "masked_fill_", "fill_"):
        yield from source.fix(f"mask with {LOWEST_FLOAT16}", source.replace(value, LOWEST_FLOAT16))


def inverted_mask(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield an inverted mask: in some attention layers True means keep, in others mask."""
    node = source.at(place)
    if isinstance(node, ast.Call):
        given = keyword(node, "key_padding_mask", "attn_mask", "mask")
        if given is not None and not holds_numbers(source, given):
            text = f"~{in_brackets(source.of(given), given)}"
            yield from source.fix(f"invert the mask: {text}", source.replace(given, text))


def holds_numbers(source: Source, mask: ast.expr) -> bool:
    """Tell whether the source shows that a mask holds numbers to add, so that `~` and `&` would raise."""
    name = source.of(mask)
    if _is_of_numbers(mask):
        return True
    for node in ast.walk(source.tree):
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            holders = [one.value if isinstance(one, ast.Subscript) else one for one in targets]
            if any(source.of(one) == name for one in holders) and _is_of_numbers(node.value):
                return True
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            writes = node.func.attr.endswith("_") and source.of(node.func.value) == name
            if writes and any(map(_is_number, ast.walk(node))):
                return True
    return False


def _is_of_numbers(node: ast.expr) -> bool:
    """Tell whether a value is one of floating-point numbers: it writes them, or fills memory with them."""
    if isinstance(node, ast.Compare) or any(
        getattr(part, "attr", getattr(part, "id", None)) == "bool" for part in ast.walk(node)
    ):
        return False
    return any(
        _is_number(part) or (isinstance(part, ast.Call) and word_of(part) in FILLED)
        for part in ast.walk(node)
    )


def _is_number(node: ast.AST) -> bool:
    is_float = isinstance(node, ast.Constant) and isinstance(node.value, float)
    return is_float or is_minus_infinity(node)


def filled_memory(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield a call that creates filled memory."""
    node = source.at(place)
    if not isinstance(node, ast.Call):
        return
    word, function = word_of(node), source.of(node.func)
    for fill in ("ones", "zeros"):
        if word is not None and word.startswith(("empty", "new_empty")):
            new = function.removesuffix(word) + word.replace("empty", fill)
        elif word in ("Tensor", "FloatTensor", "DoubleTensor"):
            new = function.removesuffix(word) + fill
        else:
            return
        yield from source.fix(f"use {new}", source.replace(node.func, new))


def empty_reduction(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield a divisor of at least 1, a deviation without correction, or a reduction that is 0 if it has no elements."""
    node = source.at(place)
    torch = torch_name(source)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        text = in_brackets(source.of(node.right), node.right)
        where = source.in_own_brackets(node.right)
        yield from source.fix(
            f"divide by {text}.clamp_min(1)", Edit(*where, f"{text}.clamp_min(1)")
        )
    word = word_of(node)
    if isinstance(node, ast.Call) and word in ("std", "var", "std_mean", "var_mean", "cov"):
        yield from loader_option(source, "drop_last")
        end = source.stretch(node)[1] - 1
        comma = ", " if node.args or node.keywords else ""
        option = "correction=0" if word == "cov" else "unbiased=False"
        title = f"drop Bessel's correction: {option}"
        yield from source.fix(title, Edit(end, end, f"{comma}{option}"))
    elif isinstance(node, ast.Call) and torch is not None:
        value = operand_of(source, node)
        if word == "mean" and value is not None and not node.args and not node.keywords:
            text = in_brackets(source.of(value), value)
            written = f"{text}.sum() / max({text}.numel(), 1)"
            outer = source.parents.get(node)
            shown = written if isinstance(outer, ast.stmt) else f"({written})"
            yield from source.fix(f"write {' '.join(written.split())}", source.replace(node, shown))
        written = f"{torch}.nan_to_num({source.of(node)})"
        yield from source.fix(
            f"use 0 if there are no elements: {one_line(written)}",
            source.replace(node, written),
            hides=True,
        )
        yield from _summed(source, node)


def _summed(source: Source, node: ast.Call) -> Iterator[Fix]:
    """Yield a loss divided by a count that cannot be 0; other batches keep their loss unless classes have weights."""
    if (
        word_of(node) not in ("cross_entropy", "nll_loss")
        or keyword(node, "reduction") is not None
        or not node.args
    ):
        return
    total = f'{source.of(node)[:-1].rstrip(", ")}, reduction="sum")'
    is_called = any(isinstance(part, ast.Call) for part in ast.walk(node.args[0]))
    given = node.args[1] if is_called and len(node.args) > 1 else node.args[0]
    divisor = f"len({source.of(given)})"
    if len(node.args) == 2 and keyword(node, "weight") is None:
        target, left_out = node.args[1], keyword(node, "ignore_index")
        label = "-100" if left_out is None else source.of(left_out)
        counted = f"({in_brackets(source.of(target), target)} != {label})"
        divisor = f"{counted}.sum().clamp(min=1)"
    written = f"{total} / {divisor}"
    yield from source.fix(f"write {one_line(written)}", source.replace(node, written))


def cleaned_batch(place: SourceSpan | None, source: Source, *, held_by: str) -> Iterator[Fix]:
    """Yield a loop over a loader that replaces bad values in its batches with 0, those of `held_by`."""
    line = place.line if place is not None else 0
    statement = source.statement_at(line)
    if isinstance(statement, ast.For):
        for name in _tensors_of(source, statement, held_by=held_by):
            text = f"{name} = {name}{CLEANED}"
            yield from source.fix(
                f"set NaN and infinity to 0: {text}",
                source.insert_before(statement.body[0], text),
                hides=True,
            )
        return
    node = source.at(place)
    divisions = [
        part
        for part in (ast.walk(statement) if node is None and statement is not None else ())
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Div)
    ]
    if len(divisions) == 1:  # a NumPy warning gives only the line
        node = divisions[0]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        text = f"({source.of(node.right)} + 1e-8)"
        where = source.in_own_brackets(node.right)
        # A spread or norm of 0 means that the dividend is 0 as well, so that the quotient becomes 0.
        hides = word_of(node.right) not in SPREADS
        yield from source.fix(f"divide by {text}", Edit(*where, text), hides=hides)
    elif isinstance(node, ast.Call) and word_of(node) in ("from_numpy", "tensor", "as_tensor"):
        text = f"{source.of(node)}{CLEANED}"
        edit = source.replace(node, text)
        yield from source.fix(f"set NaN and infinity to 0: {text}", edit, hides=True)


def _tensors_of(source: Source, loop: ast.For, *, held_by: str) -> list[str]:
    """Return the tensor that holds the bad values as the loop writes it; all of the batch if it has another name.

    That is `x`, or `batch["image"]` if the loop uses string keys.
    """
    names = [one.id for one in ast.walk(loop.target) if isinstance(one, ast.Name)]
    keys = [
        source.of(part)
        for part in ast.walk(loop)
        if isinstance(part, ast.Subscript)
        and isinstance(part.slice, ast.Constant)
        and isinstance(part.slice.value, str)
        and source.of(part.value) in names
    ]
    found = list(dict.fromkeys(keys))[:3] or names[:2]
    return [one for one in found if _key_of(one) == _key_of(held_by)] or found


def _key_of(name: str) -> str:
    """Return `["image"]` for `batch['image']`, whatever the name of the batch."""
    root, bracket, key = name.partition("[")
    return (bracket + key if bracket else root).replace("'", '"')


def wider(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield operands in float32, then bfloat16, which has the range of float32, instead of float16."""
    node = source.at(place)
    values = (
        [operand_of(source, node, number=number) for number in (0, 1)] if node is not None else []
    )
    if isinstance(node, ast.Call):
        values = values[:1]
    edits = [
        Edit(*_place(source, node, value), f"{in_brackets(source.of(value), value)}.float()")
        for value in values
        if value is not None
        and not isinstance(value, ast.Constant)
        and not source.of(value).endswith(".float()")
    ]
    if edits:
        yield from source.fix("compute it in float32", *edits)
    yield from bfloat16(source)


def _place(source: Source, node: ast.expr | None, value: ast.expr) -> tuple[int, int]:
    if isinstance(node, ast.Call) and value in node.args:
        return source.stretch(value)
    return source.in_own_brackets(value)


def bfloat16(source: Source) -> Iterator[Fix]:
    """Yield bfloat16 instead of every float16 in the file."""
    edits = [
        source.replace(node, f"{source.of(node.value)}.bfloat16")
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Attribute)
        and node.attr in ("float16", "half")
        and getattr(source.parents.get(node), "func", None) is not node
    ]
    edits += [
        source.replace(node.func, f"{source.of(node.func.value)}.bfloat16")
        for node in source.calls("half")
        if isinstance(node.func, ast.Attribute)
    ]
    if edits:
        yield from source.fix("use bfloat16, which has the range of float32", *edits)


def larger_constant(place: SourceSpan | None, source: Source, bound: str = "1e-4") -> Iterator[Fix]:
    """Yield a small constant that half precision can represent instead of one that rounds to 0."""
    node = source.at(place)
    statement = None if node is None else source.statement_of(node)
    for part in ast.walk(statement) if statement is not None else ():
        if (
            isinstance(part, ast.Constant)
            and isinstance(part.value, float)
            and 0 < part.value < 6e-8
        ):
            yield from source.fix(
                f"use {bound}, which half precision can represent", source.replace(part, bound)
            )
