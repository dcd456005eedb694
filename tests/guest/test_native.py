"""The accelerator and the Python code that it stands in front of see the same, and change nothing both."""

from __future__ import annotations

import shutil
import sys
import sysconfig
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.guest.pairs import Left, Pairs, differences
from torchwhy.observe.native import records
from torchwhy.record.events import ProbeFailed, RunEnded, RunStarted, Thinned, Weights
from torchwhy.record.inputs.data_events import LoaderSeen
from torchwhy.record.learning import Holdings

PROGRAMS = (
    "accumulation_clipping_ema",
    "batch_norm_dropout",
    "cruising",
    "everything",
    "first_fetch_fails",
    "gan",
    "loaders",
    "many_optimizers",
    "mixed_precision",
    "own_modes",
    "recurrent",
    "rests_and_grows",
    "sparse_and_tied",
    "threads",
)
MEASURED = {"rms", "given_rms", "spread", "input_spread", "zeros", "saturated"}
CLOCKS = {"milliseconds", "seconds", "own_seconds", "wall_seconds", "resident_bytes"}
BY_THE_CLOCK = (
    Holdings,
    RunStarted,
    RunEnded,
    Thinned,
    Weights,
)  # when they come depends on time or memory
UNMEASURED = (
    LoaderSeen,
)  # the accelerator keeps the batches of a cruising loop without measuring their values


@pytest.fixture(scope="module", autouse=True)
def all_started(request: pytest.FixtureRequest, pairs: Pairs, python_pairs: Pairs) -> None:
    """Start what the selected tests will ask for, so that some run at any time."""
    for item in request.session.items:
        if item.fspath == request.fspath and hasattr(item, "callspec"):
            for runner in (pairs, python_pairs):
                runner.start(item.callspec.params["name"], watched=True)


def test_accelerator_is_built_where_it_can_be() -> None:
    """Else a mistake in the C code would go unnoticed: the other tests of it would be skipped."""
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    headers = Path(sysconfig.get_path("include"), "Python.h")
    if sys.version_info < (3, 11) or shutil.which(compiler) is None or not headers.exists():
        pytest.skip("it cannot be built here")

    assert records.is_refused() or records.fast is not None


@pytest.mark.parametrize("name", PROGRAMS)
def test_python_alone_gives_the_same_bits(name: str, pairs: Pairs, python_pairs: Pairs) -> None:
    bare, watched = pairs.run(name, watched=False), python_pairs.run(name, watched=True)

    assert differences(bare, watched) == []
    assert [event for event in watched.events if isinstance(event, ProbeFailed)] == []


@pytest.mark.skipif(records.fast is None, reason="the accelerator was not built")
@pytest.mark.parametrize("name", PROGRAMS)
def test_both_see_the_same(name: str, pairs: Pairs, python_pairs: Pairs) -> None:
    native, python = (each.run(name, watched=True) for each in (pairs, python_pairs))

    seen, expected = seen_by(native), seen_by(python)
    assert len(expected) > 3
    for mine, theirs in zip(seen, expected, strict=False):
        assert mine == theirs
    assert len(seen) == len(expected)


def seen_by(left: Left) -> list[Any]:
    """Return the events of a run, without clocks and folders."""
    events = [event for event in left.events if not isinstance(event, (*BY_THE_CLOCK, *UNMEASURED))]
    return [_timeless(msgspec.to_builtins(event), str(left.folder)) for event in events]


def _rounded(value: Any) -> Any:
    """Return our own sums without the digits that depend on their order: the accelerator adds up doubles."""
    return float(f"{value:.4g}") if isinstance(value, float) else value


def _timeless(value: Any, folder: str) -> Any:
    if isinstance(value, dict):
        return {
            k: _rounded(v) if k in MEASURED else _timeless(v, folder)
            for k, v in value.items()
            if k not in CLOCKS
        }
    if isinstance(value, list):
        return [_timeless(each, folder) for each in value]
    return value.replace(folder, "FOLDER") if isinstance(value, str) else value
