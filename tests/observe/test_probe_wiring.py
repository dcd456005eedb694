"""A probe that cannot be put on torch is left out alone."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from torchwhy.observe.guest import Guests
from torchwhy.observe.hooks import Hooks
from torchwhy.observe.probe_wiring import ProbeWiring
from torchwhy.observe.torch_features import resolve
from torchwhy.record.events import ProbeFailed


@pytest.fixture
def parts():
    events = []
    return SimpleNamespace(guests=Guests(events.append), hooks=Hooks(), events=events)


@pytest.fixture
def lacking(monkeypatch):
    """Let this torch lack the engine."""
    monkeypatch.setattr("torchwhy.observe.guest.is_there", lambda name: name != "engine")
    monkeypatch.setattr("torchwhy.observe.guest.missing", lambda: [resolve.FEATURES["engine"]])


def test_a_probe_that_fails_when_it_is_put_on_leaves_nothing_behind(parts):
    holder = SimpleNamespace(step="original")
    wiring = ProbeWiring(parts, None, None)

    def install():
        parts.hooks.replace(holder, "step", "ours")
        raise TypeError("cannot set attributes of a built-in type")

    wiring._put_on("step probe", (), lambda: parts.hooks.replace(holder, "other", "ours"))
    wiring._put_on("loss probe", (), install)

    assert vars(holder) == {"step": "original", "other": "ours"}
    (failure,) = parts.events
    assert isinstance(failure, ProbeFailed)
    assert failure.probe == "loss probe"
    assert failure.reason.startswith("TypeError: cannot set attributes of a built-in type")


def test_a_probe_whose_feature_is_missing_is_not_put_on(parts, lacking):
    put_on = []
    wiring = ProbeWiring(parts, None, None)

    wiring._put_on("loss probe", ("engine",), lambda: put_on.append("loss"))
    wiring._put_on("batch probe", ("loader-iterator",), lambda: put_on.append("batch"))

    assert put_on == ["batch"]
    assert parts.guests.lacks("loss probe")
    assert not parts.guests.lacks("batch probe")
    (told,) = parts.guests.missing_features()
    assert (told.feature, told.left_out) == ("engine", ["loss probe"])
    assert told.lost == resolve.FEATURES["engine"].lost
    assert parts.events == []  # a process that never trains leaves no trace
