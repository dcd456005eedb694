"""Which sizes would fit in place of those that a reshape asks for."""

from __future__ import annotations

import pytest

from torchwhy.detect.causes.errors.reshape_size_mismatch import nearest_fit


@pytest.mark.parametrize(
    ("asked", "shape", "fitting"),
    [
        ([32, 256], [32, 16, 5, 5], [32, 400]),  # the batch is right, the features are not
        ([32, 400], [20, 16, 5, 5], [20, 400]),  # the other way round
        ([-1, 400], [6, 16, 4, 4], [6, 256]),
        ([4, 7, 3, 6], [4, 7, 20], None),  # 20 is no multiple of 3 heads
        ([32, 7, 7], [784], [16, 7, 7]),
    ],
)
def test_nearest_fit_keeps_what_is_right(
    asked: list[int], shape: list[int], fitting: list[int] | None
):
    assert nearest_fit(asked, shape) == fitting
