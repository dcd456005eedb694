"""A healthy run imports only the causes that can find something in it, and never misses one of another package."""

from __future__ import annotations

import sys

import pytest

from tests.detect.helpers import alarm
from tests.support.traces import birth, trace
from torchwhy.detect import foreign_causes
from torchwhy.detect.registry import all_detectors, detectors_for

HEALTHY = trace()


def families(*events):
    found = detectors_for([trace(*events)])
    return {cause.__module__.split(".")[-2] for cause in found.values()}


def test_a_healthy_run_needs_no_cause_of_exceptions_and_bad_values():
    assert {"wiring", "dynamics", "memory"} <= families()
    assert families().isdisjoint({"errors", "numerics", "machines"})


@pytest.mark.parametrize("event", [alarm(3), birth()], ids=["alarm", "birth"])
def test_a_bad_value_wakes_its_family(event):
    assert "numerics" in families(event)


def test_a_bad_value_in_the_second_run_wakes_its_family():
    found = detectors_for([trace(rerun=trace(birth()))])

    assert "log-of-nonpositive" in found


def test_every_sleeping_cause_finds_nothing_in_a_run_without_its_events():
    awake = detectors_for([HEALTHY])

    for name, cause in all_detectors().items():
        if name not in awake:
            assert not list(cause().scan(HEALTHY))


@pytest.mark.parametrize("folder", ["other-1.0.dist-info", "other.egg-info"])
def test_a_cause_of_another_package_is_found(tmp_path, monkeypatch, folder):
    (tmp_path / folder).mkdir()
    (tmp_path / folder / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: other\nVersion: 1.0\n"
    )
    listed = "[torchwhy.detectors]\nmine = other:Mine\n"
    (tmp_path / folder / "entry_points.txt").write_text(listed)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])

    (found,) = foreign_causes.entry_points("torchwhy.detectors")

    assert found.value == "other:Mine"


def test_an_archive_on_the_path_may_hold_causes(tmp_path, monkeypatch):
    archive = tmp_path / "packages.zip"
    archive.write_bytes(b"PK\x05\x06" + bytes(18))
    monkeypatch.setattr(sys, "path", [str(archive), *sys.path])

    assert list(foreign_causes.entry_points("torchwhy.no-such-group")) == []
