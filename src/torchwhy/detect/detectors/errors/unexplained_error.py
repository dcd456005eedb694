"""Any other exception: the user's line, the tensors on it, and the way of the shapes up to it."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.crashes import (
    crashes,
    expression_of,
    finding_of,
    first_line,
    layer_of,
    operand_evidence,
    tensor_line,
    walk_evidence,
)
from torchwhy.finding import Evidence, Finding
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
            if crash.type in ENDINGS or not _concerns_torch(crash):
                continue
            yield finding_of(
                trace,
                crash,
                detector=self.name,
                message=_message(crash),
                evidence=[*_tensors(crash), *walk_evidence(crash)],
            )


def _concerns_torch(crash: Crash) -> bool:
    """Tell whether tensors, modules, a loader or torch itself had a part in it."""
    if crash.raised_by == "torch" or crash.worker is not None or crash.layers:
        return True
    return bool(crash.operands or crash.inputs or "index" in crash.facts)


def _message(crash: Crash) -> str:
    index = crash.facts.get("index")
    if crash.facts.get("is_none") and isinstance(index, float):
        return f"sample {index:g} of the dataset is None, and no batch can be made of it"
    if "indices" in crash.facts and not crash.facts.get("data_code"):
        return f"the DataLoader could not make a batch of its samples: {crash.type}: {first_line(crash.message)}"
    layer = layer_of(crash)
    where = f" in `{layer.path}`" if layer is not None else ""
    worker = " in a worker process of the DataLoader" if crash.worker is not None else ""
    return (
        f"`{expression_of(crash)}`{where} raised {crash.type}{worker}: {first_line(crash.message)}"
    )


def _tensors(crash: Crash) -> list[Evidence]:
    """Return the tensors of the failing expression, or else of the frame around it."""
    found = operand_evidence(crash)
    if found or not crash.frames:
        return found
    return [Evidence(tensor_line(tensor)) for tensor in crash.frames[-1].tensors[:VARIABLES_SHOWN]]
