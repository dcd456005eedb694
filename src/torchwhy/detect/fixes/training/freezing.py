"""Edits for a new layer that the program froze with the rest: the freezing stays, and the layer is trained."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from torchwhy.detect.fixes.training.loops import block_of, with_comment
from torchwhy.finding import Fix, SourceSpan
from torchwhy.source.calls import word_of
from torchwhy.source.edits import Source


def thawed_layer(
    place: SourceSpan | None, source: Source, *, frozen: Sequence[str]
) -> Iterator[Fix]:
    """Yield the layer of some parameters made after the statement that freezes the model, or made trainable there."""
    freezes = None if place is None else source.statement_at(place.line)
    loop = source.parents.get(freezes) if freezes is not None else None
    whole = loop if isinstance(loop, ast.For) else freezes
    paths = {name.rpartition(".")[0] for name in frozen}
    if whole is None or len(paths) != 1 or not (path := paths.pop()):
        return
    for made in block_of(source, whole):
        target = made.targets[0] if isinstance(made, ast.Assign) else None
        is_layer = isinstance(target, ast.Attribute) and target.attr == path.rpartition(".")[2]
        if is_layer and made.lineno < whole.lineno:
            yield from source.fix(
                f"freeze before {source.of(target)} is made" if target is not None else "",
                source.remove(made),
                source.insert_after(whole, with_comment(source, made)),
            )
    model = _model(source, whole)
    if model is not None:
        path = path.removeprefix(f"{model}.")
        is_plain = all(part.isidentifier() for part in path.split("."))
        layer = f"{model}.{path}" if is_plain else f'{model}.get_submodule("{path}")'
        text = f"{layer}.requires_grad_(True)"
        yield from source.fix(f"train the new layer: {text}", source.insert_after(whole, text))


def _model(source: Source, whole: ast.stmt) -> str | None:
    """Return the model that a statement freezes, `net` of `for p in net.parameters()`."""
    call = whole.iter if isinstance(whole, ast.For) else getattr(whole, "value", None)
    is_known = word_of(call) in ("parameters", "named_parameters", "requires_grad_")
    if is_known and isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
        return source.of(call.func.value)
    return None
