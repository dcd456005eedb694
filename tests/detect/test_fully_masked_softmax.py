"""fully-masked-softmax on small traces."""

from __future__ import annotations

import pytest

from tests.support.traces import birth, tensor, trace
from torchwhy.detect.causes.numerics.fully_masked_softmax import FullyMaskedSoftmax
from torchwhy.detect.fixes.values.bad_values import open_row
from torchwhy.detect.fixes.values.data import inverted_mask
from torchwhy.finding import Finding, SourceSpan
from torchwhy.record.events import Birth, TensorFacts
from torchwhy.source.edits import Source


def scan(one: Birth) -> list[Finding]:
    return list(FullyMaskedSoftmax().scan(trace(one)))


@pytest.mark.parametrize(
    "op",
    [
        "aten._softmax.default",
        "aten._log_softmax.default",
        "aten._scaled_dot_product_flash_attention.default",
    ],
)
def test_row_of_minus_infinity_is_reported_for_every_kind_of_softmax(op):
    output = TensorFacts(dtype="float32", shape=[4, 3], nan=3, first_bad_index=[2, 0])
    one = birth(
        op,
        kind="from-infinity",
        fully_infinite_row=True,
        operands=[tensor(name="scores")],
        output=output,
    )

    (finding,) = scan(one)

    assert "row [2]" in finding.message
    assert "scores" in finding.message


def test_softmax_that_got_a_nan_some_other_way_is_not_reported():
    assert scan(birth("aten._softmax.default", kind="from-infinity")) == []


def test_another_operation_on_a_row_of_minus_infinity_is_not_reported():
    assert scan(birth("aten.sub.Tensor", kind="from-infinity", fully_infinite_row=True)) == []


@pytest.mark.parametrize(
    ("made", "is_inverted"),
    [
        ("mask = lengths[:, None] <= positions", True),
        ("mask = torch.zeros(4, 4, dtype=torch.bool)", True),
        ("mask = torch.zeros(4, 4)", False),
        ("mask[1] = -torch.inf", False),
        ("mask = torch.ones(4, 4).triu(1) * -1e9", False),
        ("mask.fill_(float('-inf'))", False),
        ("mask = nn.Transformer.generate_square_subsequent_mask(4)", False),
    ],
)
def test_logical_changes_are_proposed_only_for_a_mask_of_booleans(made, is_inverted):
    call = "attention(x, x, x, attn_mask=mask)"
    source = Source("train.py", f"{made}\nout = {call}\n")
    place = SourceSpan("train.py", 2, 2, 6, 6 + len(call), expression=call)

    fixes = [*open_row(place, source), *inverted_mask(place, source)]

    assert len(fixes) == (2 if is_inverted else 0)
