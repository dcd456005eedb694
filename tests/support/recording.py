"""A stand-in for the recording that writes a trace of our choice, so that all behind it can be tried."""

from __future__ import annotations

from torchwhy.finding import SourceSpan
from torchwhy.record.events import (
    Alarm,
    Birth,
    Event,
    Operand,
    OptimizerMade,
    Replayed,
    Step,
    TensorFacts,
)

# Writes the events that `events(run)` in the user's own sitecustomize returns.
RECORDING_WIRE = """
import json, os, sys, types
wire = types.ModuleType("torchwhy.observe.boot.wire")
def begin(run_directory):
    from pathlib import Path
    from tests.support import recording
    import msgspec
    run = json.loads(Path(run_directory, "run.json").read_text())
    with Path(run_directory, "rank0.jsonl").open("wb") as trace:
        for event in getattr(recording, {name!r})(run["rerun"]):
            trace.write(msgspec.json.encode(event) + b"\\n")
wire.begin = begin
sys.modules["torchwhy.observe.boot.wire"] = wire
"""


def steps(count: int) -> list[Event]:
    return [Step(step=n, optimizer=0, losses=[1.0], milliseconds=2.0) for n in range(count)]


def birth(step: int) -> Birth:
    operand = Operand(
        name="p", tensor=TensorFacts(dtype="float32", shape=[8]), at_born=0.0, born_minimum=0.0
    )
    return Birth(
        id=1,
        step=step,
        kind="operation",
        phase="forward",
        op="aten.log.default",
        location=SourceSpan("train.py", 2, 2, 7, 19, "<module>", None, "torch.log(p)"),
        operands=[operand],
        output=TensorFacts(dtype="float32", shape=[8], negative_infinity=1, first_bad_index=[3]),
        value="-inf",
        count=1,
        reaches=["loss"],
        positions=[3],
    )


def alarm(step: int) -> Alarm:
    return Alarm(step=step, optimizer=0, what="loss", losses=["-inf"], withheld=True)


def healthy(_rerun: object) -> list[Event]:
    return steps(12)


def not_learning(_rerun: object) -> list[Event]:
    made = OptimizerMade(index=0, kind="SGD", defaults={"lr": 0.1})
    return [made, *steps(60)]


def replayed_in_place(_rerun: object) -> list[Event]:
    seen = Replayed(step=4, how="in-place", reproduced=True)
    return [*steps(5), alarm(4), birth(4), seen]


def seen_only_when_run_again(rerun: object) -> list[Event]:
    if rerun is None:
        return [*steps(5), alarm(4)]
    assert rerun == {"step": 4}
    return [*steps(4), birth(4), Replayed(step=4, how="rerun", reproduced=True)]


def never_seen(_rerun: object) -> list[Event]:
    return [*steps(5), alarm(4)]
