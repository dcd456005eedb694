"""Any other exception: the user's line, the tensors on it, and the way of the shapes up to it."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.crashes import (
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
from torchwhy.detect.cures import building, graphs
from torchwhy.detect.edits import Source
from torchwhy.detect.known_messages import ADVICE
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Crash
from torchwhy.record.trace import Trace

VARIABLES_SHOWN = 4
# These end a program on purpose, or by the user's hand.
ENDINGS = ("KeyboardInterrupt", "SystemExit", "GeneratorExit")


class UnexplainedError(Detector):
    """The program died of an exception that no other page explains.

    ## What it finds

    Any exception that comes out of torch, or out of the program's use of tensors and modules, and fits none of
    the other causes: told are the program's own line, the tensors on it by name with shape and type, the layer,
    the shapes on the way there, and for the data loader the sample. An exception that the program itself raises
    is its own business and is not reported.

    ## Why it breaks training

    An exception that nobody handles ends the program, and with it the training.

    ## Broken

    ```python
    import torch


    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.heads = torch.nn.ModuleDict({"left": torch.nn.Linear(4, 1), "right": torch.nn.Linear(4, 1)})

        def forward(self, x, side):
            return self.heads[side](x)  # <- unexplained-error


    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for side in ["left", "right", "middle"]:
        loss = model(torch.randn(6, 4), side).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ```python
    import torch


    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = torch.nn.Linear(4, 8)

        def forward(self, x):
            hidden = torch.relu(self.first(x))
            return self.second(hidden)  # <- unexplained-error


    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss = model(torch.randn(6, 4)).mean()
    loss.backward()
    optimizer.step()
    ```

    What many meet on their first day, and torch's own words do not cure; some of these have a sentence of advice:

    ```python
    import torch


    class Net(torch.nn.Module):
        def __init__(self):
            self.first = torch.nn.Linear(4, 1)  # <- unexplained-error

        def forward(self, x):
            return self.first(x)


    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(20):
        x = torch.randn(16, 4)
        loss = (model(x) - x[:, :1]).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    In a worker process of a loader:

    ```python
    import torch
    from torch.utils.data import DataLoader, Dataset


    class Table(Dataset):
        rows = {number: torch.full((3,), float(number)) for number in range(10) if number != 6}

        def __len__(self):
            return 10

        def __getitem__(self, index):
            return self.rows[index]  # <- unexplained-error


    def main():
        model = torch.nn.Linear(3, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
        for x in DataLoader(Table(), batch_size=2, num_workers=1):
            loss = model(x).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


    if __name__ == "__main__":
        main()
    ```

    ## Repaired

    ```python
    import torch


    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = torch.nn.Linear(4, 8)
            self.second = torch.nn.Linear(8, 1)

        def forward(self, x):
            hidden = torch.relu(self.first(x))
            return self.second(hidden)


    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss = model(torch.randn(6, 4)).mean()
    loss.backward()
    optimizer.step()
    ```

    ## Lookalike

    Exceptions that a program raises and handles for its own purposes.

    ```python
    import torch


    class EarlyStop(Exception):
        pass


    def watch(loss, best):
        if loss > 10 * best:
            raise EarlyStop
        return min(loss, best)


    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    cache = {}
    best = float("inf")
    try:
        for step in range(8):
            try:
                x = cache[step % 2]
            except KeyError:
                x = cache[step % 2] = torch.randn(6, 4)
            loss = model(x).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            best = watch(loss.item(), best)
    except EarlyStop:
        print("stopped")
    ```

    ## Limits

    It says where and with what, not why. If you know the cause, please tell us: it deserves a page of its own.
    """

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
