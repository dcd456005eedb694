"""A report whose every text comes from a program that wants to steer what shows it."""

from __future__ import annotations

from pathlib import Path

from tests.support.findings import said
from torchwhy.finding import Evidence, Finding, Fix, SourceSpan
from torchwhy.question import Check, Question
from torchwhy.report.formats.told import Setting
from torchwhy.report.model import Report

EVIL = (
    "x\x1b[31m\r\n::error::owned\n# Title\n<script>alert(1)</script> ]]> &lt; [click](http://evil.example) "
    "@everyone #12 GH-7 ```\n``` | $a$ \ud800 \uffff \u202e 100% :rocket:"
)
WHERE = SourceSpan(
    "a dir/träin,1:2.py", 3, 3, 0, 4, function="<lambda>", module=EVIL, expression=EVIL
)
SETTING = Setting(Path("/home/ada"), Path("/home/ada"), version="1")


def hostile_report() -> Report:
    finding = Finding(
        "nan-in-batch",
        "error",
        said(EVIL),
        step=3,
        location=WHERE,
        evidence=(Evidence(EVIL, location=SourceSpan("/else/where.py", 9)),),
        effect="training-broke",
        fixes=(Fix(EVIL, diff=f"--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+{EVIL[:8]}```\n"),),
    )
    checks = (
        Check(Question("data-finite", EVIL), "no", causes=("nan-in-batch",)),
        Check(Question("odd", EVIL), "could-not-ask", reason=EVIL),
    )
    return Report((EVIL,), 4, (finding,), notes=(EVIL,), checks=checks)
