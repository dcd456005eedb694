"""What is kept of a failing step, and which updates were skipped: the files, and the lines that use them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from torchwhy.plain_data import dataclass
from torchwhy.record.kept.kept_failure import BatchKept, StateKept, UpdateSkipped
from torchwhy.record.trace import Trace

GIGABYTE, MEGABYTE = 10**9, 10**6
ROWS_SHOWN = 16
STEPS_SHOWN = 8
IN_RERUN = "rerun/"


@dataclass(frozen=True)
class Passage:
    """A sentence, and lines of code that belong to it."""

    text: str
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class KeptStep:
    """The files of a failing step, as paths from the directory of the program.

    `load` are the lines that load the state. `unkept` are sentences: which file there is not, and why.
    """

    step: int
    state: str | None = None
    load: tuple[str, ...] = ()
    batch: str | None = None
    unkept: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class SkippedUpdate:
    """An update that was left out; `rows` of the dataset were in its batch, the data of `bad_rows` are not finite."""

    step: int
    rows: tuple[int, ...] = ()
    bad_rows: tuple[int, ...] = ()


def kept_of(traces: Sequence[Trace], run_directory: Path, directory: Path) -> KeptStep | None:
    """Return what a run kept of its failing step; None if no step was to be kept."""
    place = _as_seen_from(run_directory, directory)
    for trace in traces:
        states, batches = trace.of(StateKept), trace.of(BatchKept)
        if not states and not batches:
            continue
        again = [] if trace.rerun is None else trace.rerun.of(StateKept)
        in_rerun = any(one.file for one in again)
        state = next(iter([one for one in again if one.file] or states), None)
        batch = next(iter(batches), None)
        path = f"{place}/{IN_RERUN if in_rerun else ''}"
        return _described(state, batch, path, place)
    return None


def _described(state: StateKept | None, batch: BatchKept | None, path: str, place: str) -> KeptStep:
    unkept = [one for one in (_why_no_state(state), _why_no_batch(batch)) if one is not None]
    has_state = state is not None and state.file
    return KeptStep(
        step=(state or batch or StateKept(step=0)).step,
        state=f"{path}{state.file}" if state is not None and has_state else None,
        load=tuple(_lines(state, f"{path}{state.file}")) if state is not None and has_state else (),
        batch=f"{place}/{batch.file}" if batch is not None and batch.file else None,
        unkept=tuple(unkept),
        remarks=tuple(_remarks(state)) if state is not None and has_state else (),
    )


def skipped_of(traces: Sequence[Trace]) -> tuple[SkippedUpdate, ...]:
    """Return the updates that `--on-failure skip` left out."""
    return tuple(
        SkippedUpdate(one.step, tuple(one.rows), tuple(one.bad_rows))
        for trace in traces
        for one in trace.of(UpdateSkipped)
    )


def passages(
    kept: KeptStep | None, skipped: Sequence[SkippedUpdate], report_file: str
) -> Iterator[Passage]:
    """Yield what to tell about the kept step and the skipped updates."""
    if kept is not None:
        if kept.state is not None:
            text = f"The state before step {kept.step} is in {kept.state}. To go on from there:"
            yield Passage(text, kept.load)
        yield from (Passage(remark) for remark in (*kept.remarks, *kept.unkept))
        if kept.batch is not None:
            yield Passage(f"The batch of step {kept.step} is in {kept.batch}.")
    if skipped:
        yield from _about_skipped(skipped, report_file)


def _about_skipped(skipped: Sequence[SkippedUpdate], report_file: str) -> Iterator[Passage]:
    several = len(skipped) > 1
    steps = _listed([one.step for one in skipped], STEPS_SHOWN)
    before = f"{len(skipped)} updates were skipped (steps {steps})"
    if not several:
        before = f"1 update was skipped (step {steps})"
    chosen = sorted({row for one in skipped for row in one.bad_rows or one.rows})
    if not chosen:
        yield Passage(f"{before}; no loader with numbered rows gave the data.")
        return
    all_known = all(one.bad_rows for one in skipped)
    what = "rows whose data are not finite" if all_known else "rows behind them"
    yield Passage(
        f"{before}; {what}: {_listed(chosen, ROWS_SHOWN)}. To leave them out:",
        (
            f'skipped = json.loads(Path({_quoted(report_file)}).read_text())["skipped"]',
            'left_out = {row for one in skipped for row in one["bad_rows"] or one["rows"]}',
            "dataset = Subset(dataset, [row for row in range(len(dataset)) if row not in left_out])",
        ),
    )


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _listed(numbers: Sequence[int], most: int) -> str:
    shown = ", ".join(map(str, numbers[:most]))
    left = len(numbers) - most
    return f"{shown} and {left} more" if left > 0 else shown


def _as_seen_from(run_directory: Path, directory: Path) -> str:
    """Return the run directory as a path from the directory of the program, if it lies in it."""
    for base in (directory, directory.resolve()):
        if run_directory.absolute().is_relative_to(base):
            return run_directory.absolute().relative_to(base).as_posix()
    return run_directory.absolute().as_posix()


def _lines(state: StateKept, path: str) -> Iterator[str]:
    yield f"state = torch.load({_quoted(path)}, weights_only=True)"
    named = ", ".join(f'"{name}": {text}' for name, text in state.parts.items())
    yield (f'for name, part in {{{named}}}.items(): part.load_state_dict(state["parts"][name])')
    for name in state.loose:
        optimizer = state.parts.get(name, name)
        own = f'[one for group in {optimizer}.param_groups for one in group["params"]]'
        yield f'for own, kept in zip({own}, state["loose"]["{name}"]): own.data.copy_(kept)'
    moment = (
        f"once the batch of step {state.step} is drawn"
        if state.drawn
        else f"before step {state.step}"
    )
    yield f'torch.set_rng_state(state["random"]["torch"])  # {moment}'


def _remarks(state: StateKept) -> Iterator[str]:
    if not state.old_buffers:
        yield "At most 16 MB of buffers are copied at every step; those of this state are one forward pass further."
    if state.left_out:
        names = ", ".join(state.left_out)
        yield f"The state lacks {names}: it holds more than tensors and numbers."


def _why_no_state(state: StateKept | None) -> str | None:
    if state is None or not state.unkept:
        return None
    before = f"The state before step {state.step} is not kept:"
    reasons = {
        "too-large": f"it takes {_size(state.size)}, more than `--keep-state` allows ({_size(state.limit)}).",
        "update-made": "the update had been made when its result was seen to be bad.",
        "no-plain-tensors": "it holds sharded, quantized or other tensors of a special kind.",
        "not-written": f"it could not be written ({state.detail}).",
        "no-state": "no variable of the program holds the model.",
    }
    return f"{before} {reasons[state.unkept]}"


def _why_no_batch(batch: BatchKept | None) -> str | None:
    """Return why the batch is not kept; None also if there is nothing that could be."""
    if batch is None or not batch.unkept or batch.unkept == "no-state":
        return None
    before = f"The batch of step {batch.step} is not kept:"
    if batch.unkept == "too-large":
        return f"{before} it takes {_size(batch.size)}, more than 64 MB."
    return f"{before} {batch.detail}."


def _size(count: int) -> str:
    if count >= GIGABYTE:
        return f"{count / GIGABYTE:.3g} GB"
    return f"{count / MEGABYTE:.3g} MB"


def kept_to_json(kept: KeptStep | None) -> dict[str, Any] | None:
    """Return the field `kept` of report.json."""
    return None if kept is None else _with_lists(asdict(kept))


def skipped_to_json(skipped: Sequence[SkippedUpdate]) -> list[dict[str, Any]]:
    """Return the field `skipped` of report.json."""
    return [_with_lists(asdict(one)) for one in skipped]


def _with_lists(facts: dict[str, Any]) -> dict[str, Any]:
    return {name: list(one) if isinstance(one, tuple) else one for name, one in facts.items()}


def kept_from_json(facts: Mapping[str, Any] | None) -> KeptStep | None:
    """Return what `kept_to_json` wrote."""
    if facts is None:
        return None
    return KeptStep(
        step=facts["step"],
        state=facts["state"],
        load=tuple(facts["load"]),
        batch=facts["batch"],
        unkept=tuple(facts["unkept"]),
        remarks=tuple(facts.get("remarks", ())),
    )


def skipped_from_json(facts: Sequence[Mapping[str, Any]]) -> tuple[SkippedUpdate, ...]:
    """Return what `skipped_to_json` wrote."""
    return tuple(
        SkippedUpdate(one["step"], tuple(one["rows"]), tuple(one["bad_rows"])) for one in facts
    )
