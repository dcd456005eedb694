"""Checkpoints, devices, states, schedules, GPUs that report late: what the report makes of the recorded facts."""

from __future__ import annotations

import pytest

from tests.detect.crash_traces import crash, scan, trace_of
from torchwhy.detect.causes.errors.missing_device import MissingDevice
from torchwhy.detect.causes.errors.out_of_memory import OutOfMemory
from torchwhy.detect.causes.errors.scheduler_past_its_end import SchedulerPastItsEnd
from torchwhy.detect.causes.errors.state_dict_mismatch import StateDictMismatch
from torchwhy.detect.causes.errors.unexplained_error import UnexplainedError
from torchwhy.detect.causes.errors.unsafe_checkpoint_load import UnsafeCheckpointLoad
from torchwhy.record.wiring import CallsCounted

ASSERT = (
    "CUDA error: device-side assert triggered\nCUDA kernel errors might be asynchronously reported at some other API "
    "call, so the stacktrace below might be incorrect."
)
STATE = "Error(s) in loading state_dict for Net:\n\tMissing key(s) in state_dict: …"
KEYS = {"state_keys": 4.0, "model_keys": 4.0, "shared_keys": 0.0, "missing_keys": 4.0}
OVER = "Tried to step 11 times. The specified number of total steps is 10"
UNSAFE = (
    "Weights only load failed. Unsupported global: GLOBAL {} was not an allowed global by default."
)


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        (ASSERT, "labels are at least 0"),
        ("CUDA error: an illegal memory access was encountered", "check indices first"),
        (
            "CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasSgemm(…)`",
            "smaller batches",
        ),
        ("cuDNN error: CUDNN_STATUS_INTERNAL_ERROR", "smaller batches"),
        ("CUDA error: unspecified launch failure", "dmesg"),
    ],
)
def test_failure_of_a_gpu_says_that_its_place_is_not_reliable(message, advice):
    finding = scan(UnexplainedError, crash(message))

    assert "may have happened in an earlier line" in finding.message
    titles = " ".join(fix.title for fix in finding.fixes)
    assert "CUDA_LAUNCH_BLOCKING=1" in titles
    assert advice in titles


def test_torch_without_code_for_the_gpu_is_told_apart():
    message = "CUDA error: no kernel image is available for execution on the device"

    finding = scan(UnexplainedError, crash(message))

    assert "has no code for this GPU" in finding.message


@pytest.mark.parametrize(
    "message",
    ["CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has …", "CUDA error: out of memory"],
)
def test_gpu_out_of_memory_is_not_reported_as_a_late_failure(message):
    finding = scan(OutOfMemory, crash(message))

    assert finding.detector == "out-of-memory"


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"built_for_cuda": False, "torch_version": "2.9+cpu"}, "(2.9+cpu) is built without CUDA"),
        ({"built_for_cuda": True, "gpus": 0.0}, "torch finds none on this machine"),
        ({}, "torch finds none on this machine"),
    ],
)
def test_missing_gpu_is_explained_by_the_build_of_torch(facts, words):
    finding = scan(MissingDevice, crash("No CUDA GPUs are available", facts=facts))

    assert words in finding.message


def test_number_of_a_gpu_that_is_not_there_says_how_many_are():
    finding = scan(
        MissingDevice,
        crash("CUDA error: invalid device ordinal", facts={"built_for_cuda": True, "gpus": 2.0}),
    )

    assert "torch sees 2 GPUs" in finding.message


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"state_within": "net", "fit_then": 4.0}, "the state of the model is its entry 'net'"),
        ({"state_prefix": "module.", "fit_then": 4.0}, "`nn.DataParallel` and"),
        ({"state_prefix": "_orig_mod.", "fit_then": 4.0}, "`torch.compile` adds it"),
        ({"model_prefix": "module.", "fit_then": 4.0}, "the keys of the model have `module.`"),
        ({"renamed": True}, "other names in the state"),
        ({}, "the state of another model: 0 of the 4 keys"),
    ],
)
def test_relation_of_state_and_model_is_told(facts, words):
    finding = scan(StateDictMismatch, crash(STATE, facts={**KEYS, **facts}))

    assert words in finding.message


def test_state_whose_keys_were_not_recorded_stays_unexplained():
    trace = trace_of(crash(STATE))

    assert list(StateDictMismatch().scan(trace)) == []
    assert len(list(UnexplainedError().scan(trace))) == 1


def test_steps_of_a_loaded_schedule_count():
    counted = CallsCounted(step=3, counts={}, schedulers={0: 4})

    finding = scan(SchedulerPastItsEnd, counted, crash(OVER, facts={"schedule": "OneCycleLR"}))

    assert "7 of them before this run" in finding.message


def test_empty_checkpoint_is_told_though_torch_says_nothing():
    facts = {"checkpoint": "last.pt", "checkpoint_bytes": 0.0, "checkpoint_begins": "''"}

    finding = scan(UnexplainedError, crash("", type="EOFError", facts=facts))

    assert finding.message == "`f(x)` cannot read last.pt: it is empty"


def test_weights_only_false_comes_last_and_never_as_a_change_of_the_source():
    finding = scan(UnsafeCheckpointLoad, crash(UNSAFE.format("__main__.Config")))

    assert "add_safe_globals([Config])" in finding.fixes[0].title
    assert "weights_only=False" in finding.fixes[-1].title
    assert all(fix.safety == "show-only" and not fix.diff for fix in finding.fixes)
