"""A little of each kind of fuzzing, with fixed seeds; `make fuzz` does it for long."""

from __future__ import annotations

import ast

import pytest

from tests.fuzz.faults.fault import Fault, mutate
from tests.fuzz.killer import hit
from tests.fuzz.mutants import FAULTS, try_mutant
from tests.fuzz.pairs import compare
from tests.fuzz.plan import draw
from tests.fuzz.program import text_of
from tests.fuzz.tamperer import record_runs, tamper
from tests.support.children import Zygote, shared_zygote
from torchwhy.detect.registry import all_detectors

TRIED = (  # one of each way to find a fault: a graph, an exception, a birth, a course of the loss, memory
    "hidden layer detached",
    "loss not reduced",
    "constant column normalised",
    "learning rate × 10⁴",
    "loss kept with its graph",
    "head replaced after the optimizer",
    "item of the loss",
)


@pytest.fixture
def zygote() -> Zygote:
    return shared_zygote()


@pytest.mark.parametrize("seed", range(0, 1000, 100))
def test_every_seed_gives_a_program(seed):
    for number in range(seed, seed + 100):
        ast.parse(text_of(draw(number), sworn=True))


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_every_fault_fits_programs_of_all_styles(fault: Fault):
    for seed in range(20):
        mutant = mutate(fault, seed)

        ast.parse(mutant.text)
        assert mutant.expected
        assert {cause for cause, _ in mutant.expected} <= set(all_detectors())


@pytest.mark.parametrize("seed", [2, 29, 61, 112])
def test_generated_program_gives_the_same_bits_and_no_alarm(seed, zygote, tmp_path):
    compared = compare(seed, zygote=zygote, folder=tmp_path)

    assert compared.is_good, compared.describe()


@pytest.mark.parametrize(
    "fault", [one for one in FAULTS if one.name in TRIED], ids=lambda f: f.name
)
def test_fault_in_a_generated_program_is_named(fault, zygote, tmp_path):
    judged = try_mutant(fault, 0, zygote=zygote, folder=tmp_path / "mutant")

    assert judged.verdict == "named", judged.describe()


@pytest.mark.parametrize("seed", [1, 4, 6])
def test_program_that_is_hit_by_a_signal_leaves_a_report(seed, zygote, tmp_path):
    one = hit(seed, zygote=zygote, folder=tmp_path)

    assert one.problems == [], one.describe()


def test_damaged_runs_of_mutants_are_answered(zygote, tmp_path):
    runs = record_runs(zygote, tmp_path)

    assert [one for one in tamper(runs, seed=5, count=25) if one.problems] == []
