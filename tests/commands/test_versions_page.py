"""The page about versions lists what the table of private names holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchwhy.observe.torch_features.feature import OLDEST_TORCH
from torchwhy.observe.torch_features.table import FEATURES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "versions.md"


@pytest.mark.parametrize("feature", FEATURES.values(), ids=lambda feature: feature.name)
def test_the_page_has_the_names_and_the_release_of_a_feature(feature):
    names = ", ".join(f"`{name}`" for name in feature.names)
    release = (feature.since or OLDEST_TORCH).removeprefix("torch ") if feature.in_releases else "–"

    assert (
        f"| {feature.name} | {names} | {release} |" in PAGE.read_text(encoding="utf8").splitlines()
    )
