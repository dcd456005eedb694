"""The batch already held the NaN or infinity."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from torchwhy.detect.base import Detector
from torchwhy.detect.births import finding_from
from torchwhy.detect.cures import data, samples
from torchwhy.detect.edits import Source
from torchwhy.detect.sources import is_about_weights, sources, where_it_went, word
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import ArrayWarning, Birth
from torchwhy.record.trace import Trace

# What NumPy's warnings say, by what it then puts into the array.
WARNINGS_OF = {
    "nan": ("invalid value",),
    "inf": ("divide by zero", "overflow"),
    "-inf": ("divide by zero", "overflow"),
}


class NonfiniteData(Detector):
    """The data that came into the program already held a NaN or an infinity.

    ## What it finds

    A batch, or a tensor made from a NumPy array, that holds a NaN or infinity which then reached the loss,
    a gradient or a weight. It names the field of the batch, the sample, its index in the dataset, and the
    column; where NumPy itself warned, the line of data code that made the value.

    ## Why it breaks training

    No operation of the model is at fault, so looking for one is lost time: a missing value in a table, a
    division in a preprocessing script or a broken file gives one sample that spoils every weight.

    ## Broken

    One row of the dataset has a missing value, and the loader shuffles:

    ```python
    import numpy as np
    import torch
    from torch.utils.data import DataLoader, Dataset


    class Table(Dataset):
        def __init__(self):
            generator = np.random.default_rng(0)
            self.rows = generator.normal(size=(64, 4)).astype("float32")
            self.rows[37, 2] = np.nan

        def __len__(self):
            return len(self.rows)

        def __getitem__(self, index):
            return torch.from_numpy(self.rows[index]), torch.tensor(float(index % 2))


    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(Table(), batch_size=8, shuffle=True, num_workers=2)
    for epoch in range(2):
        for x, y in loader:  # <- nonfinite-data
            loss = (model(x).squeeze(1) - y).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```

    The features are normalised in NumPy by a deviation of zero, and NumPy's warning was overlooked:

    ```python
    import numpy as np
    import torch

    generator = np.random.default_rng(0)
    features = generator.normal(size=(32, 3))
    features[:, 1] = 5.0
    normalised = (features - features.mean(0)) / features.std(0)  # <- nonfinite-data

    torch.manual_seed(0)
    x = torch.tensor(normalised, dtype=torch.float32)
    y = torch.randn(32, 1)
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(5):
        loss = (model(x) - y).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    The labels are bad, and they come from a file:

    ```python
    import numpy as np
    import torch

    rows = ["1.0,2.0", "2.0,4.1", "3.0,", "4.0,7.9"]
    table = np.genfromtxt(rows, delimiter=",", dtype="float32")
    torch.manual_seed(0)
    x, y = torch.from_numpy(table).split(1, dim=1)  # <- nonfinite-data
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(5):
        loss = torch.nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Repaired

    ```python
    import numpy as np
    import torch
    from torch.utils.data import DataLoader, Dataset


    class Table(Dataset):
        def __init__(self):
            generator = np.random.default_rng(0)
            self.rows = generator.normal(size=(64, 4)).astype("float32")
            self.rows[37, 2] = np.nan
            self.rows = self.rows[np.isfinite(self.rows).all(axis=1)]

        def __len__(self):
            return len(self.rows)

        def __getitem__(self, index):
            return torch.from_numpy(self.rows[index]), torch.tensor(float(index % 2))


    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(Table(), batch_size=8, shuffle=True, num_workers=2)
    for epoch in range(2):
        for x, y in loader:
            loss = (model(x).squeeze(1) - y).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```

    ## Lookalike

    Missing targets are NaN by agreement, and the loss leaves them out:

    ```python
    import numpy as np
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    generator = np.random.default_rng(0)
    targets = generator.normal(size=(40, 2)).astype("float32")
    targets[::5, 1] = np.nan
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(40, 3), torch.from_numpy(targets))
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for x, y in DataLoader(data, batch_size=10):
        known = ~torch.isnan(y)
        loss = (model(x)[known] - y[known]).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Limits

    The line of data code is known only where NumPy warned or torch made the value; a NaN that pandas or a
    file brought is reported where it comes into the program.
    """

    name = "nonfinite-data"
    needs = frozenset({"birth", "batches", "array-warnings"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for birth in sources(trace, "batch", "array"):
            if not is_about_weights(trace, birth):
                yield self._finding(trace, birth)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from samples.numpy_in_domain(finding, source)
        yield from data.cleaned_batch(finding, source)
        yield from samples.skip_bad_batch(finding, source)

    def _finding(self, trace: Trace, birth: Birth) -> Finding:
        value, what, went = word(birth.value), _what(birth), where_it_went(birth)
        warning = _warning_before(trace, birth)
        message = f"{what} held {value} when it came into the program{_where_inside(birth)}; it went into {went}"
        evidence = [
            Evidence(
                f"{value} was there before any torch operation", value=birth.value, step=birth.step
            )
        ]
        if warning is not None:
            message = (
                f"NumPy computed {value} here ({warning.message}), and {what} brought it to {went}"
            )
            evidence.append(
                Evidence(
                    f"NumPy warned: {warning.message}", step=warning.step, location=warning.location
                )
            )
            evidence.append(
                Evidence(
                    "this is where it came into torch", step=birth.step, location=birth.location
                )
            )
        title = f"clean or drop the bad entries of {what} before training, for example where `torch.isfinite` is False"
        found = finding_from(trace, birth, detector=self.name, message=message, evidence=evidence)
        location = birth.location if warning is None else warning.location
        return replace(found, location=location, fixes=(Fix(title, safety="show-only"),))


def _what(birth: Birth) -> str:
    """Return which tensor it was: `batch["image"]`, `x`, `the array`."""
    if birth.field:
        return f"`{birth.field}`"
    if birth.origin_name:
        return f"`{birth.origin_name}`"
    return "the batch" if birth.origin == "batch" else "the array"


def _where_inside(birth: Birth) -> str:
    """Return sample, dataset index and column, as far as they are known."""
    parts = []
    if birth.positions:
        parts.append(f"sample {birth.positions[0]}")
    if birth.dataset_indices:
        parts.append(f"dataset index {birth.dataset_indices[0]}")
    index = (birth.output.first_bad_index if birth.output else None) or []
    inside = index[1:] if birth.positions else index
    if len(inside) == 1 and birth.positions:
        parts.append(f"column {inside[0]}")
    elif inside:
        parts.append(f"element {inside}")
    return f" ({', '.join(parts)})" if parts else ""


def _warning_before(trace: Trace, birth: Birth) -> ArrayWarning | None:
    """Return NumPy's own word about such a value, if it gave one before the value was used."""
    for source in (trace.rerun, trace):
        for warning in source.of(ArrayWarning) if source else []:
            fits = any(text in warning.message for text in WARNINGS_OF.get(str(birth.value), ()))
            if fits and warning.step <= birth.step:
                return warning
    return None
