"""Torch's own words in evidence are not cut before the point."""

from __future__ import annotations

from torchwhy.detect.views.crash.crash_evidence import first_line

REDUCER = (
    "Expected to have finished reduction in the prior iteration before starting a new one. This error indicates that "
    "your module has parameters that were not used in producing loss. You can enable unused parameter detection by "
    "passing the keyword argument `find_unused_parameters=True` to `torch.nn.parallel.DistributedDataParallel`, and "
    "by making sure all `forward` function outputs participate in calculating loss."
)


def test_a_long_message_ends_with_a_sentence():
    assert first_line(f"\n{REDUCER}\nmore").endswith("were not used in producing loss.")


def test_one_long_sentence_ends_with_a_word():
    assert first_line("word " * 200).endswith("word word …")


def test_a_message_of_usual_length_is_whole():
    assert first_line("size mismatch " * 20) == ("size mismatch " * 20).strip()
