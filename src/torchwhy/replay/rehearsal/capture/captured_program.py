"""A training step as a small program: operations on parameters, data slots and computed values."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any, Literal, NamedTuple

import torch

from torchwhy.finding import SourceSpan
from torchwhy.observe.devices import generator_states
from torchwhy.observe.devices.generator_states import GeneratorStates
from torchwhy.observe.program.frames import Site, span_of
from torchwhy.plain_data import dataclass

Kind = Literal["value", "parameter", "slot"]
Role = Literal["input", "target", "constant", "buffer"]
Tensors = Mapping[int, torch.Tensor]
Sources = Mapping[str, Tensors]  # by the kind of a `Ref`
Filler = Callable[[Sources], Any]


class Ref(NamedTuple):
    """Stands for a tensor in the arguments of an operation; `detached` if no gradient flows into it there."""

    kind: Kind
    number: int
    detached: bool = False


@dataclass(frozen=True)
class CapturedOperation:
    """One operation; its arguments hold `Ref`s in place of tensors, `results` the numbers of the values it makes.

    `shapes` are theirs, `writes` the numbers of the values that it changes in place, and `random_state` is the
    generator's state with which it drew.
    """

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    results: tuple[int | None, ...]
    shapes: tuple[tuple[int, ...] | None, ...] = ()
    with_grad: bool = True
    writes: tuple[int, ...] = ()
    random_state: GeneratorStates | None = None
    site: Site | None = None

    @property
    def refs(self) -> list[Ref]:
        """Return what it reads."""
        return list(refs_in((self.args, self.kwargs)))

    @cached_property
    def filled(self) -> Filler:
        """Return what gives its arguments with tensors in place of the `Ref`s; a step may run hundreds of times."""
        arguments = (self.args, self.kwargs)
        return _filler(arguments) or (lambda _: arguments)

    @property
    def span(self) -> SourceSpan | None:
        """Return the user's expression that called it."""
        return span_of(self.site) if self.site is not None else None


@dataclass(frozen=True)
class Slot:
    """A copy of data that feeds the program and depends on no parameter; `use` is its role if it is no constant."""

    tensor: torch.Tensor
    role: Role = "input"
    site: Site | None = None  # of the first operation that uses it
    constant_use: Role | None = None

    @property
    def use(self) -> Role:
        """Return what the data are for, whether or not they differ between steps."""
        return self.constant_use or self.role

    @property
    def span(self) -> SourceSpan | None:
        """Return the user's expression where it enters."""
        return span_of(self.site) if self.site is not None else None


@dataclass(frozen=True, eq=False)
class CapturedStep:
    """One training step as a function of parameters and slots; see the package for its use.

    `parameters` are the numbers of the parameters it uses, `owned` those that the optimizer holds which stepped after
    it (all that got a gradient in a program without an optimizer). `weights` are their values before the step,
    `changes` what the update added to them, `gradients` the recorded ones; each only for some steps.
    """

    number: int
    operations: tuple[CapturedOperation, ...]
    slots: tuple[Slot, ...]
    parameters: tuple[int, ...]
    roots: tuple[int, ...]
    loss: float
    site: Site | None = None
    owned: frozenset[int] = frozenset()
    optimizer: int | None = None
    weights: dict[int, torch.Tensor] | None = None
    changes: dict[int, torch.Tensor] | None = None
    gradients: dict[int, torch.Tensor] | None = None
    outputs: tuple[int, ...] = field(default=())

    @property
    def place(self) -> SourceSpan | None:
        """Return the user's backward call."""
        return span_of(self.site) if self.site is not None else None

    @property
    def path(self) -> tuple[Any, ...]:
        """Return what two steps of one program have in common: functions, parameters, number of slots."""
        functions = tuple(operation.function for operation in self.operations)
        return functions, self.parameters, len(self.slots)

    @property
    def shapes(self) -> tuple[Any, ...]:
        """Return shapes and types of the slots."""
        return tuple((tuple(one.tensor.shape), one.tensor.dtype) for one in self.slots)

    @property
    def bytes(self) -> int:
        """Return what the copies take; constants that steps share count for each."""
        held = [slot.tensor for slot in self.slots]
        for kept in (self.weights, self.changes, self.gradients):
            held += kept.values() if kept else ()
        return sum(tensor.numel() * tensor.element_size() for tensor in held)

    def numbers(self, role: Role) -> list[int]:
        """Return the numbers of the slots of one role."""
        return [number for number, slot in enumerate(self.slots) if slot.role == role]

    def run(
        self, weights: Tensors, *, slots: Tensors | None = None, keep: Collection[int] = ()
    ) -> tuple[torch.Tensor, dict[int, torch.Tensor]]:
        """Return the loss, and the values with the numbers in `keep`; `slots` replaces some of the data."""
        values = _run(self, weights, slots or {})
        roots = [values[number].sum() for number in self.roots]
        loss = roots[0] if len(roots) == 1 else torch.stack(roots).sum()
        return loss, {number: values[number] for number in keep}

    def loss_with(self, weights: Tensors, *, slots: Tensors | None = None) -> float:
        """Return the loss as a number, without a graph."""
        with torch.no_grad():
            return float(self.run(weights, slots=slots)[0])


def _run(step: CapturedStep, weights: Tensors, replaced: Tensors) -> dict[int, torch.Tensor]:
    values: dict[int, torch.Tensor] = {}
    data = {n: replaced.get(n, slot.tensor) for n, slot in enumerate(step.slots)}
    sources: dict[str, Tensors] = {"value": values, "parameter": weights, "slot": data}
    grad = torch.is_grad_enabled()
    for operation in step.operations:
        args, kwargs = operation.filled(sources)
        if operation.random_state is None and (operation.with_grad or not grad):
            result = operation.function(*args, **kwargs)
        else:
            with (
                torch.set_grad_enabled(grad and operation.with_grad),
                put_back(operation.random_state),
            ):
                result = operation.function(*args, **kwargs)
        if isinstance(result, torch.Tensor):
            (number,) = operation.results
            if number is not None:
                values[number] = result
        else:
            made = zip(operation.results, flat(result), strict=True)
            values.update((number, one) for number, one in made if number is not None)
    return values


class put_back:  # noqa: N801 - used like a function
    """Draw with a recorded state of the generator inside."""

    def __init__(self, state: GeneratorStates | None) -> None:
        self._state = state
        self._before: GeneratorStates | None = None

    def __enter__(self) -> None:
        if self._state is not None:
            self._before = generator_states.take()
            self._state.put_back()

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            self._before.put_back()


def flat(result: Any) -> list[Any]:
    """Return the results of an operation one after another."""
    if isinstance(result, (list, tuple)):
        return [one for part in result for one in flat(part)]
    return [result]


def refs_in(value: Any) -> Iterator[Ref]:
    """Yield every reference among arguments."""
    if isinstance(value, Ref):
        yield value
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from refs_in(one)
    elif isinstance(value, dict):
        for one in value.values():
            yield from refs_in(one)


def exchanged(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return arguments with every leaf exchanged by what `change` returns for it."""
    if isinstance(value, Ref):
        return change(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(exchanged(one, change) for one in value))
    if type(value) in (list, tuple):
        return type(value)(exchanged(one, change) for one in value)
    if isinstance(value, dict):
        return {name: exchanged(one, change) for name, one in value.items()}
    return change(value)


def _filler(value: Any) -> Filler | None:
    """Return what gives arguments with every `Ref` exchanged by its tensor; None if they hold none."""
    if isinstance(value, Ref):
        return _tensor_of(value)
    if isinstance(value, dict):
        names, inside = list(value), _filler(list(value.values()))
        return (
            None
            if inside is None
            else lambda sources: dict(zip(names, inside(sources), strict=True))
        )
    has_names = isinstance(value, tuple) and hasattr(value, "_fields")
    if not has_names and type(value) not in (list, tuple):
        return None
    template = list(value)
    found = ((place, _filler(one)) for place, one in enumerate(template))
    fillers = [(place, filler) for place, filler in found if filler is not None]
    if not fillers:
        return None
    kind = type(value)

    def fill(sources: Sources) -> Any:
        filled = template.copy()
        for place, filler in fillers:
            filled[place] = filler(sources)
        return kind(*filled) if has_names else kind(filled)

    return fill


def _tensor_of(ref: Ref) -> Filler:
    kind, number, detached = ref
    if not detached:
        return lambda sources: sources[kind][number]

    def tensor(sources: Sources) -> torch.Tensor:
        found = sources[kind][number]
        return found.detach() if found.requires_grad else found

    return tensor


def same(first: Sequence[torch.Tensor], others: Sequence[torch.Tensor]) -> bool:
    """Tell whether tensors are equal bit for bit."""
    return all(
        a.shape == b.shape and a.dtype == b.dtype and torch.equal(a, b)
        for a, b in zip(first, others, strict=True)
    )
