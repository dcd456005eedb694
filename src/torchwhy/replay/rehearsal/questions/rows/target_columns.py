"""Is the answer among the inputs? Columns of the captured tables that equal the target, or a scaled copy of it."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from torchwhy.plain_data import dataclass
from torchwhy.replay.rehearsal.allowance import CannotAsk
from torchwhy.replay.rehearsal.answer import Answer
from torchwhy.replay.rehearsal.capture.captured_program import CapturedStep
from torchwhy.replay.rehearsal.step_collection import CapturedSteps

SLUG = "target-apart"
FEWEST_ROWS = 64
FEWEST_COLUMNS = 3
MOST_ELEMENTS = 2**22
ORDERS = 20  # random ones, as a control
BEYOND_CHANCE = 1.5  # times the closest of these
ROUNDING = (
    1e-5  # of the range of the targets: a column in single precision that was shifted and scaled
)


@dataclass(frozen=True)
class Table:
    """The rows of one slot in all captured steps."""

    slot: int
    rows: torch.Tensor


def ask(steps: CapturedSteps) -> Answer:
    """Return the column that comes nearest to the target, and how far from it it stays, in ranges of the target."""
    alike = steps.main.alike()
    targets = [one for one in _tables(alike, "target") if _is_one_number(one.rows)]
    tables = [one for one in _tables(alike, "input") if _is_table(one.rows)]
    pairs = [(i, t) for i in tables for t in targets if len(i.rows) == len(t.rows)]
    if not pairs:
        last = _last_step(alike, targets)
        if last is not None:
            return last
        raise CannotAsk("no table of measured numbers is compared with one number per row")
    best = None
    for given, target in pairs:
        answer = target.rows.reshape(-1)
        if len(answer) < FEWEST_ROWS or int(answer.unique().numel()) < 2:
            continue
        distances, slopes = _distances(given.rows, answer)
        place = int(distances.argmin())
        if best is None or float(distances[place]) < best[0]:
            best = (float(distances[place]), float(slopes[place]), place, given, target)
    if best is None:
        raise CannotAsk(f"fewer than {FEWEST_ROWS} rows with different targets were captured")
    distance, slope, place, given, target = best
    answer = target.rows.reshape(-1)
    facts: dict[str, object] = {
        "distance": distance,
        "column": place,
        "columns": given.rows.shape[1],
        "rows": len(answer),
        "values": int(answer.unique().numel()),
        "equal": bool(torch.equal(given.rows[:, place], answer)),
        "same": distance <= ROUNDING,
        "slope": slope,
        "related": _is_related(given.rows, answer, apart_from=place),
    }
    first = alike[0]
    places = {"input": first.slots[given.slot].span, "target": first.slots[target.slot].span}
    return Answer(facts, places)


def _last_step(steps: Sequence[CapturedStep], targets: Sequence[Table]) -> Answer | None:
    """Return that the target is what sequences of measured numbers end with; None if it is not.

    What they begin with may well be the target: to remember it is a task.
    """
    first = steps[0]
    for target in targets:
        answer = target.rows.reshape(-1)
        batch = len(first.slots[target.slot].tensor)
        if len(answer) < FEWEST_ROWS or int(answer.unique().numel()) < FEWEST_ROWS // 2:
            continue
        for number, slot in enumerate(first.slots):
            shape = slot.tensor.shape
            if slot.role != "input" or len(shape) != 3 or batch not in shape[:2]:
                continue
            time = 1 if shape[0] == batch else 0
            ends = torch.cat([one.slots[number].tensor.select(time, -1) for one in steps]).double()
            equal = (ends == answer[:, None]).all(0) if len(ends) == len(answer) else None
            if shape[time] < FEWEST_COLUMNS or equal is None or not bool(equal.any()):
                continue
            facts: dict[str, object] = {
                "last step": True,
                "steps": shape[time],
                "rows": len(answer),
            }
            facts |= {"same": True, "equal": True, "column": int(equal.float().argmax())}
            before = [one.slots[number].tensor.select(time, -2) for one in steps]
            facts["related"] = _is_related(torch.cat(before).double(), answer)
            places = {"input": slot.span, "target": first.slots[target.slot].span}
            return Answer(facts, places)
    return None


def _tables(steps: Sequence[CapturedStep], role: str) -> list[Table]:
    found = []
    for number, slot in enumerate(steps[0].slots):
        size = slot.tensor.numel() * len(steps)
        if slot.role == role and slot.tensor.dim() and 0 < size <= MOST_ELEMENTS:
            every = torch.cat([step.slots[number].tensor.detach() for step in steps])
            found.append(Table(number, every.double()))
    return found


def _is_one_number(rows: torch.Tensor) -> bool:
    return rows.numel() == len(rows) and bool(rows.isfinite().all())


def _is_table(rows: torch.Tensor) -> bool:
    """Tell whether rows hold a few measured numbers; of flags alone, one may well be the answer."""
    if rows.dim() != 2 or rows.shape[1] < FEWEST_COLUMNS or not bool(rows.isfinite().all()):
        return False
    return not bool((rows == rows.round()).all())


def _is_related(rows: torch.Tensor, answer: torch.Tensor, *, apart_from: int | None = None) -> bool:
    """Tell whether the target follows some other column more closely than in random orders.

    If it follows none, the others are noise beside it, as in data that is made up.
    """
    kept = [place for place in range(rows.shape[1]) if place != apart_from]
    columns = torch.cat([rows[:, kept], (rows[:, kept] - rows[:, kept].mean(0)).abs()], 1)
    columns = columns - columns.mean(0)
    columns = columns / columns.norm(dim=0).clamp_min(1e-300)
    aim = (answer - answer.mean()) / (answer - answer.mean()).norm().clamp_min(1e-300)
    generator = torch.Generator().manual_seed(0)
    orders = [torch.randperm(len(aim), generator=generator) for _ in range(ORDERS)]
    by_chance = max(float((aim[order] @ columns).abs().max()) for order in orders)
    return float((aim @ columns).abs().max()) > BEYOND_CHANCE * by_chance


def _distances(rows: torch.Tensor, answer: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return for each column how far the best straight line through it stays from the target, and its slope."""
    centred, aim = rows - rows.mean(0), answer - answer.mean()
    variance = centred.pow(2).sum(0)
    slopes = (centred * aim[:, None]).sum(0) / variance.clamp_min(1e-300)
    off = (slopes * centred - aim[:, None]).abs().amax(0) / (answer.max() - answer.min())
    return torch.where(variance > 0, off, torch.full_like(off, float("inf"))), slopes
