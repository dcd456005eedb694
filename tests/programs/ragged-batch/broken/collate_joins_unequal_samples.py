import torch
from torch.utils.data import DataLoader


def collate(batch):
    return torch.cat([b[None] for b in batch])  # <- ragged-batch


m = torch.nn.Linear(3, 1)
o = torch.optim.SGD(m.parameters(), lr=0.1)
data = [torch.randn(3) for _ in range(5)] + [torch.randn(4)]
for x in DataLoader(data, batch_size=2, collate_fn=collate):
    loss = m(x).mean()
    o.zero_grad()
    loss.backward()
    o.step()
