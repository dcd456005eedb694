"""Edits that pad the samples of a batch to one size, where they are stacked or by a `collate_fn`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchwhy.finding import Fix, SourceSpan
from torchwhy.source.calls import keyword, torch_name, word_of
from torchwhy.source.edits import Edit, Source
from torchwhy.source.text import one_line

KEY = re.compile(r"\[('\w+'|\d+)\]")  # Matches the key of a part of a sample, `['x']` or `[0]`.
STACKS = ("stack", "cat", "concat", "tensor", "as_tensor")
TITLE = "pad the samples of a batch to the longest"


def padded(
    place: SourceSpan | None, source: Source, *, part: str | None, last: bool
) -> Iterator[Fix]:
    """Yield fixes that pad the samples of a batch to the longest, in the first dimension or in the `last`.

    `part` is the part of the sample that differs, None for the whole sample.
    """
    torch = torch_name(source)
    node = source.at(place)
    if torch is None:
        return
    key = KEY.match(part) if part is not None else None
    if isinstance(node, ast.Call) and word_of(node) in STACKS and node.args:
        text = _joined(_parts(source, node, torch), torch, last=last)
        yield from source.fix(f"pad to the longest: {one_line(text)}", source.replace(node, text))
        return
    lines = {place.line} if place is not None else set()
    for call in sorted(source.calls("DataLoader"), key=lambda one: one.lineno not in lines):
        if keyword(call, "collate_fn") is None and call.args:
            function = _function(None if key is None else key[1], torch, last=last)
            yield from _by_collate(source, call, function)


def _parts(source: Source, node: ast.Call, torch: str) -> str:
    """Return the source of a list of the tensors that a call joins."""
    given = node.args[0]
    text = source.of(given)
    if word_of(node) in ("tensor", "as_tensor"):
        return f"[{torch}.tensor(part) for part in {text}]"
    if word_of(node) != "stack" and isinstance(given, ast.ListComp):  # cat of `b[None]`
        loop = given.generators[0]
        return f"[{source.of(loop.target)} for {source.of(loop.target)} in {source.of(loop.iter)}]"
    return text


def _joined(parts: str, torch: str, *, last: bool) -> str:
    pad = f"{torch}.nn.utils.rnn.pad_sequence"
    if not last:
        return f"{pad}({parts}, batch_first=True)"
    return f"{pad}([part.movedim(-1, 0) for part in {parts}], batch_first=True).movedim(1, -1)"


def _by_collate(source: Source, call: ast.Call, lines: list[str]) -> Iterator[Fix]:
    statement = source.statement_of(call)
    while statement is not None and isinstance(source.parents.get(statement), ast.stmt):
        outer = source.parents[statement]
        assert isinstance(outer, ast.stmt)
        statement = outer
    if statement is None:
        return
    end = max(source.stretch(one)[1] for one in (*call.args, *(one.value for one in call.keywords)))
    yield from source.fix(
        TITLE,
        source.insert_before(statement, "\n".join(lines)),
        Edit(end, end, ", collate_fn=pad_samples"),
    )


def _function(key: str | None, torch: str, *, last: bool) -> list[str]:
    """Return the lines of a `collate_fn` that pads the parts of samples, or whole samples if `key` is None.

    Parts that run along, such as a mask or a tag per token, are as long as the part that was refused first.
    """
    as_tensors = f"[{torch}.as_tensor(one) for one in samples]"
    if key is None:
        return [
            "def pad_samples(samples):",
            f"    return {_joined(as_tensors, torch, last=last)}",
            "",
            "",
        ]
    by_name = not key.isdigit()
    together = "{name: pad_part([one[name] for one in samples]) for name in samples[0]}"
    return [
        "def pad_part(parts):",
        f"    long = [one if isinstance(one, str) else {torch}.as_tensor(one) for one in parts]",
        "    if len({getattr(one, 'shape', None) for one in long}) == 1:",
        f"        return {torch}.utils.data.default_collate(parts)",
        f"    return {_joined('long', torch, last=last)}",
        "",
        "",
        "def pad_samples(samples):",
        f"    return {together if by_name else '[pad_part(parts) for parts in zip(*samples)]'}",
        "",
        "",
    ]
