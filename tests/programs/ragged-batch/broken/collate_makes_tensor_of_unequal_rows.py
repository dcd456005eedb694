import torch
from torch.utils.data import DataLoader

data = [([1, 2, 3], 0), ([1, 2], 1), ([4], 0), ([1, 2, 3], 1)]


def collate(batch):
    seqs, labels = zip(*batch)
    return torch.tensor(seqs), torch.tensor(labels)  # <- ragged-batch


emb = torch.nn.Embedding(5, 3)
o = torch.optim.SGD(emb.parameters(), lr=0.1)
for x, y in DataLoader(data, batch_size=2, collate_fn=collate):
    loss = emb(x).mean()
    o.zero_grad()
    loss.backward()
    o.step()
