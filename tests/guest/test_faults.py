"""A probe of ours that breaks is switched off and noted once, and a full disk ends the watch, not the program."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import torchwhy
from tests.guest.pairs import Pairs, differences
from torchwhy.pipeline import diagnose
from torchwhy.record.events import ProbeFailed, RunEnded, Step

SOURCE = Path(torchwhy.__file__).parent
VICTIMS = ("everything", "by_hand", "dying/first_forward")  # a probe must be met by one of them
ON_SUSPICION = {
    "curvature experiment",
    "symmetry experiment",
    "sample values",
    "kept state",
    "skipped rows",
}  # run only when something looks wrong
WITH_SEVERAL_PROCESSES = {"collective probe", "stack probe"}
IN_A_CHECK = {"data rehearsal", "file probe", "rehearsal"}  # run only in `torchwhy check`


def named_probes() -> list[str]:
    """Return the name of every probe in the source: a new one is tested without a change here."""
    texts = [
        path.read_text() for part in ("observe", "replay") for path in (SOURCE / part).rglob("*.py")
    ]
    return sorted(
        {name for text in texts for name in re.findall(r'(?:protect|lightly)\(\s*"([^"]+)"', text)}
    )


@pytest.fixture(scope="module", autouse=True)
def all_started(request: pytest.FixtureRequest, pairs: Pairs) -> None:
    """Start what the selected tests will ask for, so that two run at any time."""
    for item in request.session.items:
        probe = getattr(item, "callspec", None) and item.callspec.params.get("probe")
        if item.fspath == request.fspath and probe:
            pairs.start(VICTIMS[0], watched=True, fault=probe)


@pytest.mark.parametrize("probe", named_probes())
def test_broken_probe_is_noted_once_and_changes_nothing(probe: str, pairs: Pairs) -> None:
    for victim in VICTIMS:
        bare = pairs.run(victim, watched=False)
        watched = pairs.run(victim, watched=True, fault=probe)

        assert differences(bare, watched, swears="dying" not in victim) == []
        failed = [event.probe for event in watched.events if isinstance(event, ProbeFailed)]
        if failed:
            assert failed == [probe]
            return
    assert probe in ON_SUSPICION | IN_A_CHECK | WITH_SEVERAL_PROCESSES, (
        f"no program here meets the probe {probe!r}: name one in VICTIMS"
    )


@pytest.mark.parametrize(
    "part",
    [
        "torchwhy.observe.steps.gradients",
        "torchwhy.record.step_log",
        "torchwhy.observe.probes.forwards.modes",
        "torchwhy.replay.observing.quiet_steps",
        "torchwhy.replay.triggers.step_triggers",
    ],
)
@pytest.mark.parametrize("kind", ["pairs", "python_pairs"])
def test_fault_at_cruising_speed_changes_nothing(
    part: str, kind: str, request: pytest.FixtureRequest
) -> None:
    pairs: Pairs = request.getfixturevalue(kind)
    bare, watched = (
        pairs.run("breaks_while_cruising", watched=watched, arguments=(part,))
        for watched in (False, True)
    )

    assert bare.ended.exit_code == 0, bare.stderr
    assert differences(bare, watched) == []


def test_fault_inside_the_look_switches_the_microscope_off(pairs: Pairs) -> None:
    bare, watched = (pairs.run("blind_microscope", watched=watched) for watched in (False, True))

    assert differences(bare, watched) == []
    (failure,) = [event for event in watched.events if isinstance(event, ProbeFailed)]
    assert failure.probe == "microscope"
    assert "a fault inside the look" in failure.reason
    assert len([event for event in watched.events if isinstance(event, Step)]) == 4


def test_full_disk_does_not_disturb_training(pairs: Pairs) -> None:
    bare, watched = (pairs.run("full_disk", watched=watched) for watched in (False, True))

    assert differences(bare, watched) == []
    assert [event.step for event in watched.events if isinstance(event, Step)] == [0, 1, 2]
    assert not any(isinstance(event, RunEnded) for event in watched.events)
    assert any(
        "the recording stopped after 3 steps" in note
        for note in diagnose(watched.folder / "run").unseen
    )


def test_vanished_run_directory_does_not_disturb_training(pairs: Pairs) -> None:
    bare, watched = (pairs.run("no_run_directory", watched=watched) for watched in (False, True))

    assert differences(bare, watched) == []
    assert watched.events == []
