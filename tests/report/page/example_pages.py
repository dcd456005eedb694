"""Pages for the tests: one with everything in it, one as large as a run gets, one in which every name is hostile."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from pathlib import Path

from tests.report.examples import DIRECTORY, PROGRAM, ROOT, SPAN, report
from tests.support.findings import said
from tests.support.traces import program
from torchwhy.finding import SourceSpan
from torchwhy.question import Check, Question
from torchwhy.record.crashes import Crash, NamedTensor, WalkStep
from torchwhy.record.events import (
    Alarm,
    Birth,
    Event,
    Operand,
    OptimizerDescribed,
    RunStarted,
    SampleValues,
    Step,
    TensorFacts,
    Weights,
)
from torchwhy.record.learning import Activation, Held, Holdings
from torchwhy.record.trace import Trace
from torchwhy.report.model import Report
from torchwhy.report.page.page_builder import Setting, build_page
from torchwhy.report.page.page_model import Page

FAILED_AT = 300
HOSTILE = (
    '</script><script>window.hacked=1</script><img src=x onerror="window.hacked=1">\'"`${1}\u202e'
)
WHOLE_PROGRAM = PROGRAM + "\n" * 36 + "    clip_grad_norm_(net)\n"


def birth() -> Birth:
    here = replace(SPAN, file="train.py")
    operand = Operand(
        name="squared",
        at_born=0.0,
        tensor=TensorFacts(dtype="float32", shape=[32], minimum=0.0, maximum=3.0, zeros=1),
        bins=[1, 2, 8, 13, 5, 2],
    )
    return Birth(
        id=1,
        step=FAILED_AT,
        kind="operation",
        phase="backward",
        op="aten.div.Tensor",
        location=here,
        called_from=SourceSpan(
            "train.py", 44, 44, 4, 24, "main", expression="clip_grad_norm_(net)"
        ),
        operands=[operand, Operand(argument="alpha", scalar=2.0)],
        reaches=["gradient of fc.weight"],
    )


def events() -> list[Event]:
    steps = [
        Step(
            step=i,
            optimizer=0,
            losses=["nan" if i == FAILED_AT else round(1 / (i + 1), 6)],
            milliseconds=2.0,
            learning_rates={0: [0.1], 150: [0.01]}.get(i),
        )
        for i in range(FAILED_AT + 1)
    ]
    weights = [
        Weights(
            step=i,
            optimizer=0,
            names=["fc.weight", "fc.bias"],
            weight_rms=[1.0, 0.5],
            gradient_rms=["inf" if i == FAILED_AT else 0.5, 0.25],
        )
        for i in (0, 1, 2, 50, 100, FAILED_AT)
    ]
    activations = [
        Activation(step=i, op="relu", order=1, module="net.act", zeros=0.5, rms=0.1 * (i + 1))
        for i in (0, 25)
    ]
    holdings = [
        Holdings(
            step=i,
            held=[Held(name="history", kind="list", tensors=i, with_graph=i, bytes=4_000_000 * i)],
            resident_bytes=300_000_000 + 4_000_000 * i,
        )
        for i in (2, 4, 8)
    ]
    values = SampleValues(
        step=FAILED_AT,
        field="batch[0]",
        dtype="float32",
        shape=[1, 9, 9],
        every=[1, 1, 1],
        position=7,
        bad=[*(float(i) for i in range(80)), "nan"],
        good_position=6,
        good=[float(i) for i in range(81)],
    )
    return [
        RunStarted(
            schema=1,
            pid=1,
            rank=0,
            world_size=1,
            argv=["train.py"],
            directory=str(DIRECTORY),
            python="3.11.7",
            torch="2.13.0",
            started_unix_seconds=0.0,
        ),
        program(WHOLE_PROGRAM),
        OptimizerDescribed(
            index=0, parameters=["fc.weight", "fc.bias"], shapes=[[4, 4], [4]], dtypes=["", ""]
        ),
        *steps,
        *weights,
        *activations,
        *holdings,
        Alarm(step=FAILED_AT, optimizer=0, what="gradient", losses=[]),
        birth(),
        values,
    ]


def full_report() -> Report:
    checks = (
        Check(Question("falls", "does the loss fall?"), "yes", said("it fell from 1 to 0.003")),
        Check(
            Question("eval", "is it evaluated in eval mode?"),
            "could-not-ask",
            reason="no evaluation",
        ),
        Check(Question("finite", "is all finite?"), "no", causes=("root-gradient-at-zero",)),
    )
    fix = ROOT.fixes[0]
    trial = replace(fix.trial, before_losses=(1.0, 0.5, 0.4), after_losses=(1.0, 0.4, 0.2))
    root = replace(ROOT, fixes=(replace(fix, trial=trial), *ROOT.fixes[1:]))
    made = report()
    place = replace(SPAN, file="train.py")
    return replace(
        made, findings=(replace(root, location=place), *made.findings[1:]), checks=checks
    )


def full_page() -> Page:
    other_rank = Trace((Step(step=4, optimizer=0, losses=[1.0], milliseconds=1.0),), rank=1)
    return build_page(
        full_report(), [Trace(tuple(events())), other_rank], Setting(Path("/nowhere"))
    )


def crash() -> Crash:
    return Crash(
        step=3,
        type="RuntimeError",
        message="mat1 and mat2 shapes cannot be multiplied (8x5 and 4x2)",
        location=SourceSpan("train.py", 7, 7, 15, 34, "distance", expression="torch.sqrt(squared)"),
        operands=[NamedTensor(name="squared", shape=[8, 5], dtype="float32")],
        walk=[WalkStep(what="input", shape=[8, 5], dtype="float32")],
    )


@cache
def large_page(layers: int = 1000) -> Page:
    """Return the page of a run of a million steps, of which the record keeps some sixteen thousand."""
    names = [f"encoder.layers.{i // 4}.attention.{'qkvo'[i % 4]}.weight" for i in range(layers)]
    steps = [
        Step(step=i * 62, optimizer=0, losses=[1 + math.sin(i) / (1 + i)], milliseconds=1.0)
        for i in range(16_000)
    ]
    weights = [
        Weights(step=i * 3300, optimizer=0, names=names, weight_rms=[1.0] * layers,
                gradient_rms=[1e-3 * (1 + (i * k) % 97) for k in range(layers)])
        for i in range(300)
    ]  # fmt: skip
    activations = [
        Activation(step=step, op="gelu", order=k, module=names[k], zeros=k / layers, rms=1.0 + k)
        for step in (0, 25, 100)
        for k in range(layers)
    ]
    trace = Trace((*steps, *weights, *activations))
    return build_page(full_report(), [trace], Setting(Path("/nowhere")))


def hostile_page() -> Page:
    """Return a page on which everything that a program can name is an attempt to leave its place."""
    bad = HOSTILE
    span = SourceSpan(f"{bad}.py", 2, 2, 0, 40, bad, bad, None)
    evil = replace(ROOT, diagnosis=said(bad), location=span, symptom_at=None, explains=())
    evil = replace(
        evil,
        evidence=(replace(ROOT.evidence[0], claim=bad),),
        fixes=(replace(full_report().findings[0].fixes[0], title=bad, diff=f"+{bad}"),),
    )
    made = replace(
        full_report(),
        command=("train.py", bad),
        findings=(evil, replace(evil, detector="other")),
        notes=(bad,),
        checks=(Check(Question("q", bad), "no", said(bad)),),
    )
    operand = replace_operand(birth().operands[0], bad)
    evil_birth = Birth(
        **{**{f: getattr(birth(), f) for f in birth().__struct_fields__},
           "operands": [operand], "location": span, "reaches": [bad]}
    )  # fmt: skip
    layers = [
        Weights(step=i, optimizer=0, names=[bad], weight_rms=[1.0], gradient_rms=[1.0])
        for i in range(3)
    ]
    held = [
        Holdings(step=i, resident_bytes=1,
                 held=[Held(name=bad, kind=bad, tensors=1, with_graph=1, bytes=i)])
        for i in range(3)
    ]  # fmt: skip
    values = SampleValues(
        step=300, field=bad, dtype=bad, shape=[1], every=[1], position=0, bad=[1.0],
        good_position=1, good=[1.0],
    )  # fmt: skip
    trace = Trace((program(f"import torch\n{bad}\n", f"{bad}.py"), *events()[3:304], *layers, *held,
                   Alarm(step=300, optimizer=0, what="loss", losses=[]), evil_birth, values))  # fmt: skip
    return build_page(made, [trace], Setting(Path("/nowhere"), run=bad))


def replace_operand(operand: Operand, name: str) -> Operand:
    fields = {field: getattr(operand, field) for field in operand.__struct_fields__}
    return Operand(**{**fields, "name": name})
