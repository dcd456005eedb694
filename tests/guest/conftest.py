"""The runs that the guest tests compare."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.guest.pairs import Pairs


@pytest.fixture(scope="package")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pairs]:
    """Give the runner of pairs, one for all guest tests: each run is made once."""
    runner = Pairs(tmp_path_factory.mktemp("guest"))
    yield runner
    runner.close()


@pytest.fixture(scope="package")
def python_pairs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pairs]:
    """Give the same without the accelerator, as where there is no compiler."""
    runner = Pairs(tmp_path_factory.mktemp("python"), native=False)
    yield runner
    runner.close()
