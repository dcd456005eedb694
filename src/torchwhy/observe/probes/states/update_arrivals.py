"""Compares a few weights of an optimizer before some updates and after them: do the updates change a bit?"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

from torchwhy.observe.optimizers.watched_optimizers import WatchedOptimizer
from torchwhy.observe.torch_features.mode_stack import unseen
from torchwhy.observe.torch_features.tensor_parts import gradient_of, has_values, local_part
from torchwhy.plain_data import dataclass
from torchwhy.record.events import Event
from torchwhy.record.kept.kept_state import UpdatesCompared
from torchwhy.record.numbers import encode

BEGINS = 1  # steps of an optimizer; its first one may be a warm-up with a rate of 0
# Updates between two looks, at least: an optimizer that keeps wider copies moves its weights now and then.
UPDATES = (8, 32)
MOST_TENSORS = 16  # of each dtype
MOST_ELEMENTS = 256  # of each tensor
MOST_NAMES = 4
MOST_OPTIMIZERS = 4


@dataclass
class _Sample:
    name: str
    parameter: weakref.ref[torch.Tensor]
    rate: float
    stride: int
    values: torch.Tensor
    gradient: torch.Tensor


@dataclass
class _Window:
    began: int
    samples: list[_Sample]
    number: int = 0


class UpdateArrivals:
    """Looks at an optimizer's second step, at its tenth, and at a later one that is observed anyway."""

    def __init__(self, write: Callable[[Event], None]) -> None:
        self._write = write
        self._windows: dict[int, _Window] = {}

    @unseen
    def before_step(self, watched: WatchedOptimizer, step: int) -> None:
        """Begin a comparison, or end one."""
        window = self._windows.get(watched.index)
        if window is None:
            if watched.steps == BEGINS and len(self._windows) < MOST_OPTIMIZERS:
                self._windows[watched.index] = _Window(watched.steps, _samples(watched))
        elif window.samples and watched.steps >= window.began + UPDATES[window.number]:
            self._tell(watched, window, step)
            number = window.number + 1
            samples = _samples(watched) if number < len(UPDATES) else []
            self._windows[watched.index] = _Window(watched.steps, samples, number)

    def _tell(self, watched: WatchedOptimizer, window: _Window, step: int) -> None:
        for dtype in dict.fromkeys(one.values.dtype for one in window.samples):
            own = [one for one in window.samples if one.values.dtype == dtype]
            compared = [(one, now) for one in own if (now := _now(one)) is not None]
            event = _compared(watched, compared, updates=watched.steps - window.began, step=step)
            if event is not None:
                self._write(event)


def _samples(watched: WatchedOptimizer) -> list[_Sample]:
    """Return some elements of some weights with their gradients, of each dtype."""
    by_dtype: dict[torch.dtype, list[tuple[str, torch.Tensor, float]]] = {}
    for named, rate in zip(_named(watched), _rates(watched), strict=True):
        name, parameter = named
        gradient = gradient_of(parameter)
        if rate and gradient is not None and _is_plain(parameter) and _is_plain(gradient):
            by_dtype.setdefault(parameter.dtype, []).append((name, parameter, rate))
    return [
        _sample(*one)
        for found in by_dtype.values()
        for one in found[:: max(1, len(found) // MOST_TENSORS)][:MOST_TENSORS]
    ]


def _named(watched: WatchedOptimizer) -> Iterator[tuple[str, torch.Tensor]]:
    return zip(watched.names(), watched.parameters(), strict=True)


def _rates(watched: WatchedOptimizer) -> Iterator[float]:
    for group in watched.optimizer.param_groups:
        yield from [float(group.get("lr") or 0.0)] * len(group["params"])


def _is_plain(tensor: torch.Tensor) -> bool:
    return (
        tensor.layout is torch.strided
        and tensor.is_floating_point()
        and tensor.numel() > 0
        and has_values(tensor)
    )


def _sample(name: str, parameter: torch.Tensor, rate: float) -> _Sample:
    stride = max(1, parameter.numel() // MOST_ELEMENTS)
    gradient = gradient_of(parameter)
    assert gradient is not None, "only parameters with a gradient are sampled"
    return _Sample(
        name,
        weakref.ref(parameter),
        rate,
        stride,
        _elements(parameter, stride).clone(),
        _elements(gradient, stride).clone(),
    )


def _elements(tensor: torch.Tensor, stride: int) -> torch.Tensor:
    return local_part(tensor).detach().reshape(-1)[::stride][:MOST_ELEMENTS]


def _now(sample: _Sample) -> torch.Tensor | None:
    """Return the elements as they are now, None if the parameter is gone or another one."""
    parameter = sample.parameter()
    if parameter is None or not _is_plain(parameter) or parameter.dtype != sample.values.dtype:
        return None
    now = _elements(parameter, sample.stride)
    return now if now.shape == sample.values.shape else None


def _read(compared: list[tuple[_Sample, torch.Tensor]]) -> list[torch.Tensor]:
    """Return the elements before and now and their gradients, as three rows in float64 on the CPU, for each sample.

    All of a device are read at once, because each reading waits for it.
    """
    rows = [torch.stack((one.values, now, one.gradient.to(now.dtype))) for one, now in compared]
    found: dict[int, torch.Tensor] = {}
    for device in dict.fromkeys(one.device for one in rows):
        places = [place for place, one in enumerate(rows) if one.device == device]
        read = torch.cat([rows[place] for place in places], dim=1).cpu().double()
        parts = read.split([rows[place].shape[1] for place in places], dim=1)
        found.update(zip(places, parts, strict=True))
    return [found[place] for place in range(len(rows))]


def _compared(
    watched: WatchedOptimizer,
    compared: list[tuple[_Sample, torch.Tensor]],
    *,
    updates: int,
    step: int,
) -> UpdatesCompared | None:
    read = zip((one for one, _ in compared), _read(compared), strict=True)
    moving = [(one, now[:, now[2] != 0]) for one, now in read if bool((now[2] != 0).any())]
    if not moving:
        return None
    numbers = torch.cat([each for _, each in moving], dim=1)
    before, after, slopes = numbers[0], numbers[1], numbers[2]
    same = before == after
    dtype = moving[0][0].values.dtype
    return UpdatesCompared(
        step=step,
        optimizer=watched.index,
        dtype=str(dtype).removeprefix("torch."),
        updates=updates,
        elements=before.numel(),
        same=int(same.sum().item()),
        rate=encode(max(one.rate for one, _ in moving)),
        spacing=_median(_spacing(before, dtype)),
        gradient=_median(slopes.abs()),
        weight=_median(before.abs()),
        kept_wider=_keeps_wider(watched, [one for one, _ in moving]),
        names=[one.name for one, _ in moving][:MOST_NAMES],
    )


def _spacing(values: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Return the distance of each number to the next one of a dtype."""
    info = torch.finfo(dtype)
    exponents = torch.floor(torch.log2(values.abs().clamp(min=info.tiny)))
    return torch.exp2(exponents) * info.eps


def _median(values: torch.Tensor) -> Any:
    return encode(float(values.median().item()))


def _keeps_wider(watched: WatchedOptimizer, samples: list[_Sample]) -> bool:
    """Tell whether the optimizer keeps a copy in a wider dtype, of which the weight is the rounded value."""
    for sample in samples:
        parameter = sample.parameter()
        state = watched.optimizer.state.get(parameter) if parameter is not None else None
        for value in state.values() if isinstance(state, Mapping) else ():
            if (
                isinstance(value, torch.Tensor)
                and parameter is not None
                and value.shape == parameter.shape
                and value.element_size() > parameter.element_size()
                and torch.equal(
                    local_part(value).to(parameter.dtype), local_part(parameter).detach()
                )
            ):
                return True
    return False
