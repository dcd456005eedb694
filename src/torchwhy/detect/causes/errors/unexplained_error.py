from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.models import graphs
from torchwhy.detect.fixes.training import building
from torchwhy.detect.rules.torch_messages import ADVICE
from torchwhy.detect.views.crash.crash_facts import (
    crashes,
    expression_of,
    finding_of,
    first_line,
    idea,
    layer_of,
    operand_evidence,
    says,
    tensor_line,
    walk_evidence,
)
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Crash
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

VARIABLES_SHOWN = 4
# These end a program on purpose, or by the user's hand.
ENDINGS = ("KeyboardInterrupt", "SystemExit", "GeneratorExit")


class UnexplainedError(Detector):
    """The program died of an exception that no other page explains."""

    name = "unexplained-error"
    needs = frozenset({"crash"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            if crash.type in ENDINGS or not _concerns_torch(crash) or "hidden_in" in crash.facts:
                continue
            yield finding_of(
                trace,
                crash,
                detector=self.name,
                message=_message(crash),
                evidence=[*_tensors(crash), *walk_evidence(crash)],
                location=crash.places.get("forward"),
                fixes=list(_advice(crash)),
            )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from graphs.read_without_graph(finding, source)
        yield from building.initialised(finding, source)


def _advice(crash: Crash) -> Iterator[Fix]:
    """Yield what to do about errors of torch that every newcomer meets once."""
    if "returns_nothing" in crash.facts:
        yield idea("let `forward` return its result: `return …` as its last line")
    for pattern, sentence in ADVICE:
        if says(crash, pattern):
            yield idea(sentence)
            return


def _concerns_torch(crash: Crash) -> bool:
    """Tell whether tensors, modules, a loader or torch itself had a part in it."""
    if crash.raised_by == "torch" or crash.worker is not None or crash.layers:
        return True
    if _unpacked(crash) is not None or "returns_nothing" in crash.facts:
        return True
    return bool(crash.operands or crash.inputs or "index" in crash.facts)


def _message(crash: Crash) -> str:
    index = crash.facts.get("index")
    if crash.facts.get("is_none") and isinstance(index, float):
        return f"sample {index:g} of the dataset is None, and no batch can be made of it"
    if "missing_key" in crash.facts and isinstance(index, float):
        return (
            f"sample {index:g} of the dataset has no {crash.facts['missing_key']}, which sample "
            f"{crash.facts['first_index']:g} has, so no batch can be made of them"
        )
    if "indices" in crash.facts and not crash.facts.get("data_code"):
        return f"the DataLoader could not make a batch of its samples: {crash.type}: {first_line(crash.message)}"
    unpacked = _unpacked(crash)
    if unpacked is not None:
        return unpacked
    if "returns_nothing" in crash.facts:
        return (
            f"`{crash.facts['returns_nothing']}` returns nothing: its forward ends without a `return`, so there is "
            f"only None in `{expression_of(crash)}`"
        )
    layer = layer_of(crash)
    where = f" in `{layer.path}`" if layer is not None else ""
    worker = " in a worker process of the DataLoader" if crash.worker is not None else ""
    return f"`{expression_of(crash)}`{where} raised {crash.type}{worker}: {_words(crash)}"


def _words(crash: Crash) -> str:
    """Return what the exception says: of a list of keys that do not fit, the keys."""
    lines = [line.strip() for line in crash.message.splitlines()]
    keys = [line for line in lines if says_keys(line)]
    return first_line("; ".join(keys)) if keys else first_line(crash.message)


def says_keys(line: str) -> bool:
    """Tell whether a line of `load_state_dict` names keys or sizes that do not fit."""
    return line.startswith(("Missing key", "Unexpected key", "size mismatch for"))


def _unpacked(crash: Crash) -> str | None:
    """Return how many parts a batch has, if the loop over a loader takes it apart into another number."""
    loader = crash.loader
    wrong = says(crash, r"values to unpack \(expected (\d+)")
    at_loader = (
        loader is not None
        and loader.location is not None
        and crash.location is not None
        and loader.location.line == crash.location.line
    )
    if wrong is None or loader is None or not at_loader:
        return None
    parts = len(loader.last_batch)
    return (
        f"a batch of this DataLoader has {parts} {'part' if parts == 1 else 'parts'} "
        f"({', '.join(loader.last_batch)}), and `{expression_of(crash)}` takes {wrong[1]}"
    )


def _tensors(crash: Crash) -> list[Evidence]:
    """Return the tensors of the failing expression, or else of the frame around it."""
    found = operand_evidence(crash)
    if found or not crash.frames:
        return found
    return [Evidence(tensor_line(tensor)) for tensor in crash.frames[-1].tensors[:VARIABLES_SHOWN]]
