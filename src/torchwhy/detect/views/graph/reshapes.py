"""Reshapes that list the sizes in another order: no value moves, so samples or axes get mixed."""

from __future__ import annotations


def swaps_rows(before: list[int], after: list[int], rows: int) -> bool:
    """Tell whether the samples are dimension 1 before and dimension 0 after, or the other way round."""
    if len(before) < 2 or len(after) < 2 or _only_splits_or_joins(before, after):
        return False
    comes = before[0] not in (1, rows) and before[1] == rows and after[0] == rows
    goes = before[0] == rows and after[0] not in (1, rows) and after[1] == rows
    return comes or goes


def _only_splits_or_joins(before: list[int], after: list[int]) -> bool:
    """Tell whether the reshape only joins leading dimensions, or splits the first one.

    A linear layer does this with (batch, time, width); a width equal to the batch size is a coincidence there.
    """
    same = 0
    while same < min(len(before), len(after)) and before[-1 - same] == after[-1 - same]:
        same += 1
    return min(len(before), len(after)) - same <= 1


def swaps_axes(before: list[int], after: list[int]) -> bool:
    """Tell whether the sizes after the first are the same in another order, none of them 1."""
    if len(before) != len(after) or len(before) < 3 or before[0] != after[0] or before == after:
        return False
    return sorted(before) == sorted(after) and 1 not in before[1:]


def swaps_heads(before: list[int], after: list[int]) -> bool:
    """Tell whether (batch, time, width) became (batch, heads, time, part) in one step, or the other way round."""
    if len(before) > len(after):
        before, after = after, before
    if len(before) != 3 or len(after) != 4 or before[0] != after[0]:
        return False
    _, time, width = before
    _, heads, moments, part = after
    return (
        moments == time and heads * part == width and 1 not in (time, heads, part) and heads != time
    )


def unfolds_otherwise(before: list[int], after: list[int], rows: int) -> bool:
    """Tell whether (samples · steps, …) became (steps, samples, …), which is right only if they were folded so."""
    return (
        len(after) > 2
        and after[1] == rows
        and after[0] not in (1, rows)
        and before[:1] == [after[0] * rows]
        and before[1:] == after[2:]
    )
