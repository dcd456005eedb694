"""Which sample of a batch raised is told from the frames of a traceback, on every Python."""

from __future__ import annotations

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from torchwhy.replay.crash.frames.traceback_frames import frames_of
from torchwhy.replay.crash.hidden import fetching
from torchwhy.source import files


@pytest.fixture(autouse=True)
def torch_is_known():
    files.remember_torch(torch.__file__)


class Rows(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return torch.ones(6)[index]


class TurnedRows(Rows):
    """Has another meaning for its variable by the time it raises."""

    def __getitem__(self, index):
        index = 13 - index
        return torch.ones(8)[index]


def facts_of(dataset):
    with pytest.raises(IndexError) as caught:
        list(DataLoader(dataset, batch_size=4))
    return fetching.look(frames_of(caught.value.__traceback__), None).facts


def test_the_index_is_what_getitem_was_called_with():
    facts = facts_of(Rows())

    assert facts["indices"] == [4, 5, 6, 7]
    assert facts["index"] == 6.0


def test_a_variable_that_was_set_anew_is_no_index():
    assert facts_of(TurnedRows()).get("index") in (0.0, None)
