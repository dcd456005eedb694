"""Batches that cannot be made, that are too small, or of which the last one is smaller than the others."""

from __future__ import annotations

import pytest

from tests.detect.crash_traces import LINE, crash, scan, tensor, trace_of
from torchwhy.detect.causes.errors.batchnorm_of_one import BatchnormOfOne
from torchwhy.detect.causes.errors.ragged_batch import RaggedBatch
from torchwhy.detect.causes.errors.ragged_last_batch import RaggedLastBatch
from torchwhy.finding import SourceSpan
from torchwhy.record.crashes import FrameSeen, Layer, LoaderFacts

STACK = "stack expects each tensor to be equal size, but got [5] at entry 0 and [6] at entry 2"
SIZES = "The size of tensor a (6) must match the size of tensor b (8) at non-singleton dimension 0"
ONE = "Expected more than 1 value per channel when training, got input size torch.Size([1, 8])"


def loader(rest: int = 6, length: int = 30, size: int = 8) -> LoaderFacts:
    return LoaderFacts(
        batch_size=size,
        dataset_length=length,
        batches_drawn=4,
        last_batch=[f"batch[0] float32[{rest}, 4]"],
        usual_batch=[f"batch[0] float32[{size}, 4]"],
    )


def test_unequal_samples_are_named_by_their_index_in_the_dataset():
    finding = scan(RaggedBatch, crash(STACK, facts={"indices": [40, 41, 42]}))

    assert "sample 40 of the dataset has size 5, sample 42 has 6" in finding.message


def test_the_field_that_differs_is_named():
    facts = {
        "field": "['tokens']",
        "first_index": 3.0,
        "other_index": 9.0,
        "first_size": [5],
        "other_size": [6],
    }

    finding = scan(RaggedBatch, crash(STACK, facts=facts))

    assert "['tokens'] is 5 in sample 3 of the dataset and 6 in sample 9" in finding.message


def test_stacking_outside_of_a_loader_is_told_by_its_expression():
    finding = scan(RaggedBatch, crash(STACK, expression="torch.stack(parts)"))

    assert finding.message.startswith(
        "torch.stack(parts) stacks tensors of different sizes: entry 0 is 5, entry 2 is 6"
    )


def test_smaller_last_batch_is_told_with_its_arithmetic():
    finding = scan(
        RaggedLastBatch,
        crash(SIZES, loader=loader(), operands=[tensor("x", 6, 4), tensor("mask", 8, 4)]),
    )

    assert "30 samples in batches of 8 leave 6" in finding.message
    assert finding.evidence[0].claim == "30 samples = 3 × 8 + 6"
    assert finding.location == LINE


def test_tensor_made_with_the_batch_size_is_blamed_at_the_line_that_made_it():
    made = SourceSpan("train.py", 3, expression="torch.ones(BATCH, 4)")
    operands = [tensor("x", 6, 4, origin="batch"), tensor("mask", 8, 4, made_by=made)]
    frames = [FrameSeen(location=LINE, numbers={"BATCH": 8.0})]

    finding = scan(RaggedLastBatch, crash(SIZES, loader=loader(), operands=operands, frames=frames))

    assert finding.location == made
    assert finding.message.startswith("`mask` (8×4) is made for batches of 8")


@pytest.mark.parametrize(
    "facts",
    [
        loader(rest=8),
        loader(rest=6, length=32),
        LoaderFacts(batch_size=8, dataset_length=30),
        None,
    ],
    ids=["a full batch", "another remainder", "no batch yet", "no loader"],
)
def test_other_batches_are_not_called_the_last_one(facts):
    found = RaggedLastBatch().scan(trace_of(crash(SIZES, loader=facts)))

    assert list(found) == []


def test_error_of_the_last_batch_that_is_about_something_else_is_left_to_others():
    error = crash(
        "The size of tensor a (6) must match the size of tensor b (5) at dimension 1",
        loader=loader(),
    )

    assert list(RaggedLastBatch().scan(trace_of(error))) == []


def test_batchnorm_says_that_one_sample_is_left():
    layers = [Layer(path="net.norm", kind="BatchNorm1d", text="BatchNorm1d(8)")]

    finding = scan(
        BatchnormOfOne,
        crash(ONE, type="ValueError", loader=loader(rest=1, length=33), layers=layers),
    )

    assert "`net.norm` (BatchNorm1d(8)) got a batch of one sample" in finding.message
    assert "33 samples in batches of 8 leave 1" in finding.message
    assert "drop_last=True" in finding.fixes[0].title


def test_single_sample_outside_of_a_loader_asks_for_evaluation_mode():
    finding = scan(BatchnormOfOne, crash(ONE, type="ValueError"))

    assert "in training mode" in finding.message
    assert "model.eval()" in finding.fixes[0].title
