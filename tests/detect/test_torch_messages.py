"""The table of torch's messages: each row reads its example, and no two rows quarrel about one."""

from __future__ import annotations

import dataclasses
import re

import pytest

from torchwhy.detect.rules import message_kinds as kinds
from torchwhy.detect.rules.beginner_messages import ADVICE
from torchwhy.detect.rules.message_kinds import TorchMessage
from torchwhy.detect.rules.message_rows import Row
from torchwhy.detect.rules.torch_messages import TABLE, devices_in, dtypes_in, numbers_in, read


def _name(row: Row) -> str:
    return f"{row.kind.__name__}: {row.example[:40]}"


@pytest.mark.parametrize("row", TABLE, ids=_name)
def test_a_row_reads_its_example(row):
    assert read(row.example) == row.read(row.example)
    assert type(read(row.example)) is row.kind


@pytest.mark.parametrize("row", TABLE, ids=_name)
def test_no_other_row_as_specific_fits_the_example(row):
    fitting = [
        other
        for other in TABLE
        if other.specificity == row.specificity and other.read(row.example) is not None
    ]

    assert fitting == [row]


@pytest.mark.parametrize("row", TABLE, ids=_name)
def test_every_field_that_a_pattern_names_is_read_from_the_example(row):
    said = row.read(row.example)

    unread = [name for name in re.compile(row.pattern).groupindex if getattr(said, name) is None]
    assert unread == []


def test_every_kind_has_a_row():
    def below(kind: type[TorchMessage]) -> set[type[TorchMessage]]:
        return {kind, *(one for child in kind.__subclasses__() for one in below(child))}

    families = {kinds.TorchMessage, kinds.UnequalSizes}
    assert below(TorchMessage) - families == {row.kind for row in TABLE}


def test_numbers_and_shapes_become_typed_fields():
    stacked = read(
        "stack expects each tensor to be equal size, but got [2, 100] at entry 0 and [2, 101] at entry 3"
    )

    assert dataclasses.asdict(stacked) == {
        "left": None,
        "right": None,
        "first": [2, 100],
        "first_entry": 0,
        "other": [2, 101],
        "other_entry": 3,
    }


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        (
            "Input type (torch.cuda.FloatTensor) and weight type (torch.FloatTensor) should be the same",
            kinds.Devices,
        ),
        (
            "Input type (torch.FloatTensor) and weight type (torch.HalfTensor) should be the same",
            kinds.Dtypes,
        ),
        (
            "Input type (torch.cuda.FloatTensor) and weight type (torch.cuda.HalfTensor) should be the same",
            kinds.Dtypes,
        ),
        ("the weights do not like you", TorchMessage),
    ],
)
def test_the_most_specific_row_decides(message, kind):
    assert type(read(message)) is kind


def test_every_beginners_error_has_advice():
    names = [row.fields["name"] for row in TABLE if row.kind is kinds.BeginnersError]

    assert sorted(names) == sorted(ADVICE)


def test_names_in_a_message_are_read_as_the_program_writes_them():
    message = "found at least two devices, cuda:0 and cpu! Got Double and Float 12 of 34"

    assert devices_in(message) == ["cuda:0", "cpu"]
    assert dtypes_in(message) == ["float64", "float32"]
    assert numbers_in(message) == {0, 12, 34}
