"""A NumPy array that is read backwards, handed to torch."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.crashes import crashes, expression_of, finding_of, idea, operand_evidence, says
from torchwhy.detect.cures import statements
from torchwhy.detect.edits import Source
from torchwhy.detect.judging import short
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Crash
from torchwhy.record.trace import Trace

NEGATIVE = r"stride in the given numpy array is negative"


class NegativeStrides(Detector):
    """A reversed NumPy array was turned into a tensor.

    ## What it finds

    An array that was turned round with `[::-1]`, `np.flip`, `np.fliplr` or `np.rot90` and then given to
    `torch.from_numpy`, `torch.tensor` or a DataLoader's collation.

    ## Why it breaks training

    NumPy reverses an array without touching its memory: it only walks backwards. Tensors cannot walk
    backwards, so the array has to be copied first.

    ## Broken

    ```python
    import numpy as np
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    rows = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)
    for step in range(3):
        mirrored = np.flip(rows, axis=1)
        x = torch.from_numpy(mirrored)  # <- negative-strides
        loss = model(x).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    In a dataset, where torch meets the array only when it collates:

    ```python
    import numpy as np
    import torch
    from torch.utils.data import DataLoader, Dataset


    class Images(Dataset):
        def __len__(self):
            return 8

        def __getitem__(self, index):
            image = np.full((3, 4, 4), index, dtype=np.float32)
            if index == 5:
                image = image[:, :, ::-1]  # <- negative-strides
            return image, index


    torch.manual_seed(0)
    model = torch.nn.Conv2d(3, 2, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    for images, _ in DataLoader(Images(), batch_size=4):
        loss = model(images).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Repaired

    ```python
    import numpy as np
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    rows = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)
    for step in range(3):
        mirrored = np.flip(rows, axis=1)
        x = torch.from_numpy(mirrored.copy())
        loss = model(x).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Lookalike

    Reversed with torch, and reversed twice.

    ```python
    import numpy as np
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    rows = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)
    for step in range(3):
        x = torch.flip(torch.from_numpy(rows), dims=(1,)) + torch.from_numpy(rows[::-1][::-1])
        loss = model(x).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Limits

    The expression that turned the array round is looked for in the function that failed and in the dataset's
    methods; one in a library's augmentation is told as the line that handed the array to torch.
    """

    name = "negative-strides"
    needs = frozenset({"crash"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            if says(crash, NEGATIVE):
                turned = crash.places.get("turned")
                in_dataset = "indices" in crash.facts and "index" not in crash.facts
                yield finding_of(
                    trace,
                    crash,
                    detector=self.name,
                    message=_message(crash, in_dataset=in_dataset),
                    evidence=[*_evidence(crash), *operand_evidence(crash)],
                    location=turned if in_dataset else None,
                    fixes=[idea(_advice(crash, in_dataset=in_dataset))],
                )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from statements.copied_array(finding, source)


def _message(crash: Crash, *, in_dataset: bool) -> str:
    turned = crash.places.get("turned")
    if turned is not None and in_dataset:
        return (
            f"the dataset returns an array that `{short(turned.expression or '')}` has turned round without copying "
            "it, and a tensor cannot be read backwards"
        )
    if (
        turned is not None
        and turned.expression
        and crash.location is not None
        and turned.line != crash.location.line
    ):
        return (
            f"`{expression_of(crash)}` gets an array that `{short(turned.expression)}` has turned round without "
            "copying it, and a tensor cannot be read backwards"
        )
    return f"`{expression_of(crash)}` gets a reversed array, and a tensor cannot be read backwards"


def _evidence(crash: Crash) -> Iterator[Evidence]:
    if "turned" in crash.places:
        yield Evidence("the array is turned round here", location=crash.places["turned"])
    if isinstance(crash.facts.get("reversed"), str):
        yield Evidence(f"it is the part {crash.facts['reversed']} of a sample")


def _advice(crash: Crash, *, in_dataset: bool) -> str:
    turned = crash.places.get("turned")
    if turned is not None and turned.expression and in_dataset:
        return f"copy it: `{short(turned.expression)}.copy()`"
    return "copy the array before torch gets it: `array.copy()` or `np.ascontiguousarray(array)`"
