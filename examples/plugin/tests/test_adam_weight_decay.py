"""Every program of the manual page is run for real and must give what the page says."""

import json
import subprocess
import sys

import pytest
from torchwhy_adam_decay.adam_weight_decay import AdamWeightDecay

from torchwhy.detect.registry import all_detectors

PROGRAMS = AdamWeightDecay.programs()


def test_torchwhy_knows_the_cause():
    assert all_detectors()["adam-weight-decay"] is AdamWeightDecay


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: f"{one.section}-{one.number}")
def test_the_program_gives_what_the_page_says(program, tmp_path):
    (tmp_path / "train.py").write_text(program.text)

    words = [sys.executable, "-m", "torchwhy", "run", "--quiet", "--json", "why.json", "train.py"]
    subprocess.run(words, cwd=tmp_path, check=True)

    findings = json.loads((tmp_path / "why.json").read_text())["findings"]
    places = [(one["detector"], one["location"]["line"]) for one in findings]
    line = program.marked_line
    assert places == ([] if line is None else [("adam-weight-decay", line)])
