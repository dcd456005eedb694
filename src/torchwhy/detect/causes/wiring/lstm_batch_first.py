"""A recurrent or attention layer that takes the batch for time."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.cures import modules
from torchwhy.detect.edits import Source
from torchwhy.detect.graph import ForwardGraph, base_of, expression_of
from torchwhy.detect.samples import SamplesAnswer, TimeFirst, samples_answer, time_first_layer
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import ModuleCalled
from torchwhy.record.learning import GraphOperation
from torchwhy.record.trace import Trace

RECURS = {"LSTM": "recurs", "GRU": "recurs", "RNN": "recurs"}


class LstmBatchFirst(Detector):
    """A recurrent or attention layer runs over the samples of the batch, because `batch_first` was forgotten.

    ## What it finds

    An `LSTM`, `GRU`, `RNN`, `MultiheadAttention` or transformer layer with `batch_first=False` is given a tensor whose
    first dimension is the batch. It was tried: with sample 0 changed, the live model's outputs of other samples moved.

    ## Why it breaks training

    These layers take the first dimension for time. Given (batch, time, features) they carry their memory from one
    sample to the next and treat the moments of a sequence as if they had nothing to do with each other: the order in
    the sequence is never learned, and a prediction depends on who else is in the batch.

    ## Broken

    ```python
    import torch
    from torch import nn


    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = nn.LSTM(5, 16)  # <- lstm-batch-first
            self.out = nn.Linear(16, 2)

        def forward(self, x):
            states, _ = self.rnn(x)
            return self.out(states[:, -1])


    torch.manual_seed(0)
    model = Classifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(30):
        x = torch.randn(16, 9, 5)
        y = (x.sum(dim=1)[:, 0] > 0).long()
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ```python
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset


    class Tagger(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(30, 16)
            layer = nn.TransformerEncoderLayer(16, nhead=2, dim_feedforward=32)  # <- lstm-batch-first
            self.encoder = nn.TransformerEncoder(layer, num_layers=2, enable_nested_tensor=False)
            self.out = nn.Linear(16, 3)

        def forward(self, tokens):
            return self.out(self.encoder(self.embed(tokens)))


    torch.manual_seed(0)
    tokens = torch.randint(0, 30, (160, 7))
    loader = DataLoader(TensorDataset(tokens, tokens % 3), batch_size=20)
    model = Tagger()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x).transpose(1, 2), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ```python
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)


    class Table(nn.Module):
        def __init__(self, hidden):
            super().__init__()
            self.gru = nn.GRU(input_size=6, hidden_size=hidden)  # <- lstm-batch-first
            self.head = nn.Linear(hidden, 1)

        def forward(self, rows):
            states, _ = self.gru(rows)
            return self.head(states)


    x = torch.randn(320, 6)
    loader = DataLoader(TensorDataset(x, x.sum(dim=1, keepdim=True)), batch_size=32, shuffle=True)
    model = Table(hidden=12)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for rows, targets in loader:
        loss = nn.functional.mse_loss(model(rows), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Repaired

    ```python
    import torch
    from torch import nn


    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = nn.LSTM(5, 16, batch_first=True)
            self.out = nn.Linear(16, 2)

        def forward(self, x):
            states, _ = self.rnn(x)
            return self.out(states[:, -1])


    torch.manual_seed(0)
    model = Classifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(30):
        x = torch.randn(16, 9, 5)
        y = (x.sum(dim=1)[:, 0] > 0).long()
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Lookalike

    Time first on purpose: the batch is turned before it goes in, and one long sequence has no batch at all.

    ```python
    import torch
    from torch import nn


    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = nn.LSTM(5, 16)
            self.out = nn.Linear(16, 2)

        def forward(self, x):
            states, _ = self.rnn(x.transpose(0, 1))
            return self.out(states[-1])


    torch.manual_seed(0)
    model = Classifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(30):
        x = torch.randn(16, 9, 5)
        y = (x.sum(dim=1)[:, 0] > 0).long()
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ```python
    import torch
    from torch import nn


    class Labeller(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(20, 8)
            self.rnn = nn.LSTM(8, 16)
            self.out = nn.Linear(16, 4)

        def forward(self, sentence):
            states, _ = self.rnn(self.embed(sentence).view(len(sentence), 1, -1))
            return self.out(states.view(len(sentence), -1))


    torch.manual_seed(0)
    model = Labeller()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(30):
        sentence = torch.randint(0, 20, (11,))
        loss = nn.functional.cross_entropy(model(sentence), sentence % 4)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Limits

    Where input and output are both (time, batch, …) or (batch, time, …) nobody can tell which is which, unless a
    DataLoader with torch's own collate function made the batch. Compiled and distributed models are not tried.
    """

    name = "lstm-batch-first"
    needs = frozenset({"experiment"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        answer = samples_answer(trace)
        if answer is not None and takes_batch_for_time(answer):
            yield self._tried(trace, answer)
        elif answer is None:
            layer = time_first_layer(trace)
            yield from self._read_off(trace, layer) if layer is not None else ()

    def _tried(self, trace: Trace, answer: SamplesAnswer) -> Finding:
        kind, given = answer.layer_kind or "layer", answer.layer_input or []
        called = _call_of(trace, answer.layer)
        where = called.location if called is not None else None
        does = RECURS.get(kind, "attends")
        return Finding(
            detector=self.name,
            severity="error",
            message=f"`{answer.layer}` ({kind}) takes its input {given} as (time, batch, …) "
            f"and {does} over the {answer.rows} samples of the batch",
            step=0,
            rank=trace.rank,
            location=answer.layer_made or where,
            evidence=(
                answer.proof,
                Evidence(
                    f"`{answer.layer}` has batch_first=False and was called with shape {given}",
                    step=0,
                    location=where,
                ),
            ),
            certainty="replayed",
            fixes=(_fix(kind),),
        )

    def _read_off(self, trace: Trace, layer: TimeFirst) -> Iterator[Finding]:
        """Judge by what is taken of the layer's states: the last of dimension 1, which is the last sample."""
        taken = last_of_second_dimension(ForwardGraph(trace), layer.layer)
        called = _call_of(trace, layer.layer)
        if taken is None or called is None:
            return
        shape = taken.input_shapes[0]
        what = expression_of(taken.location, "a selection")
        yield Finding(
            detector=self.name,
            severity="error",
            message=f"`{layer.layer}` ({layer.kind}) takes its input as (time, batch, …): it runs over the {shape[0]} "
            "samples of the batch",
            step=0,
            rank=trace.rank,
            location=layer.made or called.location,
            evidence=(
                Evidence(
                    f"{what} takes the last along dimension 1 of {shape} for the last moment, "
                    "and there the layer has its batch",
                    step=0,
                    location=taken.location,
                ),
            ),
            fixes=(_fix(layer.kind),),
        )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from modules.batch_first(finding, source)


def takes_batch_for_time(answer: SamplesAnswer) -> bool:
    """Tell whether the samples reach each other through a layer whose first dimension is the batch."""
    given = answer.layer_input
    if not answer.mixed or not given or given[0] != answer.rows:
        return False
    # A single sequence has a batch of one, or none: (time, 1, features), (time, features).
    return answer.certain_axis or (len(given) == 3 and given[1] > 1 and given[1] != answer.rows)


def last_of_second_dimension(graph: ForwardGraph, layer: str) -> GraphOperation | None:
    """Return the selection `states[:, -1]` of what a layer gave, where dimension 1 has more than one element."""
    for view in graph.views():
        source = graph.source(view)
        if (
            base_of(view) != "select"
            or source is None
            or source.module != layer
            or view.module == layer
        ):
            continue
        shape, axis, index = view.input_shapes[0], view.scalars.get("1"), view.scalars.get("2")
        if len(shape) == 3 and shape[1] > 1 and axis == 1 and index in (-1, shape[1] - 1):
            return view
    return None


def _call_of(trace: Trace, path: str | None) -> ModuleCalled | None:
    return next((call for call in trace.of(ModuleCalled) if call.path == path), None)


def _fix(kind: str) -> Fix:
    return Fix(
        f"make it with batch_first=True: `{kind}(…, batch_first=True)`", safety="changes-results"
    )
