"""Memory, initialisers, reversed arrays, the rest, and exceptions that the program swallows."""

from __future__ import annotations

import pytest

from tests.detect.crash_traces import LINE, crash, scan, tensor, trace_of
from torchwhy.detect.causes.errors.negative_strides import NegativeStrides
from torchwhy.detect.causes.errors.non_scalar_backward import NonScalarBackward
from torchwhy.detect.causes.errors.out_of_memory import OutOfMemory, human
from torchwhy.detect.causes.errors.unexplained_error import UnexplainedError
from torchwhy.detect.causes.errors.unsupported_init import UnsupportedInit
from torchwhy.finding import SourceSpan
from torchwhy.record.crashes import Layer

CPU = "DefaultCPUAllocator: can't allocate memory: you tried to allocate {} bytes."
CUDA = (
    "CUDA out of memory. Tried to allocate 2.00 GiB. "
    "GPU 0 has a total capacity of 23.65 GiB of which 1.21 GiB is free."
)
NEGATIVE = (
    "At least one stride in the given numpy array is negative, and tensors with negative strides …"
)
FAN = "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"
MANY = "grad can be implicitly created only for scalar outputs"


@pytest.mark.parametrize(
    ("shapes", "elements", "result"),
    [
        (((1000, 1), (1000,)), 1000 * 1000, "1000×1000"),
        (((500, 1, 16), (1, 700, 16)), 500 * 700 * 16, "500×700×16"),
        (((3000, 8), (3000, 8)), 3000 * 3000, "3000×3000"),
        (((64, 100, 32), (32, 5000)), 64 * 100 * 5000, "64×100×5000"),
    ],
    ids=["column and row", "pairwise", "distances", "product"],
)
def test_shape_of_what_did_not_fit_is_worked_out_from_the_operands(shapes, elements, result):
    operands = [tensor(name, *shape) for name, shape in zip("ab", shapes, strict=True)]

    finding = scan(OutOfMemory, crash(CPU.format(4 * elements), operands=operands))

    assert f"for a result of {result}" in finding.message


def test_request_that_no_operand_explains_is_told_without_a_shape():
    finding = scan(OutOfMemory, crash(CPU.format(12_345), operands=[tensor("a", 4)]))

    assert finding.message == "`f(x)` asked for 12.3 KB, which is not available"


def test_accelerator_says_what_was_free():
    finding = scan(OutOfMemory, crash(CUDA, type="OutOfMemoryError"))

    assert "asked for 2.15 GB" in finding.message
    assert any("1.21 GiB were free" in evidence.claim for evidence in finding.evidence)


@pytest.mark.parametrize(
    ("count", "text"), [(12, "12 bytes"), (4e9, "4 GB"), (3.6e11, "360 GB"), (5.76e12, "5.76 TB")]
)
def test_bytes_are_told_as_people_say_them(count, text):
    assert human(count) == text


def test_initialiser_names_the_parameter():
    facts = {"parameter": "fc.bias", "parameter_shape": [8], "initialiser": "xavier_uniform_"}

    finding = scan(UnsupportedInit, crash(FAN, type="ValueError", facts=facts))

    assert (
        finding.message
        == "`xavier_uniform_` cannot initialise `fc.bias` of shape 8: it needs at least two dimensions"
    )


def test_array_turned_round_in_a_dataset_is_blamed_there():
    turned = SourceSpan("data.py", 5, expression="image[::-1]")

    finding = scan(
        NegativeStrides, crash(NEGATIVE, facts={"indices": [1, 2]}, places={"turned": turned})
    )

    assert finding.location == turned


def test_array_turned_round_in_the_failing_function_leaves_the_failing_line():
    turned = SourceSpan("train.py", 5, expression="np.flip(rows)")

    finding = scan(NegativeStrides, crash(NEGATIVE, places={"turned": turned}))

    assert finding.location == LINE
    assert "`np.flip(rows)` reversed" in finding.message


def test_unexplained_error_names_layer_and_tensors():
    layers = [Layer(path="net.attention", kind="Attention", text="Attention()")]

    finding = scan(UnexplainedError, crash("odd", layers=layers, operands=[tensor("q", 2, 3)]))

    assert finding.message == "`f(x)` in `net.attention` raised RuntimeError: odd"
    assert finding.evidence[0].claim == "q: float32 2×3"


def test_lookup_error_far_from_torch_is_the_programs_own_business():
    error = crash("'b'", type="KeyError", raised_by="python")

    assert list(UnexplainedError().scan(trace_of(error))) == []


def test_swallowed_exception_without_any_step_is_an_error():
    finding = scan(NonScalarBackward, crash(MANY, caught=True, times=5))

    assert finding.severity == "error"
    assert "5 times as far as observed, and no optimizer step ever ran" in finding.evidence[0].claim


def test_swallowed_exception_beside_many_steps_is_a_warning():
    finding = scan(NonScalarBackward, crash(MANY, caught=True, times=2), steps=40)

    assert finding.severity == "warning"
