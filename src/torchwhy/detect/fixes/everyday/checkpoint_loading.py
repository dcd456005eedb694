"""Edits of how the program loads a checkpoint."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from torchwhy.finding import Fix, SourceSpan
from torchwhy.source.calls import keyword, method_of, torch_name, word_of
from torchwhy.source.edits import Edit, Source, in_brackets

MAIN = "__main__"


def allowed_classes(
    place: SourceSpan | None, source: Source, *, refused: Sequence[str]
) -> Iterator[Fix]:
    """Yield the checkpoint's classes allowed before it is loaded, if this file itself defines all of them."""
    statement = source.statement_at(place.line) if place is not None else None
    torch = torch_name(source)
    own = {node.name for node in source.tree.body if isinstance(node, ast.ClassDef)}
    names = [name.removeprefix(f"{MAIN}.") for name in refused]
    # To allow a class means to let the file call it, so only classes of the program itself are tried.
    if statement is None or torch is None or not names or not own.issuperset(names):
        return
    text = f"{torch}.serialization.add_safe_globals([{', '.join(names)}])"
    title = "allow the classes of this program that the checkpoint contains"
    yield from source.fix(title, source.insert_before(statement, text))


def loaded_to_cpu(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield `torch.load` with `map_location="cpu"`."""
    call = source.at(place)
    if not isinstance(call, ast.Call) or word_of(call) != "load" or not call.args:
        return
    given = keyword(call, "map_location") or (call.args[1] if len(call.args) > 1 else None)
    title = 'load the tensors to the CPU: map_location="cpu"'
    if given is not None:
        yield from source.fix(title, source.replace(given, '"cpu"'))
    else:
        end = source.stretch(call.args[0])[1]
        yield from source.fix(title, Edit(end, end, ', map_location="cpu"'))


def state_inside(place: SourceSpan | None, source: Source, *, key: str) -> Iterator[Fix]:
    """Yield the entry of the checkpoint that holds the state."""
    for given in _given(place, source):
        text = f"{in_brackets(source.of(given), given)}[{_quoted(key)}]"
        yield from source.fix(f"load {text}", source.replace(given, text))


def state_of_model(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield the state of a model that was given instead of one."""
    for given in _given(place, source):
        text = f"{in_brackets(source.of(given), given)}.state_dict()"
        yield from source.fix(f"load its state: {text}", source.replace(given, text))


def without_part(
    place: SourceSpan | None, source: Source, *, part: str, leads: bool, key: str | None = None
) -> Iterator[Fix]:
    """Yield the state, or its entry `key`, with a part of its keys removed."""
    for given in _given(place, source):
        change = f"removeprefix({_quoted(part)})" if leads else f'replace({_quoted(part)}, "")'
        entry = f"[{_quoted(key)}]" if key is not None else ""
        state = f"{in_brackets(source.of(given), given)}{entry}"
        text = f"{{name.{change}: value for name, value in {state}.items()}}"
        yield from source.fix(f"remove `{part}` from the keys", source.replace(given, text))


def into_wrapped(place: SourceSpan | None, source: Source, *, part: str) -> Iterator[Fix]:
    """Yield the state loaded into the model that the wrapper holds: `model.module.load_state_dict(…)`."""
    found = method_of(source.at(place), "load_state_dict")
    if found is not None:
        text = f"{in_brackets(source.of(found[1]), found[1])}.{part.removesuffix('.')}"
        yield from source.fix(f"load it into {text}", source.replace(found[1], text))


def _given(place: SourceSpan | None, source: Source) -> Iterator[ast.expr]:
    """Yield what `load_state_dict` gets."""
    call = source.at(place)
    if isinstance(call, ast.Call) and method_of(call, "load_state_dict") is not None:
        given = call.args[0] if call.args else keyword(call, "state_dict")
        if given is not None:
            yield given


def _quoted(text: str) -> str:
    return f'"{text}"' if '"' not in text and "\\" not in text else repr(text)
