"""Every cause is listed in exactly one group, by what the user sees of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchwhy.detect import causes
from torchwhy.detect.base import Detector
from torchwhy.detect.manuals.symptoms import OF_FAMILY, TITLES
from torchwhy.detect.registry import all_detectors

DETECTORS = all_detectors()


@pytest.mark.parametrize("detector", DETECTORS.values(), ids=DETECTORS)
def test_a_cause_is_in_one_of_the_five_groups(detector: type[Detector]):
    assert detector.shows_as() in set(TITLES) - {"other"}


@pytest.mark.parametrize("detector", DETECTORS.values(), ids=DETECTORS)
def test_a_cause_names_its_symptom_only_where_the_family_has_another(detector: type[Detector]):
    family = detector.__module__.split(".")[3]

    assert detector.symptom != OF_FAMILY[family]


def test_every_family_has_a_symptom():
    folders = {path.parent.name for path in Path(causes.__path__[0]).glob("*/__init__.py")}

    assert set(OF_FAMILY) == folders


def test_a_cause_of_another_package_has_a_group_of_its_own():
    foreign = type("Foreign", (Detector,), {"__module__": "their_package.cause"})

    assert foreign.shows_as() == "other"
