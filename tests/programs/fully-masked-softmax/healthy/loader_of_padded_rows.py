"""Padded rows give NaN in an attention map that is only looked at where it is real."""
import torch
from torch import nn
from torch.utils.data import DataLoader

torch.manual_seed(0)
data = [(torch.randn(n, 4), n % 2) for n in (3, 5, 2, 4, 5, 1, 3, 2)]


def collate(items):
    lengths = torch.tensor([len(x) for x, _ in items])
    x = nn.utils.rnn.pad_sequence([x for x, _ in items], batch_first=True)
    return x, lengths, torch.tensor([y for _, y in items])


model = nn.Linear(4, 2)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(3):
    for x, lengths, y in DataLoader(data, batch_size=4, collate_fn=collate):
        keep = torch.arange(x.shape[1])[None] < lengths[:, None]
        with torch.no_grad():
            both = keep[:, :, None] & keep[:, None, :]
            scores = (x @ x.transpose(1, 2)).masked_fill(~both, float("-inf"))
            attention = torch.nan_to_num(scores.softmax(-1))
        pooled = (attention @ x).sum(1) / lengths[:, None]
        loss = nn.functional.cross_entropy(model(pooled), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
