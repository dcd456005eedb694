"""What a watched step costs, in counts that do not depend on the machine; times are measured in `benchmarks/`."""

from __future__ import annotations

import json

import pytest

from tests.guest.pairs import Pairs
from torchwhy.observe.native import records

MOST_CALLS = 60  # of Python functions of ours, in a loop with a loader and twenty parameters
MOST_CALLS_IN_C = 5  # the same with the accelerator: torch switches its compiler off at each step
MOST_CALLS_OF_SECOND = 20  # of another optimizer on the same batch
MOST_FIRST_CALLS = (
    8000  # in the first step: 200 operations, 40 layers and parameters, the source of the loss
)
MOST_OPERATIONS = 8  # one pass over the small gradients, the loss, and what reading them takes
MOST_READS = 2  # on a device each would be a wait: the loss, and the answer for all gradients
MOST_WRITES = 0.1  # calls into the system: many steps share one
MOST_BYTES = 400

Counts = dict[str, dict[str, float]]


def counts_of(pairs: Pairs, *arguments: str) -> Counts:
    runs = {
        kind: pairs.run("counted", watched=kind == "watched", arguments=arguments)
        for kind in ("bare", "watched")
    }
    return {kind: json.loads(run.stdout) for kind, run in runs.items()}


@pytest.fixture(scope="module")
def counts(python_pairs: Pairs) -> Counts:
    """Give the counts of one program, bare and watched, without the accelerator."""
    return counts_of(python_pairs)


@pytest.fixture(scope="module")
def accelerated(pairs: Pairs) -> Counts:
    """Give the same with it."""
    if records.fast is None:
        pytest.skip("the accelerator was not built")
    return counts_of(pairs)


def test_few_calls_of_ours_per_step(counts):
    assert counts["bare"]["calls"] == 0
    assert 0 < counts["watched"]["calls"] <= MOST_CALLS


def test_gradients_are_read_in_few_operations(counts):
    more = counts["watched"]["operations"] - counts["bare"]["operations"]

    assert 0 < more <= MOST_OPERATIONS


def test_at_most_two_numbers_are_read_back(counts):
    more = counts["watched"]["reads"] - counts["bare"]["reads"]

    assert 0 < more <= MOST_READS


def test_few_writes_and_few_bytes(counts):
    assert 0 < counts["watched"]["writes"] <= MOST_WRITES
    assert counts["watched"]["bytes"] <= MOST_BYTES


def test_accelerator_leaves_nothing_of_an_ordinary_step_to_python(accelerated):
    assert accelerated["watched"]["calls"] <= MOST_CALLS_IN_C
    for count in ("operations", "reads"):
        assert accelerated["watched"][count] == accelerated["bare"][count]
    assert 0 < accelerated["watched"]["writes"] <= MOST_WRITES  # and still every step is recorded
    assert 0 < accelerated["watched"]["bytes"] <= MOST_BYTES


def test_buffers_are_copied_without_python_or_operations(pairs):
    """A BatchNorm layer moves its statistics in every forward pass; a replay needs them as they were before."""
    if records.fast is None:
        pytest.skip("the accelerator was not built")
    counts = counts_of(pairs, "buffers")

    assert counts["watched"]["calls"] <= MOST_CALLS_IN_C
    assert counts["watched"]["operations"] == counts["bare"]["operations"]


def test_optimizers_that_step_in_turn_cruise_as_one_does(pairs):
    """Each batch has two steps, the second one with three forwards and a draw; a third optimizer is never used."""
    if records.fast is None:
        pytest.skip("the accelerator was not built")
    counts = counts_of(pairs, "in_turn")

    assert 0 < counts["watched"]["calls"] <= MOST_CALLS_IN_C + MOST_CALLS_OF_SECOND
    assert counts["watched"]["reads"] == counts["bare"]["reads"]


def test_first_step_leaves_the_work_of_torch_alone_to_torch(accelerated):
    """Neither the rows that a loader stacks nor what an optimizer writes is looked at one by one."""
    assert accelerated["bare"]["first_calls"] == 0
    assert 0 < accelerated["watched"]["first_calls"] <= MOST_FIRST_CALLS


def test_scaler_is_not_asked_again_whether_gradients_are_finite(python_pairs):
    counts = counts_of(python_pairs, "scaled")

    assert 0 < counts["watched"]["calls"] <= MOST_CALLS + 15  # `scale` and `unscale_` are seen, too
    more = counts["watched"]["operations"] - counts["bare"]["operations"]
    assert 0 < more <= MOST_OPERATIONS
    # On the CPU the loss and the scale, on a device both at once; the gradients were seen by the scaler.
    assert counts["watched"]["reads"] - counts["bare"]["reads"] <= MOST_READS
